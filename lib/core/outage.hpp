#pragma once

#include "base/instant.hpp"
#include "core/votes.hpp"

#include <algorithm>

namespace redlock::core {

/**
 * Since when a client has reached no majority of its nodes.
 *
 * It has two witnesses. Connections say at once that too few nodes are there, but not whether a
 * connected node answers. Attempts say whether a majority answers, but only when one is made.
 */
class outage {
public:
    void on_connections(base::instant now, bool are_enough) noexcept
    {
        disconnected_since_ = are_enough ? never : std::min(disconnected_since_, now);
    }

    /// An attempt that began at `begun` was decided.
    void on_attempt(base::instant begun, verdict v) noexcept
    {
        switch (v) {
            case verdict::open: return;  // one node was asked first, and its answer was enough
            case verdict::unavailable:
                unanswered_since_ = std::min(unanswered_since_, begun);
                return;
            case verdict::won:
            case verdict::refused: unanswered_since_ = never; return;
        }
    }

    /// By both witnesses: for an acquire that has just made an attempt. `instant::max()`: there is
    /// no outage.
    [[nodiscard]] base::instant since() const noexcept
    {
        return std::min(disconnected_since_, unanswered_since_);
    }

    /// By connections alone: for an acquire that waits, since what its last attempt met may have
    /// passed.
    [[nodiscard]] base::instant disconnected_since() const noexcept { return disconnected_since_; }

private:
    static constexpr base::instant never = base::instant::max();

    base::instant disconnected_since_ = never;
    base::instant unanswered_since_ = never;
};

}  // namespace redlock::core
