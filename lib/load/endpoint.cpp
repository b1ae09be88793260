#include "load/endpoint.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <boost/system/system_error.hpp>

#include <charconv>
#include <cstddef>
#include <stdexcept>
#include <utility>

#include <poll.h>

namespace redlock::bench {
namespace {

namespace asio = boost::asio;

constexpr std::string_view tcp_scheme = "redis://";
constexpr std::string_view unix_scheme = "unix://";

stream_socket connect_tcp(asio::io_context& io, std::string_view authority)
{
    const auto colon = authority.rfind(':');
    const std::string host(authority.substr(0, colon));
    const std::string port(colon == authority.npos ? "6379" : authority.substr(colon + 1));
    asio::ip::tcp::socket socket(io);
    asio::connect(socket, asio::ip::tcp::resolver(io).resolve(host, port));
    socket.set_option(asio::ip::tcp::no_delay(true));
    return stream_socket(std::move(socket));
}

stream_socket connect_unix(asio::io_context& io, std::string_view path)
{
    asio::local::stream_protocol::socket socket(io);
    socket.connect(asio::local::stream_protocol::endpoint(path));
    return stream_socket(std::move(socket));
}

}  // namespace

stream_socket connect(asio::io_context& io, std::string_view url)
{
    try {
        if (url.starts_with(tcp_scheme)) {
            return connect_tcp(io, url.substr(tcp_scheme.size()));
        }
        if (url.starts_with(unix_scheme)) {
            return connect_unix(io, url.substr(unix_scheme.size()));
        }
    } catch (const boost::system::system_error& e) {
        // The same error with the URL, and without the place in Asio's sources.
        throw boost::system::system_error(e.code().value(), e.code().category(), std::string(url));
    }
    throw std::invalid_argument("not redis://host[:port] or unix:///path: " + std::string(url));
}

std::string ask(stream_socket& socket, std::string_view command, std::chrono::milliseconds patience)
{
    asio::write(socket, asio::buffer(std::string(command) + "\r\n"));
    pollfd readable{.fd = socket.native_handle(), .events = POLLIN, .revents = 0};
    if (::poll(&readable, 1, static_cast<int>(patience.count())) == 0) {
        throw boost::system::system_error(asio::error::timed_out, "no reply to a command");
    }

    std::string reply;
    std::size_t line = asio::read_until(socket, asio::dynamic_buffer(reply), "\r\n");
    if (!reply.starts_with('$')) {
        return reply.substr(0, line - 2);
    }

    std::ptrdiff_t length = -1;
    std::from_chars(reply.data() + 1, reply.data() + line, length);
    if (length < 0) {
        return {};
    }
    const auto whole = line + static_cast<std::size_t>(length) + 2;
    if (reply.size() < whole) {
        asio::read(socket, asio::dynamic_buffer(reply),
                   asio::transfer_exactly(whole - reply.size()));
    }
    return reply.substr(line, static_cast<std::size_t>(length));
}

std::uint64_t keys_left(const std::vector<std::string>& urls)
{
    constexpr std::string_view count =
        R"-(EVAL "return redis.call('dbsize')-#redis.call('keys','*:fencing')" 0)-";
    asio::io_context io;
    std::uint64_t left = 0;
    for (const auto& url : urls) {
        auto socket = connect(io, url);
        const std::string reply = ask(socket, count);
        left += std::stoull(reply.substr(reply.find_first_of("0123456789")));
    }
    return left;
}

std::string_view info_field(std::string_view info, std::string_view name)
{
    while (!info.empty()) {
        const auto end = info.find("\r\n");
        const auto line = info.substr(0, end);
        if (line.starts_with(name) && line.substr(name.size()).starts_with(':')) {
            return line.substr(name.size() + 1);
        }
        info.remove_prefix(end == info.npos ? info.size() : end + 2);
    }
    return {};
}

std::string server_version(std::string_view info)
{
    // Valkey also reports the version of Redis that it is compatible with.
    if (const auto version = info_field(info, "valkey_version"); !version.empty()) {
        return "valkey " + std::string(version);
    }
    return "redis " + std::string(info_field(info, "redis_version"));
}

}  // namespace redlock::bench
