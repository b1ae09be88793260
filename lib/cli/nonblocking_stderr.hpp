#pragma once

#include <string_view>

#include <sys/types.h>

namespace redlock::cli {

/// Writes to stderr without a wait for its reader. Other processes share the flags of stderr, so it
/// gets none: a terminal or a pipe is opened a second time.
class nonblocking_stderr {
public:
    nonblocking_stderr() noexcept;
    ~nonblocking_stderr();
    nonblocking_stderr(const nonblocking_stderr&) = delete;
    nonblocking_stderr& operator=(const nonblocking_stderr&) = delete;

    /// Writes a part of the text. Returns its length, or -1 with an error in `errno`.
    [[nodiscard]] ssize_t write(std::string_view text) const noexcept;

private:
    enum class kind { reopened, socket, pollable, file };

    kind kind_ = kind::file;
    int descriptor_ = -1;
};

}  // namespace redlock::cli
