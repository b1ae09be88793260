#include "client/fixture.hpp"
#include "support/allocation_count.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <array>
#include <string>
#include <string_view>

using namespace redlock;
using namespace redlock::test;
using boost::asio::ip::tcp;

namespace {

constexpr std::string_view password = "hush-hush-hush-hush-hush-hush";

/// A server without HELLO, in this thread, that closes the connection when it has got the password
/// twice. It never frees any memory that holds received data.
class old_server {
public:
    explicit old_server(asio::io_context& context) : acceptor_(context), socket_(context)
    {
        acceptor_.open(tcp::v4());
        acceptor_.bind({asio::ip::address_v4::loopback(), 0});
        acceptor_.listen();
        accept();
    }

    [[nodiscard]] std::string port() { return std::to_string(acceptor_.local_endpoint().port()); }
    [[nodiscard]] unsigned greetings() const noexcept { return greetings_; }
    [[nodiscard]] unsigned hang_ups() const noexcept { return hang_ups_; }

private:
    void accept()
    {
        acceptor_.async_accept(socket_, [this](error_code ec) {
            if (!ec) {
                read();
            }
        });
    }

    void read()
    {
        socket_.async_read_some(asio::buffer(memory()), [this](error_code ec, std::size_t n) {
            if (!ec) {
                on_heard({memory().data(), n});
            }
        });
    }

    void on_heard(std::string_view bytes)
    {
        if (bytes.find("HELLO") != bytes.npos) {
            greetings_ += bytes.find(password) != bytes.npos;
            asio::write(socket_, asio::buffer(std::string_view("-ERR unknown command\r\n")));
            read();
            return;
        }
        hang_ups_ += bytes.find(password) != bytes.npos;
        socket_.close();
        accept();
    }

    static std::array<char, 4096>& memory()
    {
        static std::array<char, 4096> bytes;
        return bytes;
    }

    tcp::acceptor acceptor_;
    tcp::socket socket_;
    unsigned greetings_ = 0;
    unsigned hang_ups_ = 0;
};

}  // namespace

TEST_CASE("no freed memory holds the password", "[client][secrets]")
{
    // The user's own copy outlives the watch.
    config c;
    const bool is_given = GENERATE(false, true);
    const freed_with freed(password);
    {
        asio::io_context context;
        old_server node(context);
        c.reconnect_backoff_min = c.reconnect_backoff_max = 1ms;
        std::string url = "redis://";
        url.reserve(100);
        if (is_given) {
            c.credentials = [](std::string_view, const credentials_reply& reply) {
                reply({}, {"", std::string(password)});
            };
        } else {
            url.append(":").append(password).append("@");
        }
        url.append("127.0.0.1:").append(node.port());
        c.nodes.push_back(std::move(url));
        client locks(context, c);
        locks.async_run(asio::detached);
        const auto give_up = std::chrono::steady_clock::now() + patience;
        // Every third connection is greeted without HELLO.
        const auto has_been_told = [&] { return node.greetings() >= 3 && node.hang_ups() >= 3; };
        while (!has_been_told() && std::chrono::steady_clock::now() < give_up) {
            context.run_one_for(1s);
        }
        CHECK(has_been_told());
    }
    CHECK(freed.blocks() == 0);
}
