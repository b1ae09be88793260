#pragma once

#include <chrono>

namespace redlock::base {

using nanos = std::chrono::nanoseconds;

/**
 * The clock for all instants in the library: the time since boot, including suspended time.
 *
 * It deliberately has no now(). Only the engine reads a clock and passes the time to the code below
 * it.
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
