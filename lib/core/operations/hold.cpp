#include "core/operations/coroutines.hpp"
#include "core/operations/waits.hpp"
#include "core/quorum/reports.hpp"

namespace redlock::core {

using base::instant;
using base::nanos;

namespace {

/// Whether the lock is valid for as long as the caller wants; by default, half of what a new one
/// would be.
bool is_enough(const operation_context& c, const operation& op, instant end) noexcept
{
    const nanos wanted =
        op.min_validity > nanos{} ? op.min_validity : c.settings.validity(op.ttl) / 2;
    return end - c.shared.now >= wanted;
}

}  // namespace

operation_coroutine run_hold(operation_context& c, operation& op)
{
    lease& held = op.subject->root();
    error_code ec;
    if (op.fencing && held.fencing_token == 0) {
        ec = errc::no_fencing_token;
    }
    while (!ec) {
        if (held.is_detached || held.lost || held.valid_until() <= c.shared.now) {
            ec = c.leases.lose(held);
            break;
        }
        if (is_enough(c, op, held.valid_until())) {
            break;
        }
        {
            const held_round r{c.shared, c.begin_round(op, round_kind::extend)};
            c.rounds.fan_out(*r);
            co_await verdict_of{*r};
            if (op.cancelled) {
                break;
            }
            fill_report(op, *r, c.nodes, c.shared.now);
            if (held.is_detached || held.valid_until() <= c.shared.now) {
                continue;
            }
            ec = conclude_extend(c, held, *r);
        }
        op.attempts_left -= op.attempts_left != unlimited;
        const instant next = c.shared.now + c.renewals.spacing(op.ttl);
        if (ec != errc::unavailable || op.attempts_left == 0 || next >= held.valid_until()) {
            break;
        }
        if (next >= op.deadline) {
            ec = errc::timed_out;
            break;
        }
        co_await sleep_until{next};
        if (op.cancelled) {
            break;
        }
        // If the process was suspended, it may be too late for another extend.
        ec = c.shared.now >= op.deadline ? make_error_code(errc::timed_out) : error_code();
    }
    if (op.cancelled) {
        c.leases.release(*op.subject);
        co_return c.give_up(op);
    }
    if (ec == errc::not_held) {
        // The lease was detached. Its owner has relied on it until now, so this is a loss.
        ec = errc::lost;
    }
    if (!ec && !is_worth_having(op, held.valid_until(), c.shared.now)) {
        ec = errc::expired;
    }
    if (ec) {
        c.leases.release(*op.subject);
    }
    co_return c.finish(op, ec);
}

}  // namespace redlock::core
