#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace redlock::cli {

/// Which kinds of file are read.
enum class readable : std::uint8_t {
    any,      ///< also a pipe, which makes the caller wait for its writer
    regular,  ///< only what is read without a wait
};

/**
 * The first line of a file, as `trim_line` leaves it. Waits for the line for `patience` at most.
 *
 * @throws std::invalid_argument that begins with `option` and says why there is none.
 */
[[nodiscard]] std::string secret_in(const std::string& path, std::string_view option, readable kind,
                                    std::chrono::seconds patience = std::chrono::seconds{10});

/// Removes what editors, `echo` and other systems add: a byte order mark at the begin, and line ends
/// at the end.
void trim_line(std::string& line);

}  // namespace redlock::cli
