// A small HTTP server on Boost.Beast, for http_service.cpp and prometheus.cpp. It runs each
// request on a strand of its own, in any thread of the context. If the HTTP client goes away, the
// server cancels the request.

#pragma once

#include <boost/asio.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/beast.hpp>

#include <array>
#include <chrono>
#include <functional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>

namespace http_server {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;

using request = http::request<http::string_body>;
using response = http::response<http::string_body>;
using handler = std::function<asio::awaitable<response>(const request&)>;

constexpr auto no_throw = asio::as_tuple(asio::deferred);

inline response answer(http::status status, std::string text,
                       const std::string& content_type = "text/plain")
{
    response result(status, 11);
    result.set(http::field::content_type, content_type);
    result.keep_alive(false);
    result.body() = std::move(text);
    result.prepare_payload();
    return result;
}

// Ends when the HTTP client has closed its side of the connection. Drops what the HTTP client sends
// meanwhile.
inline asio::awaitable<void> gone(tcp::socket& socket)
{
    std::array<char, 1024> dropped;
    while (!std::get<0>(co_await socket.async_read_some(asio::buffer(dropped), no_throw))) {
    }
}

inline asio::awaitable<void> session(beast::tcp_stream stream, handler handle)
{
    using namespace asio::experimental::awaitable_operators;
    beast::flat_buffer buffer;
    request req;
    stream.expires_after(std::chrono::seconds(10));
    auto [unread, size] = co_await http::async_read(stream, buffer, req, no_throw);
    if (unread) {
        co_return;
    }
    stream.expires_never();
    auto first = co_await (handle(req) || gone(stream.socket()));  // the other is cancelled
    if (auto* res = std::get_if<response>(&first)) {
        stream.expires_after(std::chrono::seconds(10));
        co_await http::async_write(stream, *res, no_throw);
    }
}

// Accepts connections until the acceptor is closed.
inline asio::awaitable<void> serve(tcp::acceptor& acceptor, handler handle)
{
    while (acceptor.is_open()) {
        asio::any_io_executor strand = asio::make_strand(acceptor.get_executor());
        auto [error, socket] = co_await acceptor.async_accept(strand, no_throw);
        if (!error) {
            asio::co_spawn(strand, session(beast::tcp_stream(std::move(socket)), handle),
                           asio::detached);
        }
    }
}

}  // namespace http_server
