#pragma once

#include <chrono>

namespace redlock::base {

using nanos = std::chrono::nanoseconds;

/**
 * The clock that every instant of the library is measured on: time since boot, suspended time
 * included.
 *
 * It has no now() on purpose: only the engine reads a clock, everything below is told the time.
 */
struct boot_time {
    using duration = nanos;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<boot_time>;

    static constexpr bool is_steady = true;
};

using instant = boot_time::time_point;

}  // namespace redlock::base
