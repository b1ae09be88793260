#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::bench {

/// A connected stream, over TCP or a unix socket.
using stream_socket = boost::asio::generic::stream_protocol::socket;

/**
 * Connects to `redis://host[:port]` or `unix:///path`, TCP without delay. Blocks.
 * Throws `std::invalid_argument` for another URL, and `boost::system::system_error` if it cannot
 * connect.
 */
[[nodiscard]] stream_socket connect(boost::asio::io_context& io, std::string_view url);

/**
 * Sends one inline command and returns the whole reply: a simple reply unchanged, or the content of
 * a bulk string. Blocks. Throws `boost::system::system_error` if the connection breaks or no reply
 * begins within `patience`.
 */
std::string ask(stream_socket& socket, std::string_view command,
                std::chrono::milliseconds patience = std::chrono::seconds(10));

/// The number of keys on these servers together, without fencing counters, which outlive their
/// locks. Blocks, and throws as `connect` and `ask` do.
[[nodiscard]] std::uint64_t keys_left(const std::vector<std::string>& urls);

/// The value of a field in the reply to INFO, or empty if there is no such field.
[[nodiscard]] std::string_view info_field(std::string_view info, std::string_view name);

/// Name and version of a server, by its reply to INFO: "valkey 8.0.1".
[[nodiscard]] std::string server_version(std::string_view info);

}  // namespace redlock::bench
