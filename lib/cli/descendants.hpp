#pragma once

#include <vector>

#include <sys/types.h>

namespace redlock::cli {

/// All processes that this one began, and those began, as the system lists them now: parents before
/// their children; without those that have ended.
[[nodiscard]] std::vector<pid_t> descendants();

}  // namespace redlock::cli
