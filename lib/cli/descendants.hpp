#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace redlock::cli {

/// A process. Its pid alone may be given to another one when it has ended.
struct process_id {
    pid_t pid = 0;
    /// When it began, in clock ticks since the boot.
    unsigned long long begun = 0;

    friend bool operator==(const process_id&, const process_id&) = default;
};

/// All processes that this one began, and those began, as the system lists them now: parents before
/// their children; without those that have ended, and without `left_out` and what those began.
[[nodiscard]] std::vector<process_id> descendants(const std::vector<process_id>& left_out = {});

/// The process that began this one, the one that began that, and so on.
[[nodiscard]] std::vector<pid_t> ancestors();

/// What a process is called; empty: it is gone.
[[nodiscard]] std::string name_of(pid_t process);

}  // namespace redlock::cli
