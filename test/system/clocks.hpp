#pragma once

#include <chrono>

namespace redlock::test {

/**
 * The clocks of this program, all of whose libraries ask the clock_gettime, gettimeofday and time
 * of the program itself. Only what a machine does to its clocks is done here: the monotonic clock
 * goes on as ever. When the object goes, all clocks are right again.
 */
class clocks {
public:
    clocks() = default;
    ~clocks();
    clocks(const clocks&) = delete;
    clocks& operator=(const clocks&) = delete;

    /// Sets the system time, CLOCK_REALTIME, forward or back.
    void step_system_time(std::chrono::nanoseconds by) noexcept;

    /// As if the machine had been suspended: CLOCK_BOOTTIME and the system time have gone on.
    void suspend(std::chrono::nanoseconds time) noexcept;
};

/// CLOCK_BOOTTIME as the kernel has it.
[[nodiscard]] std::chrono::nanoseconds time_since_boot() noexcept;

}  // namespace redlock::test
