#pragma once

#include <cstdint>

namespace redlock::base {

/// This machine's date. It may be wrong, and may jump forward or back at any time.
struct wall_clock {
    virtual ~wall_clock() = default;

    /// Microseconds since 1970.
    [[nodiscard]] virtual std::int64_t microseconds() noexcept = 0;
};

}  // namespace redlock::base
