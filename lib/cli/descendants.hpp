#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace redlock::cli {

/// Identifies a process. The pid is not enough, because the system may reuse it after the process
/// has ended.
struct process_id {
    pid_t pid = 0;
    /// The start time, in clock ticks since boot.
    unsigned long long begun = 0;

    friend bool operator==(const process_id&, const process_id&) = default;
};

/// Whether /proc lists the processes of this process. In a namespace or a chroot it may be missing
/// or belong to others.
[[nodiscard]] bool sees_processes();

/// All descendants of this process that the system lists now, parents before their children. Ended
/// processes are missing. So are `left_out` and their descendants. Empty if /proc does not list the
/// processes of this process.
[[nodiscard]] std::vector<process_id> descendants(const std::vector<process_id>& left_out = {});

/// Whether a signal has stopped the process. False if it is gone.
[[nodiscard]] bool is_stopped(pid_t process);

/// Whether the process is in this session. False if it is gone.
[[nodiscard]] bool is_in_session(pid_t process, pid_t session);

/// The parent of this process, the parent's parent, and so on.
[[nodiscard]] std::vector<pid_t> ancestors();

/// The name of a process. Empty if the process is gone.
[[nodiscard]] std::string name_of(pid_t process);

}  // namespace redlock::cli
