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
    rejected,        ///< from clients, answered with RST
    scattered,       ///< three of ten, in both directions
};

/**
 * A network namespace for this process and its later children, with only a loopback device, whose
 * packets nftables drops. The namespace ends with the last of its processes.
 */
class packet_filter {
public:
    /// Call it before the first thread and the first child. Null if it fails, with the reason in
    /// `why_not`: it needs root and the program nft.
    [[nodiscard]] static std::unique_ptr<packet_filter> make(std::string& why_not);

    /// Sets the fate of packets to and from this port.
    void begin(packet_fate fate, std::uint16_t port) const;
    void end(packet_fate fate, std::uint16_t port) const;

private:
    explicit packet_filter(std::filesystem::path program) : program_(std::move(program)) {}

    void run(const std::string& command) const;

    std::filesystem::path program_;
};

}  // namespace redlock::chaos
