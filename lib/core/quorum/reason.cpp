#include "core/quorum/reason.hpp"

#include <bit>

namespace redlock::core {

namespace {

/// The reason of an attempt in which a majority granted the key, but did not vote for one value.
errc reason_for_no_token(const round& r) noexcept
{
    if (static_cast<unsigned>(std::popcount(r.keyed)) < r.tally.quorum()) {
        return errc::expired;
    }
    // A node whose counter cannot follow counts as failed.
    const unsigned unusable = r.tally.granted() - r.fencing->most_followers();
    const unsigned spare = r.tally.nodes() - r.tally.quorum();
    return r.tally.refused() > 0 && r.tally.failed() + unusable <= spare ? errc::contended
                                                                         : errc::unavailable;
}

}  // namespace

errc reason_of(const round& r, verdict v) noexcept
{
    switch (v) {
        case verdict::won:
            return r.fencing == nullptr || r.fencing->agreed() ? errc::expired
                                                               : reason_for_no_token(r);
        case verdict::refused: return errc::contended;
        case verdict::open:
        case verdict::unavailable: break;
    }
    return errc::unavailable;
}

}  // namespace redlock::core
