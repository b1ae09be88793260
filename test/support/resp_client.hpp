#pragma once

#include "support/resp_text.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::test {

/// A blocking client of one connection. All functions throw when they fail or take longer than
/// `patience`.
class resp_client {
public:
    explicit resp_client(const std::filesystem::path& unix_socket);
    explicit resp_client(std::uint16_t loopback_port);
    ~resp_client();
    resp_client(const resp_client&) = delete;
    resp_client& operator=(const resp_client&) = delete;

    /// Sends a command and waits for its reply. An error reply is returned like any other.
    reply ask(const std::vector<std::string>& arguments);

    void send(std::string_view bytes);
    [[nodiscard]] reply read();

private:
    int fd_ = -1;
    /// Received and not yet returned.
    std::string buffer_;
};

}  // namespace redlock::test
