#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

/// What a model of a server reads and says.
namespace redlock::test::wire {

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

template <class Number>
std::optional<Number> number(std::string_view text)
{
    Number n{};
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), n);
    return parsed.ec == std::errc{} && parsed.ptr == text.data() + text.size() ? std::optional(n)
                                                                               : std::nullopt;
}

inline constexpr std::string_view wrong_type =
    "WRONGTYPE Operation against a key holding the wrong kind of value";
inline constexpr std::string_view no_memory =
    "OOM command not allowed when used memory > 'maxmemory'.";

}  // namespace redlock::test::wire
