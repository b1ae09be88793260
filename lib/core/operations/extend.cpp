#include "core/operations/coroutines.hpp"
#include "core/operations/waits.hpp"
#include "core/quorum/reports.hpp"

#include <algorithm>

namespace redlock::core {

operation_coroutine run_extend(operation_context& c, operation& op)
{
    lease& l = op.subject->root();
    if (l.is_detached) {
        co_return c.finish(op, errc::not_held);
    }
    if (l.lost || l.valid_until() <= c.shared.now) {
        // A lost lease stays lost, even if its keys are still there. No caller may hear "held"
        // after "lost".
        co_return c.finish(op, c.leases.lose(l));
    }
    const held_round r{c.shared, c.begin_round(op, round_kind::extend)};
    c.rounds.fan_out(*r);
    co_await verdict_of{*r};
    if (op.cancelled) {
        co_return c.give_up(op);
    }
    fill_report(op, *r, c.nodes, c.shared.now);
    if (!l.is_released && !l.is_detached && l.valid_until() <= c.shared.now) {
        co_return c.finish(op, c.leases.lose(l));
    }
    co_return c.finish(op, conclude_extend(c, l, *r));
}

error_code conclude_extend(operation_context& c, lease& l, const round& r)
{
    if (l.is_released || l.is_detached) {
        // A release was sent after this extend, or the lease was detached.
        return errc::not_held;
    }
    switch (c.rounds.outcome_of(r)) {
        case verdict::won: break;
        case verdict::refused: return c.leases.lose(l);
        case verdict::open:
        case verdict::unavailable: return errc::unavailable;
    }
    const auto end = c.settings.validity_end(r.t0, r.ttl);
    if (std::max(end, l.valid_until()) <= c.shared.now) {
        return c.leases.lose(l);
    }
    l.t0 = std::max(l.t0, r.t0);
    l.asked_until = std::max(l.asked_until, r.t0 + r.ttl);
    l.set_valid_until(std::max(end, l.valid_until()));
    c.leases.send_label(l);
    return {};
}

}  // namespace redlock::core
