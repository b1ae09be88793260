#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace redlock::cli {

/// A length of time as an argument: `500ms`, `30s`, `1.5m`, `2h`, `1d`; only 0 needs no unit.
struct duration {
    std::chrono::milliseconds length{0};
};

/// Empty: it is none, has no unit, is negative, finer than a millisecond or longer than ten years.
[[nodiscard]] std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);

/// Which of these it is, for the user; empty: it is a duration.
[[nodiscard]] std::string why_no_duration(std::string_view text);

/// The shortest text that gives the same length.
[[nodiscard]] std::string to_text(std::chrono::milliseconds length);

/// How CLI11 reads it.
bool lexical_cast(const std::string& text, duration& out);

}  // namespace redlock::cli
