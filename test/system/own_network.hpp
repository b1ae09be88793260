#pragma once

#include <memory>
#include <string>

namespace redlock::test {

/**
 * A network namespace with nothing in it but a loopback device, for this thread, and for all
 * processes and threads that it starts while the object lives. The destructor takes the thread back
 * to where it was; do it in the thread that entered.
 */
class own_network {
public:
    /// Null where it cannot be had, with the reason in `why_not`: it needs root and the program
    /// nft.
    [[nodiscard]] static std::unique_ptr<own_network> enter(std::string& why_not);
    ~own_network();
    own_network(const own_network&) = delete;
    own_network& operator=(const own_network&) = delete;

    /// The only link there is: everything is cut off from everything, or not any more.
    void link(bool up);

    /// Three packets of ten, whosever, by chance; or none any more.
    void lose_packets(bool lose);

private:
    explicit own_network(int before) : before_(before) {}

    int before_;  ///< the namespace that the thread was in
};

}  // namespace redlock::test
