#include "core/operations/coroutines.hpp"
#include "core/operations/waits.hpp"
#include "core/quorum/reports.hpp"

namespace redlock::core {

/// Extends by resource and owner token. If that succeeds, the caller gets a lock. If not, nothing
/// is released, because the keys may be another owner's.
operation_coroutine run_adopt(operation_context& c, operation& op)
{
    lease& l = *op.subject;
    const held_round r{c.shared, c.begin_round(op, round_kind::extend)};
    c.rounds.fan_out(*r);
    co_await verdict_of{*r};
    if (op.cancelled) {
        co_return c.give_up(op);
    }
    fill_report(op, *r, c.nodes, c.shared.now);
    const error_code ec = conclude_extend(c, l, *r);
    l.is_granted = !ec;
    co_return c.finish(op, ec);
}

}  // namespace redlock::core
