#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace redlock::test {

/// Sets the name service's answer for a name while this object lives. Other names resolve as usual.
class resolved_name {
public:
    resolved_name(std::string name, std::vector<std::string> addresses);
    ~resolved_name();
    resolved_name(const resolved_name&) = delete;
    resolved_name& operator=(const resolved_name&) = delete;

private:
    std::string name_;
};

/// How often this program has written to its sockets that are connected to a port.
[[nodiscard]] std::size_t writes_to(std::uint16_t port);

/// How often it has tried to connect to that port.
[[nodiscard]] std::size_t connects_to(std::uint16_t port);

/// The number of these sockets that are open.
[[nodiscard]] std::vector<int> sockets_to(std::uint16_t port);

}  // namespace redlock::test
