#pragma once

#include <cstdint>

namespace redlock::base {

/// The date, as far as this machine knows it: it may be wrong, and may jump either way at any time.
struct wall_clock {
    virtual ~wall_clock() = default;

    /// Microseconds since 1970.
    [[nodiscard]] virtual std::int64_t microseconds() noexcept = 0;
};

}  // namespace redlock::base
