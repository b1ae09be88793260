#pragma once

#include "support/run.hpp"

#include <cerrno>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace redlock::test {

/// One request to a service on the loopback that may not be up yet.
class http_request {
public:
    http_request(std::uint16_t port, std::string_view method, std::string_view target,
                 std::string_view body = {})
    {
        if (!wait_for([&] { return connects(port); })) {
            throw std::runtime_error("the service does not listen");
        }
        const std::string text =
            std::string(method) + ' ' + std::string(target) +
            " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(body.size()) +
            "\r\n\r\n" + std::string(body);
        if (::send(fd_, text.data(), text.size(), MSG_NOSIGNAL) !=
            static_cast<ssize_t>(text.size())) {
            throw std::system_error(errno, std::generic_category(), "send");
        }
    }
    ~http_request() { go_away(); }
    http_request(const http_request&) = delete;
    http_request& operator=(const http_request&) = delete;

    /// The whole answer, up to the end of the connection.
    [[nodiscard]] std::string answer() const
    {
        std::string result;
        char part[4096];
        for (;;) {
            const auto size = ::recv(fd_, part, sizeof part, 0);
            if (size == 0) {
                return result;
            }
            if (size < 0) {
                throw std::system_error(errno, std::generic_category(), "recv");
            }
            result.append(part, static_cast<std::size_t>(size));
        }
    }

    /// Whether a part of the answer has arrived, or the service has closed the connection.
    [[nodiscard]] bool is_answered() const
    {
        pollfd answer{fd_, POLLIN, 0};
        return ::poll(&answer, 1, 0) == 1;
    }

    /// Closes the connection.
    void go_away()
    {
        if (fd_ >= 0) {
            ::close(fd_);
            fd_ = -1;
        }
    }

private:
    [[nodiscard]] bool connects(std::uint16_t port)
    {
        go_away();
        fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const timeval bound{patience.count(), 0};
        ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &bound, sizeof bound);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        return ::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    }

    int fd_ = -1;
};

}  // namespace redlock::test
