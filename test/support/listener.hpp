#pragma once

#include "support/port.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <cstdint>
#include <functional>
#include <memory>

namespace redlock::test {

/// Accepts connections on a loopback port of its own. It keeps the port while it refuses
/// connections.
class listener : public std::enable_shared_from_this<listener> {
public:
    using socket = boost::asio::ip::tcp::socket;

    explicit listener(const boost::asio::any_io_executor& executor) : acceptor_(executor) {}

    /// Listens, and passes every connection to `accepted`, on the executor.
    void open(std::function<void(socket)> accepted);

    /// Refuses new connections from now on, and those in the kernel's queue too.
    void close();

    [[nodiscard]] std::uint16_t port() const noexcept { return port_.number(); }

private:
    void accept();

    reserved_port port_;
    boost::asio::ip::tcp::acceptor acceptor_;
    std::function<void(socket)> accepted_;
    /// Distinguishes an accept of an earlier opening, which comes too late.
    unsigned openings_ = 0;
};

/// Closes a connection with RST instead of FIN. Data that was not delivered yet is lost.
void reset(boost::asio::ip::tcp::socket& socket) noexcept;

}  // namespace redlock::test
