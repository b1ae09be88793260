#pragma once

#include "base/instant.hpp"
#include "support/virtual/random.hpp"

#include <cstdint>

namespace redlock::sim {

using base::instant;
using base::nanos;
using test::random_source;
using test::seeded_entropy;

/// A machine's clock at a true instant: off by an offset, and fast or slow.
class skewed_clock {
public:
    skewed_clock() = default;
    skewed_clock(nanos offset, std::int64_t fast_ppb) : offset_(offset), ppb_(fast_ppb) {}

    [[nodiscard]] instant shows(instant truth) const noexcept
    {
        const wide t = truth.time_since_epoch().count();
        return instant{nanos{static_cast<std::int64_t>(t * (billion + ppb_) / billion)} + offset_};
    }

    /// The first true instant at which the clock shows `local` or more.
    [[nodiscard]] instant when_shows(instant local) const noexcept
    {
        if (local == instant::max()) {
            return instant::max();
        }
        const wide shown = (local - offset_).time_since_epoch().count();
        const wide rate = billion + ppb_;
        return instant{nanos{static_cast<std::int64_t>((shown * billion + rate - 1) / rate)}};
    }

    void step(nanos by) noexcept { offset_ += by; }

private:
    __extension__ using wide = __int128;
    static constexpr std::int64_t billion = 1'000'000'000;

    nanos offset_{};
    std::int64_t ppb_ = 0;
};

}  // namespace redlock::sim
