#pragma once

#include <memory>
#include <string>

namespace redlock::test {

/**
 * A network namespace with only a loopback device, for this thread, and for all processes and
 * threads that it starts while the object lives. The destructor returns the thread to its former
 * namespace, so destroy the object in the thread that made it.
 */
class own_network {
public:
    /// Null if the network can't be made, with the reason in `why_not`. It needs root and the
    /// program nft.
    [[nodiscard]] static std::unique_ptr<own_network> enter(std::string& why_not);
    ~own_network();
    own_network(const own_network&) = delete;
    own_network& operator=(const own_network&) = delete;

    /// Cuts the only link, so that no two sockets can talk, or restores it.
    void link(bool up);

    /// Loses three packets of ten at random, of any connection, or none any more.
    void lose_packets(bool lose);

private:
    explicit own_network(int before) : before_(before) {}

    int before_;  ///< the namespace of the thread before
};

}  // namespace redlock::test
