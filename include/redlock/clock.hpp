#pragma once

#include <redlock/detail/export.hpp>

#include <chrono>

namespace redlock {

/**
 * The clock that validity is measured on: time since boot, the time a machine was suspended
 * included, so that a laptop or a virtual machine wakes up knowing that its lease is gone.
 * `CLOCK_BOOTTIME` on Linux.
 */
struct boot_clock {
    using duration = std::chrono::nanoseconds;               ///< nanoseconds
    using rep = duration::rep;                               ///< as a clock has it
    using period = duration::period;                         ///< as a clock has it
    using time_point = std::chrono::time_point<boot_clock>;  ///< counted from the boot

    static constexpr bool is_steady = true;  ///< nobody sets it

    /// The time since boot.
    [[nodiscard]] REDLOCK_API static time_point now() noexcept;
};

}  // namespace redlock
