#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <cstdint>

namespace redlock::testing {

/// A port of the loopback, open or shut. It stays the node's own while it is shut: a port that the
/// kernel may take for whoever connects next is one day given to a client that keeps trying, which
/// is then connected to itself.
class door {
public:
    /// Shut.
    /// @throws boost::system::system_error where there is no port.
    explicit door(const boost::asio::any_io_executor& executor);

    /// @throws boost::system::system_error where somebody listens there all the same, or there is
    /// no descriptor for it; it is shut then.
    void open();
    /// Refuses new connections, those in the kernel's queue too.
    void shut();

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    /// Open if the door is.
    [[nodiscard]] boost::asio::ip::tcp::acceptor& acceptor() noexcept { return acceptor_; }

private:
    /// Bound, and never listening.
    boost::asio::ip::tcp::acceptor holder_;
    boost::asio::ip::tcp::acceptor acceptor_;
    std::uint16_t port_;
};

}  // namespace redlock::testing
