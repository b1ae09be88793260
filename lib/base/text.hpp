#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace redlock::base {

/**
 * `text` in a form that is safe to write to a terminal or a log line: valid UTF-8 on one line,
 * without control or direction-changing characters. Their bytes, those that are no UTF-8, and
 * backslashes come out escaped (`\n`, `\x1b`, `\\`), so that different texts stay different.
 */
[[nodiscard]] std::string printable(std::string_view text);

/// A length of time in whole milliseconds, as "1500 ms", or in whole seconds, as "10 s".
[[nodiscard]] std::string duration_text(std::chrono::milliseconds length);

}  // namespace redlock::base
