#include "testing/door.hpp"

#include <boost/asio/ip/address_v4.hpp>
#include <boost/system/error_code.hpp>

#include <utility>

namespace redlock::testing {

using boost::asio::ip::tcp;

namespace {

/// Binds the acceptor. Several sockets may be bound to one port while none of them listens.
void bind(tcp::acceptor& acceptor, std::uint16_t port)
{
    acceptor.open(tcp::v4());
    acceptor.set_option(tcp::acceptor::reuse_address(true));
    acceptor.bind({boost::asio::ip::address_v4::loopback(), port});
}

}  // namespace

door::door(const boost::asio::any_io_executor& executor) : holder_(executor), acceptor_(executor)
{
    bind(holder_, 0);
    port_ = holder_.local_endpoint().port();
}

void door::open()
{
    if (!acceptor_.is_open()) {
        tcp::acceptor listening(acceptor_.get_executor());
        bind(listening, port_);
        listening.listen();
        acceptor_ = std::move(listening);
    }
}

void door::shut()
{
    boost::system::error_code ignored;
    acceptor_.close(ignored);
}

}  // namespace redlock::testing
