#include "support/listener.hpp"

#include <boost/asio/ip/address_v4.hpp>
#include <boost/system/error_code.hpp>

#include <utility>

namespace redlock::test {

using boost::asio::ip::tcp;

void listener::open(std::function<void(socket)> accepted)
{
    if (acceptor_.is_open()) {
        return;
    }
    accepted_ = std::move(accepted);
    const tcp::endpoint endpoint(boost::asio::ip::address_v4::loopback(), port_.number());
    acceptor_.open(endpoint.protocol());
    acceptor_.set_option(tcp::acceptor::reuse_address(true));
    acceptor_.bind(endpoint);
    acceptor_.listen();
    accept();
}

void listener::close()
{
    boost::system::error_code ignored;
    acceptor_.close(ignored);
    ++openings_;
}

void listener::accept()
{
    acceptor_.async_accept([self = shared_from_this(), opening = openings_](
                               boost::system::error_code ec, socket peer) {
        if (opening != self->openings_) {
            return;
        }
        if (!ec) {
            peer.set_option(tcp::no_delay(true), ec);
            self->accepted_(std::move(peer));
        }
        self->accept();
    });
}

void reset(tcp::socket& socket) noexcept
{
    boost::system::error_code ignored;
    socket.set_option(tcp::socket::linger(true, 0), ignored);
    socket.close(ignored);
}

}  // namespace redlock::test
