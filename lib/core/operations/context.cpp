#include "core/operations/context.hpp"

#include "core/operations/coroutines.hpp"
#include "core/quorum/reports.hpp"

#include <utility>

namespace redlock::core {

round& operation_context::begin_round(const operation& op, round_kind what, bool asks_ttl)
{
    const bool is_told = op.what == operation::kind::renew && settings.on_renewal;
    const bool is_reported = op.report != nullptr;
    return rounds.begin({
        .what = what,
        .of = op.subject->root(),
        .ttl = op.ttl,
        .wants_details = is_reported || is_told || asks_ttl || what == round_kind::inspect,
        .asks_ttl = asks_ttl,
        .asks_label = op.what == operation::kind::adopt || (is_reported && is_attempt(what)),
        .every_node = op.every_node,
    });
}

lease& operation_context::change_lease(operation& op)
{
    lease& next = leases.create(op.subject->resource);
    next.group = op.subject->group;
    shared.unref(*std::exchange(op.subject, &next));
    return next;
}

lease& operation_context::take_unused_lease(operation& op)
{
    if (lease& before = *op.subject; before.references > 1) {
        lease& next = change_lease(op);
        contention.on_new_lease(before, next, op);
    }
    leases.leave_root(*op.subject);
    return *op.subject;
}

void operation_context::finish(operation& op, error_code ec) noexcept
{
    op.error = ec;
    scheduler.finish(op);
    if (op.what == operation::kind::acquire) {
        contention.on_finished(op);
    }
}

void operation_context::give_up(operation& op) noexcept
{
    if (!shared.stopped) {
        clear_report(op);  // after a stop, the report may be gone
    }
    finish(op, op.cancelled);
}

void operation_context::run() noexcept
{
    do {
        while (operation* op = scheduler.next_ready()) {
            if (op->frame) {
                scheduler.cancel_timer(*op);  // it may have another reason to go on
                std::exchange(op->frame, nullptr).resume();
            } else {
                start_acquire(*this, *op);
            }
        }
    } while (renewals.renew_due());
}

void operation_context::recycle(operation& op) noexcept
{
    op.owner.reset();
    if (op.renewal != nullptr) {
        renewals.discard(*std::exchange(op.renewal, nullptr));  // the lock was not granted
    }
    scheduler.end(op);
}

}  // namespace redlock::core
