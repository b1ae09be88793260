#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>

namespace redlock::resp {

/// The number of decimal digits at the start of `text`.
[[nodiscard]] inline std::size_t leading_digits(std::string_view text)
{
    std::size_t n = 0;
    while (n < text.size() && text[n] >= '0' && text[n] <= '9') {
        ++n;
    }
    return n;
}

/// Whether `text` consists of digits only, without leading zeros.
[[nodiscard]] inline bool is_shortest_digits(std::string_view text)
{
    return !text.empty() && leading_digits(text) == text.size() &&
           (text.size() == 1 || text[0] != '0');
}

/// Whether `text` is a whole number of any size in its shortest form: no plus sign, no leading
/// zeros, no "-0".
[[nodiscard]] inline bool is_whole_number(std::string_view text)
{
    if (!text.starts_with('-')) {
        return is_shortest_digits(text);
    }
    return is_shortest_digits(text.substr(1)) && text[1] != '0';
}

/// Parses such a number. Returns false if it doesn't fit.
[[nodiscard]] inline bool parse_integer(std::string_view text, std::int64_t& value)
{
    if (!is_whole_number(text)) {
        return false;
    }
    const char* const end = text.data() + text.size();
    const auto [at, failure] = std::from_chars(text.data(), end, value);
    return failure == std::errc{} && at == end;
}

/// Whether `text` is a floating-point number in the form of RESP3: -1.5e+10, inf, -inf, nan.
[[nodiscard]] inline bool is_real(std::string_view text)
{
    if (text == "inf" || text == "-inf" || text == "nan") {
        return true;
    }
    if (text.starts_with('-')) {
        text.remove_prefix(1);
    }
    const std::size_t whole = leading_digits(text);
    if (!is_shortest_digits(text.substr(0, whole))) {
        return false;
    }
    text.remove_prefix(whole);
    if (text.starts_with('.')) {
        const std::size_t fraction = leading_digits(text.substr(1));
        if (fraction == 0) {
            return false;
        }
        text.remove_prefix(1 + fraction);
    }
    if (text.empty()) {
        return true;
    }
    if (text[0] != 'e' && text[0] != 'E') {
        return false;
    }
    text.remove_prefix(1);
    if (text.starts_with('+') || text.starts_with('-')) {
        text.remove_prefix(1);
    }
    return !text.empty() && leading_digits(text) == text.size();
}

}  // namespace redlock::resp
