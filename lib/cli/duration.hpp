#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace redlock::cli {

/// A duration as an argument: `500ms`, `30s`, `1.5m`, `2h`, `1d`. Only 0 needs no unit.
struct duration {
    std::chrono::milliseconds length{0};
    /// Whether the user gave it; otherwise it is a default.
    bool is_given = false;
};

/// Parses a duration. Empty if the text isn't a number, has no unit, is negative, is finer than a
/// millisecond or is longer than ten years.
[[nodiscard]] std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);

/// Why the text isn't a duration, for the user. Empty if it is one.
[[nodiscard]] std::string why_no_duration(std::string_view text);

/// The shortest text for the duration.
[[nodiscard]] std::string to_text(std::chrono::milliseconds length);

/// The function by which CLI11 parses a duration.
bool lexical_cast(const std::string& text, duration& out);

}  // namespace redlock::cli
