#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

/// The wire format that a model of a server reads and writes.
namespace redlock::testing::wire {

inline std::string integer(std::int64_t n)
{
    return ":" + std::to_string(n) + "\r\n";
}

inline std::string bulk(std::string_view text)
{
    return "$" + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
}

inline std::string error(std::string_view text)
{
    return "-" + std::string(text) + "\r\n";
}

/// The null reply in the protocol of a connection.
inline std::string null(int protocol)
{
    return protocol == 3 ? "_\r\n" : "$-1\r\n";
}

/// Changes the case of a name, because servers compare names without case. `change` is std::tolower
/// or std::toupper.
inline std::string in_case(std::string text, int (*change)(int))
{
    std::ranges::transform(text, text.begin(), [&](char c) {
        return static_cast<char>(change(static_cast<unsigned char>(c)));
    });
    return text;
}

template <class Number>
std::optional<Number> number(std::string_view text)
{
    Number n{};
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), n);
    return parsed.ec == std::errc{} && parsed.ptr == text.data() + text.size() ? std::optional(n)
                                                                               : std::nullopt;
}

inline constexpr std::string_view ok = "+OK\r\n";
inline constexpr std::string_view no_integer = "ERR value is not an integer or out of range";
inline constexpr std::string_view wrong_type =
    "WRONGTYPE Operation against a key holding the wrong kind of value";
inline constexpr std::string_view read_only =
    "READONLY You can't write against a read only replica.";
inline constexpr std::string_view no_memory =
    "OOM command not allowed when used memory > 'maxmemory'.";

}  // namespace redlock::testing::wire
