#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace redlock::cli {

/// All processes that this one began, and those began, as the system lists them now: parents before
/// their children; without those that have ended, and without `left_out` and what those began.
[[nodiscard]] std::vector<pid_t> descendants(const std::vector<pid_t>& left_out = {});

/// The process that began this one, the one that began that, and so on.
[[nodiscard]] std::vector<pid_t> ancestors();

/// What a process is called; empty: it is gone.
[[nodiscard]] std::string name_of(pid_t process);

}  // namespace redlock::cli
