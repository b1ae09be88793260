#include "core/operations/coroutines.hpp"
#include "core/operations/waits.hpp"
#include "core/quorum/reports.hpp"

namespace redlock::core {

operation_coroutine run_release(operation_context& c, operation& op)
{
    lease& l = op.subject->root();
    c.leases.begin_release(*op.subject);
    const held_round r{c.shared, c.begin_round(op, round_kind::release)};
    c.rounds.fan_out(*r);
    c.leases.drop_label(l);
    c.contention.end_turn(l);
    co_await verdict_of{*r};
    if (op.cancelled) {
        co_return c.give_up(op);
    }
    fill_report(op, *r, c.nodes, c.shared.now);
    switch (c.rounds.outcome_of(*r)) {
        case verdict::won: op.released = release_result::released; co_return c.finish(op, {});
        case verdict::refused: op.released = release_result::not_held; co_return c.finish(op, {});
        case verdict::open:
        case verdict::unavailable: break;
    }
    co_return c.finish(op, errc::unavailable);
}

}  // namespace redlock::core
