#pragma once

#include <sys/types.h>

namespace redlock::cli {

/// A process that kills a process group if this process ends without notice.
class watchdog {
public:
    /// Starts the watchdog. If the system can't start a process, there is no watchdog.
    explicit watchdog(pid_t group) noexcept;
    /// Dismisses the watchdog.
    ~watchdog();
    watchdog(const watchdog&) = delete;
    watchdog& operator=(const watchdog&) = delete;

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }

private:
    pid_t pid_ = -1;
    int leash_ = -1;
};

}  // namespace redlock::cli
