#pragma once

#include <cstdint>

namespace redlock::test {

/**
 * A TCP port of the loopback that no other program uses while this object lives, even if no program
 * listens on it.
 *
 * It lies below the range from which the kernel takes ports for outgoing connections. In that range
 * a client that keeps connecting to a dead server's port would sooner or later get that very port
 * and connect to itself, or another program's connection would take it before the server is back.
 */
class reserved_port {
public:
    reserved_port();
    ~reserved_port();
    reserved_port(const reserved_port&) = delete;
    reserved_port& operator=(const reserved_port&) = delete;

    [[nodiscard]] std::uint16_t number() const noexcept { return number_; }

private:
    std::uint16_t number_ = 0;
    /// Bound to an abstract name made of the port, which keeps other tests' processes away from it.
    int claim_ = -1;
};

}  // namespace redlock::test
