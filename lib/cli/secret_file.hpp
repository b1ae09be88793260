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
 * The first line of a file, without a byte order mark at its begin and a CR at its end. Waits for
 * the line for `patience` at most.
 *
 * @throws std::invalid_argument that begins with `option` and says why there is none.
 */
[[nodiscard]] std::string secret_in(const std::string& path, std::string_view option, readable kind,
                                    std::chrono::seconds patience = std::chrono::seconds{10});

/// Removes a byte order mark at the begin and a CR at the end, which editors of other systems add.
void trim_secret(std::string& line);

}  // namespace redlock::cli
