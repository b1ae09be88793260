#pragma once

#include <sys/types.h>

namespace redlock::cli {

/// A process that kills a process group when this process is gone without a word.
class watchdog {
public:
    /// Where the system has no process to spare, there is none.
    explicit watchdog(pid_t group) noexcept;
    /// Calls it off.
    ~watchdog();
    watchdog(const watchdog&) = delete;
    watchdog& operator=(const watchdog&) = delete;

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }

private:
    pid_t pid_ = -1;
    int leash_ = -1;
};

}  // namespace redlock::cli
