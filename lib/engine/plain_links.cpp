#include "engine/stream_link.hpp"
#include "engine/tcp_connector.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>

#include <fcntl.h>

namespace redlock::engine {

namespace {

class tcp_link final : public stream_link<tcp_link> {
public:
    using socket_type = boost::asio::ip::tcp::socket;

    explicit tcp_link(const link_setup& s)
        : stream_link(s),
          socket_(s.executor),
          connector_(s.executor)
    {}

    void start() override
    {
        connector_.connect(
            socket_, *setup().address, setup().addresses,
            [me = shared_from_this()](boost::system::error_code ec) { me->on_connect(ec); });
    }

    [[nodiscard]] socket_type& stream() noexcept { return socket_; }
    [[nodiscard]] socket_type& lowest() noexcept { return socket_; }
    void stop_connecting() noexcept { connector_.cancel(); }

private:
    void on_connect(boost::system::error_code ec)
    {
        if (is_closed()) {
            return;
        }
        if (ec) {
            down(ec.message());
        } else {
            up();
        }
    }

    socket_type socket_;
    tcp_connector connector_;
};

class unix_link final : public stream_link<unix_link> {
public:
    using protocol = boost::asio::local::stream_protocol;

    explicit unix_link(const link_setup& s) : stream_link(s), socket_(s.executor) {}

    void start() override
    {
        boost::system::error_code failed;
        socket_.open(protocol(), failed);  // async_connect reports the error
        if (!failed) {
            keep_from_children(socket_.native_handle());
        }
        socket_.async_connect(protocol::endpoint(setup().address->path),
                              [me = shared_from_this()](boost::system::error_code ec) {
                                  if (me->is_closed()) {
                                      return;
                                  }
                                  if (ec) {
                                      me->down(ec.message());
                                  } else {
                                      me->up();
                                  }
                              });
    }

    [[nodiscard]] protocol::socket& stream() noexcept { return socket_; }
    [[nodiscard]] protocol::socket& lowest() noexcept { return socket_; }
    void stop_connecting() noexcept {}

private:
    protocol::socket socket_;
};

}  // namespace

void keep_from_children(int socket) noexcept
{
    ::fcntl(socket, F_SETFD, FD_CLOEXEC);
}

std::shared_ptr<link> make_tcp_link(const link_setup& setup)
{
    return std::make_shared<tcp_link>(setup);
}

std::shared_ptr<link> make_unix_link(const link_setup& setup)
{
    return std::make_shared<unix_link>(setup);
}

}  // namespace redlock::engine
