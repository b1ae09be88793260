#pragma once

#include "base/instant.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace redlock::core {

/// How long a client has had a resource for itself, one lock after the other, and how others fared.
struct stint {
    /// A client that is not told lets others in for as long as any of them sleeps so long after
    /// they were met, then less and less often, and so often if they never were.
    static constexpr base::nanos least_until_longest = std::chrono::seconds{2};
    static constexpr base::nanos most_until_longest = std::chrono::seconds{8};

    [[nodiscard]] static stint begun(base::instant when) noexcept
    {
        return {.freed = when, .rested_long = when, .rested_longest = when};
    }

    void meet_others() noexcept
    {
        met_others = true;
        lonely_rests = 0;
        until_longest = least_until_longest;
    }

    /// For how many wake-ups a lock was refused that others had before, smoothed.
    std::uint32_t refusals = 0;
    /// How often it went from one of the client to the next since other clients were last let in,
    /// and when it first did.
    unsigned hand_overs = 0;
    base::instant since{};
    /// When the client had it no more.
    base::instant freed{};
    /// For so long from then on other clients go first.
    base::nanos rest{};
    /// So many stood in line when the client, which is not told, got it after others had it.
    std::size_t stood_in_line = 0;
    /// The masters refused somebody of the client since then.
    bool met_others = false;
    /// For how many times in a row other clients were let in and nobody of this one was refused;
    /// `sought_after::most_lonely_rests` at most.
    unsigned lonely_rests = 0;
    /// When they were last let in for as long as those may need whom no server tells, and when for
    /// as long as any of them sleeps; the latter is put off by what it is left free besides.
    base::instant rested_long{};
    base::instant rested_longest{};
    /// So long after the latter a client that is not told does it again.
    base::nanos until_longest = most_until_longest;
    /// Until when it is remembered that an acquire of the client was lost to others.
    base::instant contended_until{};
};

}  // namespace redlock::core
