#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace redlock::chaos {

/// How packets get lost.
enum class packet_fate {
    swallowed_up,    ///< from clients, all of them
    swallowed_down,  ///< to clients, all of them
    rejected,        ///< from clients, answered by RST
    scattered,       ///< three of ten, both ways
};

/**
 * A network namespace for this process and all that it starts from now on, with nothing in it but a
 * loopback device, whose packets nftables loses. It goes with the last of its processes.
 */
class packet_filter {
public:
    /// Before the first thread and the first child. Null where it cannot be had, with the reason in
    /// `why_not`: it needs root and the program nft.
    [[nodiscard]] static std::unique_ptr<packet_filter> make(std::string& why_not);

    /// What becomes of the packets to and from this port.
    void begin(packet_fate fate, std::uint16_t port) const;
    void end(packet_fate fate, std::uint16_t port) const;

private:
    explicit packet_filter(std::filesystem::path program) : program_(std::move(program)) {}

    void run(const std::string& command) const;

    std::filesystem::path program_;
};

}  // namespace redlock::chaos
