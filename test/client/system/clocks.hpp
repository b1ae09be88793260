#pragma once

#include <chrono>

namespace redlock::test {

/**
 * The clocks of this program. All of its libraries call the program's own clock_gettime,
 * gettimeofday and time. A test can change the clocks only as a machine does, so the monotonic
 * clock doesn't change. The destructor corrects all clocks.
 */
class clocks {
public:
    clocks() = default;
    ~clocks();
    clocks(const clocks&) = delete;
    clocks& operator=(const clocks&) = delete;

    /// Sets the system time, CLOCK_REALTIME, forward or back.
    void step_system_time(std::chrono::nanoseconds by) noexcept;

    /// Moves CLOCK_BOOTTIME and the system time as if the machine had been suspended.
    void suspend(std::chrono::nanoseconds time) noexcept;
};

/// The kernel's own CLOCK_BOOTTIME.
[[nodiscard]] std::chrono::nanoseconds time_since_boot() noexcept;

}  // namespace redlock::test
