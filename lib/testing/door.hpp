#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <cstdint>

namespace redlock::testing {

/// A port on the loopback interface that can be open or shut. The node keeps the port while it is
/// shut. Otherwise the kernel could give the port to a client that keeps trying to connect to it,
/// and that client would connect to itself.
class door {
public:
    /// Starts shut.
    /// @throws boost::system::system_error if no port is free.
    explicit door(const boost::asio::any_io_executor& executor);

    /// Listens. Stays shut if it throws.
    /// @throws boost::system::system_error if another socket already listens on the port, or there
    /// is no descriptor left.
    void open();
    /// Refuses new connections and closes the connections in the kernel's queue.
    void shut();

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    /// The acceptor. It is open if and only if the door is.
    [[nodiscard]] boost::asio::ip::tcp::acceptor& acceptor() noexcept { return acceptor_; }

private:
    /// A bound socket that never listens. It reserves the port.
    boost::asio::ip::tcp::acceptor holder_;
    boost::asio::ip::tcp::acceptor acceptor_;
    std::uint16_t port_;
};

}  // namespace redlock::testing
