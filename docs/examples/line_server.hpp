// The sockets of tutorial.cpp: a server that reads one line "WORD TEXT" from each connection, and
// writes the answer of a coroutine.

#pragma once

#include <boost/asio.hpp>

#include <functional>
#include <string>
#include <utility>

namespace line_server {

namespace asio = boost::asio;
using asio::ip::tcp;

using handler = std::function<asio::awaitable<std::string>(std::string word, std::string text)>;

inline asio::awaitable<void> session(tcp::socket socket, handler handle)
{
    std::string line;
    auto [error, size] = co_await asio::async_read_until(socket, asio::dynamic_buffer(line, 1024),
                                                         '\n', asio::as_tuple(asio::deferred));
    const auto space = line.find(' ');
    if (error || space == 0 || space >= size) {
        co_return;
    }
    auto answer = co_await handle(line.substr(0, space), line.substr(space + 1, size - space - 2));
    answer += '\n';
    co_await asio::async_write(socket, asio::buffer(answer), asio::as_tuple(asio::deferred));
}

// Accepts connections until the acceptor is closed.
inline asio::awaitable<void> serve(tcp::acceptor& acceptor, handler handle)
{
    for (;;) {
        auto [error, socket] = co_await acceptor.async_accept(asio::as_tuple(asio::deferred));
        if (error) {
            co_return;
        }
        asio::co_spawn(acceptor.get_executor(), session(std::move(socket), handle), asio::detached);
    }
}

}  // namespace line_server
