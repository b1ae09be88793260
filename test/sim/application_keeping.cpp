#include "sim/application.hpp"
#include "sim/world.hpp"

#include <algorithm>

// Locks that are kept alive, and the tasks that wait for their loss.
namespace redlock::sim {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

/// Keeps some locks alive, and some of these within limits.
void application::may_keep(task& mine, acquire_options& o)
{
    mine.limits = {};
    const std::uint32_t one_in = w_.planned().keeps_one_in;
    mine.kept = one_in > 0 && keeping_.one_in(one_in);
    if (!mine.kept) {
        return;
    }
    if (keeping_.one_in(4)) {
        mine.limits.max_hold =
            o.ttl + std::chrono::floor<milliseconds>(keeping_.between(nanos{}, 3 * o.ttl));
    }
    if (keeping_.one_in(4)) {
        mine.limits.max_renewals = static_cast<std::uint32_t>(keeping_.below(4));
    }
    o.keep_alive = mine.limits;
}

/// Begins to keep a lock alive that the task has just acquired.
void application::begin_keeping(unsigned t)
{
    task& mine = tasks_[t];
    const core::lease& lock = mine.lease->root();
    mine.extended = mine.owner != 0;
    mine.lost = false;
    mine.renewals = 0;
    mine.since = lock.t0;
    mine.known_until = lock.valid_until();
    if (w_.planned().keeps_one_in > 0 && keeping_.one_in(2)) {
        const bool is_limited =
            mine.limits.max_hold.has_value() || mine.limits.max_renewals != unlimited;
        const bool is_kept = mine.kept && !is_limited;
        const call& begun = c_.wait_lost(t, *mine.lease, is_kept);
        if (w_.faults.happens(fault::cancel)) {
            w_.schedule(keeping_.between(0ms, 300ms), event_kind::cancel, index_, c_.generation(),
                        begun.serial);
        }
    }
}

/// Holds a lock for long enough that the client renews it a few times.
bool application::goes_on_keeping(unsigned t)
{
    const task& mine = tasks_[t];
    if (!mine.kept || mine.lost || keeping_.one_in(3)) {
        return false;
    }
    const nanos pause = keeping_.waiting(std::min<nanos>(mine.lease->root().ttl, 1s));
    w_.schedule(pause, event_kind::step, index_, c_.generation(), t);
    return true;
}

/// Each reply of a node may change the validity of a lease.
void application::look_at_leases()
{
    if (w_.planned().outside == beyond::ignores_owns || proof_ != stage::none) {
        return;
    }
    for (task& mine : tasks_) {
        if (mine.lease != nullptr && mine.lease->root().valid_until() != mine.known_until) {
            look_at(mine);
        }
    }
}

void application::look_at(task& mine)
{
    const instant until = mine.lease->root().valid_until();
    const instant before = std::exchange(mine.known_until, until);
    const auto demand = [&](bool true_, const char* what) {
        if (!true_) {
            w_.checks.fail("c" + std::to_string(index_) + ": " + mine.resource + what);
        }
    };
    if (until == instant{}) {
        mine.lost = true;
        w_.checks.end_belief(mine.belief);
        return;
    }
    demand(!mine.lost && before > c_.local_now(), " is believed in once more");
    demand(!ended_, " is renewed by a client that is closed");
    demand(until > before, " is believed in for less than was known");
    demand(mine.kept || mine.extended, " is renewed, though nobody asked for it");
    if (!mine.extended) {
        const nanos most = mine.limits.max_hold.value_or(24h);
        demand(until <= mine.since + most, " is held for longer than it may be");
        demand(++mine.renewals <= mine.limits.max_renewals,
               " is renewed more often than it may be");
    }
    w_.checks.prolong_belief(mine.belief, believed_until(*mine.lease));
}

void application::on_news(const core::renewal_news& news)
{
    w_.counts.renewed += news.outcome == renewal_outcome::renewed;
    w_.counts.limits_reached += news.outcome == renewal_outcome::limit_reached;
    const bool is_kept = std::any_of(tasks_.begin(), tasks_.end(), [&](const task& t) {
        return t.lease != nullptr && &t.lease->root() == news.of && t.kept;
    });
    if (news.outcome != renewal_outcome::lost && !is_kept) {
        w_.checks.fail("c" + std::to_string(index_) + ": is told of the renewal of " +
                       news.of->resource + ", which it does not keep");
    }
}

}  // namespace redlock::sim
