#pragma once

#include <redlock/detail/export.hpp>

#include <chrono>

namespace redlock {

/**
 * Clock of all validities: time since boot, including the time in which the machine was suspended.
 * So a laptop or a virtual machine that resumes knows that its lease has expired. On Linux it is
 * `CLOCK_BOOTTIME`.
 */
struct boot_clock {
    using duration = std::chrono::nanoseconds;               ///< span between two instants
    using rep = duration::rep;                               ///< count of nanoseconds
    using period = duration::period;                         ///< length of one tick in seconds
    using time_point = std::chrono::time_point<boot_clock>;  ///< counted from the boot

    static constexpr bool is_steady = true;  ///< no program can set this clock

    /// Returns the time since boot.
    [[nodiscard]] REDLOCK_API static time_point now() noexcept;
};

}  // namespace redlock
