#pragma once

#include <redlock/config.hpp>
#include <redlock/keep_alive.hpp>
#include <redlock/report.hpp>

#include "base/instant.hpp"
#include "core/list.hpp"
#include "core/operation.hpp"
#include "core/wake_ups.hpp"

#include <cstdint>
#include <memory>

namespace redlock::core {

struct lease;
struct in_turn;
struct in_news;

/**
 * Looks after one held lease: knows when its validity ends, tells those who wait for that, and
 * renews it as long as one of its holds wants that. Small, since there is one for each of very many
 * locks; what a renewal needs besides is had while it is under way.
 */
struct keeper : sleeper, list_hook<in_turn>, list_hook<in_news> {
    /// Counted. Null until the lock is had.
    lease* of = nullptr;
    /// The renewal under way.
    operation* asking = nullptr;
    /// Who wants to hear of the end.
    operation_queue waiters;

    /// `max` while there is none to come.
    base::instant next_renewal = base::instant::max();
    /// A hold wants it renewed.
    bool renews = false;
    /// What was last heard; told when it comes to it.
    renewal_outcome news = renewal_outcome::renewed;
    /// What each node answered to the renewal of which `news` tells, if that failed.
    std::unique_ptr<redlock::report> failure;

    // How one hold wants it renewed. Those of further holds have a keeper of their own each, of
    // which nothing else is used.
    std::uint32_t renewals_left = 0;
    keeper* further = nullptr;
    /// Which hold; null: none.
    const lease* wanted_by = nullptr;
    /// What a renewal asks for.
    base::nanos ttl{};
    /// No renewal makes keys live for longer than this, from when the hold was asked for; `max`
    /// for no limit.
    base::nanos max_hold = base::nanos::max();
    base::instant since{};

    [[nodiscard]] base::instant hold_end() const noexcept
    {
        return max_hold == base::nanos::max() ? base::instant::max() : since + max_hold;
    }
};

/// Renewals that are due, while so many are under way that they have to wait.
using keeper_turns = list<keeper, in_turn>;
/// Of whom there is something to tell.
using keeper_news = list<keeper, in_news>;

}  // namespace redlock::core
