#pragma once

#include <cstdint>

namespace redlock::test {

/**
 * A TCP port of the loopback that nothing else uses while this object lives, also while nobody
 * listens on it.
 *
 * It lies below the range from which the kernel takes ports for outgoing connections. From inside
 * that range, a client that keeps connecting to a dead server's port is sooner or later given that
 * very port and connects to itself, or somebody else's connection takes the port before the server
 * is back.
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
    /// Bound to an abstract name made of the port: what keeps other tests' processes away from it.
    int claim_ = -1;
};

}  // namespace redlock::test
