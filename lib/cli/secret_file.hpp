#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace redlock::cli {

/// The kinds of file that may be read.
enum class readable : std::uint8_t {
    any,      ///< also a pipe, whose writer the caller waits for
    regular,  ///< only files that can be read without waiting
};

/**
 * Reads the first line of a file, as `trim_line` leaves it. Waits for the line at most `patience`.
 *
 * @throws std::invalid_argument if there is no line. The text begins with `option` and contains the
 * reason.
 */
[[nodiscard]] std::string secret_in(const std::string& path, std::string_view option, readable kind,
                                    std::chrono::seconds patience = std::chrono::seconds{10});

/// Removes a byte order mark at the start and line ends at the end, which editors and `echo` add.
void trim_line(std::string& line);

}  // namespace redlock::cli
