#pragma once

#include "base/instant.hpp"

#include <cstdint>

namespace redlock::core {

/// How long a client has had a resource for itself, one lock after the other, and how others fared.
struct stint {
    void meet_others() noexcept
    {
        met_others = true;
        lonely_rests = 0;
    }

    /// How often it went from one of the client to the next since other clients were last let in,
    /// and when it first did.
    unsigned hand_overs = 0;
    base::instant since{};
    /// The masters refused somebody of the client since then.
    bool met_others = false;
    /// For how many times in a row other clients were let in and nobody of this one was refused;
    /// `sought_after::most_lonely_rests` at most.
    unsigned lonely_rests = 0;
    /// Other clients go first until then.
    base::instant rests_until{};
    /// When they were last let in for as long as those need whom no server tells.
    base::instant rested_long{};
    /// Until when it is remembered that an acquire of the client was lost to others.
    base::instant contended_until{};
    /// For how many wake-ups a lock was refused that others had before, smoothed.
    std::uint32_t refusals = 0;
};

}  // namespace redlock::core
