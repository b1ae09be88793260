#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace redlock::base {

/**
 * Converts `text` to a form that is safe for a terminal or a log line: one line of valid UTF-8. It
 * has no control characters and none that change the direction. The bytes of such characters,
 * invalid bytes and backslashes are escaped (`\n`, `\x1b`, `\\`), so that different texts stay
 * different.
 */
[[nodiscard]] std::string printable(std::string_view text);

/// Formats a duration in whole milliseconds, "1500 ms", or in whole seconds, "10 s".
[[nodiscard]] std::string duration_text(std::chrono::milliseconds length);

}  // namespace redlock::base
