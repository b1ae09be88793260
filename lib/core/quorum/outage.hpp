#pragma once

#include "base/instant.hpp"
#include "core/votes.hpp"

#include <algorithm>
#include <chrono>
#include <optional>

namespace redlock::core {

/**
 * Knows since when a client has reached no majority of its nodes.
 *
 * It has two sources. Connections show at once that too few nodes are there, but not whether a
 * connected node answers. Attempts show whether a majority answers, but only while attempts are
 * made.
 */
class outage {
public:
    /// `longest_gap`: without an attempt for longer than this, an outage that attempts have shown
    /// counts as over. The nodes may have answered other commands meanwhile.
    explicit outage(base::nanos longest_gap) noexcept : longest_gap_(longest_gap) {}

    /// `are_enough`: a majority of the nodes is connected.
    void on_connections(base::instant now, bool are_enough) noexcept
    {
        disconnected_since_ = are_enough ? never : std::min(disconnected_since_, now);
    }

    /// An attempt that began at `begun` was decided at `now`.
    void on_attempt(base::instant begun, base::instant now, verdict v) noexcept
    {
        switch (v) {
            case verdict::open: return;  // the acquire was cancelled
            case verdict::unavailable:
                if (unanswered_since_ == never || begun - unanswered_at_ > longest_gap_) {
                    unanswered_since_ = begun;
                }
                unanswered_at_ = now;
                return;
            case verdict::won:
            case verdict::refused: unanswered_since_ = never; return;
        }
    }

    /// The begin of the outage by both sources, for an acquire that has just made an attempt.
    /// `instant::max()`: there is no outage.
    [[nodiscard]] base::instant since() const noexcept
    {
        return std::min(disconnected_since_, unanswered_since_);
    }

    /// The begin of the outage by connections alone, for an acquire that waits. The result of its
    /// last attempt may be out of date.
    [[nodiscard]] base::instant disconnected_since() const noexcept { return disconnected_since_; }

    /// Whether an outage that began at `since` has lasted for `most`; empty: no outage is too long.
    [[nodiscard]] static bool has_lasted(base::instant since,
                                         const std::optional<base::nanos>& most,
                                         base::instant now) noexcept
    {
        return most && since != never && now - since >= *most;
    }
    /// The instant at which a waiter must check next whether an outage has lasted for `most`. One
    /// check in each `most` is enough, because an outage that begins later lasts until later.
    [[nodiscard]] base::instant next_look(const std::optional<base::nanos>& most,
                                          base::instant now) const noexcept
    {
        if (!most) {
            return never;
        }
        const base::nanos apart = std::max(*most, between_looks);
        return (disconnected_since_ == never ? now : disconnected_since_) + apart;
    }

private:
    static constexpr base::instant never = base::instant::max();
    /// The least time between two checks of a waiter.
    static constexpr base::nanos between_looks = std::chrono::milliseconds{100};

    base::instant disconnected_since_ = never;
    base::instant unanswered_since_ = never;
    /// The instant at which the last of these attempts was decided.
    base::instant unanswered_at_{};
    base::nanos longest_gap_;
};

}  // namespace redlock::core
