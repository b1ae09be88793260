#pragma once

#include <redlock/config.hpp>
#include <redlock/keep_alive.hpp>
#include <redlock/report.hpp>

#include "base/instant.hpp"
#include "core/list.hpp"
#include "core/operation.hpp"
#include "core/timer_heap.hpp"

#include <cstdint>
#include <memory>

namespace redlock::core {

struct lease;
struct in_turn;
struct in_news;

/**
 * The renewals of one held lease: when its validity ends, which callers wait for that, and when the
 * client must renew it. The record is small, since very many locks may have one.
 */
struct renewal : sleeper, list_hook<in_turn>, list_hook<in_news> {
    /// Counted. Null until the lock is granted.
    lease* of = nullptr;
    /// The operation of the renewal under way; null: there is none.
    operation* asking = nullptr;
    /// Operations that wait for the end of the lease.
    operation_queue waiters;

    /// The instant of the next renewal; `max`: there is none.
    base::instant next_renewal = base::instant::max();
    /// At least one hold wants renewals.
    bool renews = false;
    /// The last outcome, until `config::on_renewal` gets it.
    renewal_outcome news = renewal_outcome::renewed;
    /// The answer of each node, if `news` is a failure.
    std::unique_ptr<redlock::report> failure;

    // The renewals that one hold wants. Each further hold has a record of its own, which uses only
    // these members.
    std::uint32_t renewals_left = 0;
    renewal* further = nullptr;
    /// The hold; null: it has ended, or wants none.
    const lease* wanted_by = nullptr;
    /// The ttl of a renewal.
    base::nanos ttl{};
    /// No renewal makes keys live for longer than this after `since`, when the hold was asked for;
    /// `max` for no limit.
    base::nanos max_hold = base::nanos::max();
    base::instant since{};

    [[nodiscard]] base::instant hold_end() const noexcept
    {
        return max_hold == base::nanos::max() ? base::instant::max() : since + max_hold;
    }
};

/// Renewals that are due and wait, because too many are under way.
using renewal_queue = list<renewal, in_turn>;
/// Renewals with an outcome for `config::on_renewal`.
using renewal_reports = list<renewal, in_news>;

}  // namespace redlock::core
