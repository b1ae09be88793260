#include "chaos/probe.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <array>
#include <string_view>

namespace redlock::chaos {

namespace asio = boost::asio;
using asio::ip::tcp;
using std::chrono::milliseconds;

namespace {

constexpr auto quiet = asio::as_tuple(asio::use_awaitable);
constexpr milliseconds between{20};

constexpr std::string_view request =
    "*5\r\n$3\r\nSET\r\n$11\r\nchaos/probe\r\n$1\r\n1\r\n$2\r\nPX\r\n$4\r\n5000\r\n";
constexpr std::string_view wanted = "+OK\r\n";

/// Closes the socket when the time is up.
void bound(asio::steady_timer& timer, const std::shared_ptr<tcp::socket>& socket, milliseconds time)
{
    timer.expires_after(time);
    timer.async_wait([socket](const boost::system::error_code& e) {
        if (!e) {
            boost::system::error_code ignored;
            socket->close(ignored);
        }
    });
}

asio::awaitable<bool> one_write(tcp::socket& socket)
{
    const auto [write_error, written] =
        co_await asio::async_write(socket, asio::buffer(request.data(), request.size()), quiet);
    std::array<char, wanted.size()> reply{};
    const auto [read_error, size] = co_await asio::async_read(socket, asio::buffer(reply), quiet);
    co_return !write_error && !read_error && std::string_view(reply.data(), size) == wanted;
}

template <class Answer>
asio::awaitable<void> ask_for_ever(std::uint16_t port, milliseconds patience, Answer& answer)
{
    const auto executor = co_await asio::this_coro::executor;
    asio::steady_timer limit(executor);
    asio::steady_timer pause(executor);
    const tcp::endpoint there(asio::ip::address_v4::loopback(), port);
    for (;;) {
        const auto socket = std::make_shared<tcp::socket>(executor);
        bound(limit, socket, patience);
        const auto [error] = co_await socket->async_connect(there, quiet);
        bool good = !error;
        while (good) {
            bound(limit, socket, patience);
            const auto asked = now();
            good = co_await one_write(*socket);
            limit.cancel();
            answer.asked = good ? asked : 0;
            answer.came = good ? now() : 0;
            pause.expires_after(between);
            co_await pause.async_wait(quiet);
        }
        limit.cancel();
        pause.expires_after(between);
        co_await pause.async_wait(quiet);
    }
}

}  // namespace

probe::probe(const std::vector<std::uint16_t>& ports, milliseconds patience) : patience_(patience)
{
    for (const auto port : ports) {
        answers_.push_back(std::make_unique<answer>());
        asio::co_spawn(own_.executor(), ask_for_ever(port, patience, *answers_.back()),
                       asio::detached);
    }
}

bool probe::answers(std::size_t master) const
{
    const auto longest = std::chrono::nanoseconds(patience_ + 2 * between).count();
    return now() - answers_.at(master)->came <= longest;
}

bool probe::answers(std::size_t master, nanos since) const
{
    return answers(master) && answers_.at(master)->asked >= since;
}

std::size_t probe::answering() const
{
    std::size_t result = 0;
    for (std::size_t i = 0; i < answers_.size(); ++i) {
        result += answers(i) ? 1U : 0U;
    }
    return result;
}

}  // namespace redlock::chaos
