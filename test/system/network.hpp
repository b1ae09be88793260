#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace redlock::test {

/// What the name service says of a name while this object lives; other names are asked for as ever.
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

/// How often it has tried to connect there.
[[nodiscard]] std::size_t connects_to(std::uint16_t port);

/// Of these sockets those that are open.
[[nodiscard]] std::vector<int> sockets_to(std::uint16_t port);

}  // namespace redlock::test
