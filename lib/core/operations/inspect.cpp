#include "core/operations/coroutines.hpp"
#include "core/operations/waits.hpp"
#include "core/quorum/inspection.hpp"
#include "core/quorum/reports.hpp"

namespace redlock::core {

operation_coroutine run_inspect(operation_context& c, operation& op)
{
    const held_round r{c.shared, c.begin_round(op, round_kind::inspect)};
    if (const auto index = c.fair_queue.queue_node(op.subject->resource)) {
        r->asks_queue = bit(*index);
    }
    c.rounds.fan_out(*r);
    co_await verdict_of{*r};
    if (op.cancelled) {
        co_return c.give_up(op);
    }
    conclude_inspection(*r, op.subject->token.view(), c.settings, c.shared.now, *op.inspection);
    fill_report(op, *r, c.nodes, c.shared.now);
    if (op.report != nullptr) {
        report_key_groups(*r, *op.report);
    }
    co_return c.finish(op, {});
}

}  // namespace redlock::core
