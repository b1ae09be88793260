#include "core/contention/back_off.hpp"
#include "core/operations/coroutines.hpp"
#include "core/operations/waits.hpp"
#include "core/quorum/reason.hpp"
#include "core/quorum/reports.hpp"

#include <boost/system/errc.hpp>

#include <new>
#include <optional>

namespace redlock::core {

using base::instant;
using base::nanos;

namespace {

/// Whether the reentrant owner holds the resources already, or a part of them. The acquire then
/// goes on as a further hold, or ends.
bool join_own_lock(operation_context& c, operation& op)
{
    if (lease* const held = c.leases.find(op.owner, op.subject->resources())) {
        c.contention.abandon_turn(op);
        clear_report(op);  // no node is asked for a further hold
        c.leases.add_hold(c.take_unused_lease(op), *held);
        if (op.renewal != nullptr) {
            op.renewal->since = c.shared.now;
        }
        run_hold(c, op);
        return true;
    }
    if (c.leases.has_one_of(op.owner, op.subject->resources())) {
        c.finish(op, errc::held_in_part);  // it would wait for itself
        return true;
    }
    return false;
}

/// Ends an acquire that has waited and was cancelled, or whose time is over. `fill` fills in the
/// report, if the caller wants one.
template <class Fill>
bool end_if_over(operation_context& c, operation& op, Fill fill)
{
    if (op.cancelled) {
        c.give_up(op);
        return true;
    }
    if (c.shared.now >= op.deadline) {
        if (op.report != nullptr) {
            fill();
        }
        c.finish(op, errc::timed_out);
        return true;
    }
    if (c.availability.is_out_too_long(op)) {
        report_no_attempt(op, c.nodes);
        c.finish(op, errc::unavailable);
        return true;
    }
    return false;
}

/// Fills in the report of an acquire whose time ran out before its turn.
void report_wait(const operation_context& c, const operation& op, const turn& waited) noexcept
{
    switch (waited.what) {
        case turn::kind::pause: report_holder(op, op.wait.refused_until, c.shared.now); return;
        case turn::kind::now:
        case turn::kind::local: report_place(op); return;
    }
}

/// Whether each node that refuses must return the holder's ttl. The first attempt saves the command
/// unless the caller wants a report, and one with a ticket has been told already. The script for
/// several resources returns the ttl anyway.
bool asks_holder_ttl(const operation& op) noexcept
{
    return !op.subject->group &&
           (op.report != nullptr || (op.attempts_made > 1 && !op.wait.has_ticket));
}

/// Takes the time and a new owner token. False: there is no entropy.
bool begin_attempt(operation_context& c, operation& op)
{
    lease& l = c.take_unused_lease(op);
    const auto token = base::owner_token::make(c.shared.random);
    if (!token) {
        return false;
    }
    l.token = *token;
    l.ttl = op.ttl;
    l.t0 = c.shared.now;
    l.keys_end = l.asked_until = c.shared.now + op.ttl;
    l.asked = l.answered = l.counted = 0;
    l.granted.store(0, std::memory_order_relaxed);
    l.fencing_token = 0;
    l.is_released = false;
    l.holds = 1;
    l.is_hold_over = false;
    l.is_granted = false;
    if (op.renewal != nullptr) {
        op.renewal->since = c.shared.now;
    }
    c.fair_queue.on_attempt(op);
    ++op.attempts_made;
    if (op.attempts_left != unlimited) {
        --op.attempts_left;
    }
    ++c.shared.stats.attempts;
    return true;
}

/// Takes a lock that a majority granted, if it is valid for long enough.
bool succeed(operation_context& c, operation& op, const round& r)
{
    if (r.fencing != nullptr) {
        const auto token = r.fencing->agreed();
        if (!token) {
            return false;
        }
        op.subject->fencing_token = *token;
    }
    const auto end = c.settings.validity_end(r.t0, op.ttl);
    if (!is_worth_having(op, end, c.shared.now)) {
        return false;
    }
    if (op.owner) {
        c.leases.set_owner(op.owner, *op.subject);
    }
    lease& l = *op.subject;
    l.set_valid_until(end);
    l.is_granted = true;
    c.contention.on_granted(op, end);
    if (op.label != nullptr) {
        c.leases.set_label(l, *op.label);
    }
    fill_report(op, r, c.nodes, c.shared.now);
    if (op.report != nullptr) {
        op.report->holder_ttl.reset();  // no key was in the way of this lock
        op.report->holder_label.clear();
    }
    return true;
}

nanos wait_after(operation_context& c, const operation& op, const round& failed)
{
    return back_off({.attempts = op.attempts_made,
                     .round_trip = c.fair_queue.round_trip(),
                     .holder_ttl = failed.holder_ttl,
                     .asked_nobody = c.shared.now == failed.t0,
                     .time_left = op.deadline - c.shared.now},
                    c.shared);
}

/// Ends the acquire if this attempt was granted or was the last one. Otherwise releases the keys.
bool end_with(operation_context& c, operation& op, const round& r)
{
    const verdict v = c.rounds.outcome_of(r);
    if (!op.cancelled && v == verdict::won && succeed(c, op, r)) {
        c.finish(op, {});
        return true;
    }
    c.leases.release(*op.subject);
    if (op.cancelled) {
        c.give_up(op);
        return true;
    }
    fill_report(op, r, c.nodes, c.shared.now);  // the caller may read it while the acquire waits
    if (op.attempts_left == 0 || op.deadline - c.shared.now < least_wait) {
        c.finish(op, op.attempts_left == 0 ? reason_of(r, v) : errc::timed_out);
        return true;
    }
    if (c.availability.is_hopeless(op, r.tally.of_acquire())) {
        c.finish(op, errc::unavailable);
        return true;
    }
    if (v == verdict::won) {
        c.contention.end_turn(*op.subject);  // another waiter may get a valid lock
    }
    return false;
}

}  // namespace

operation_coroutine run_acquire(operation_context& c, operation& op)
{
    // The first attempt waits for the first connections. An attempt itself waits only a node
    // timeout for nodes that the client still connects to.
    while (c.leases.find(op.owner, op.subject->resources()) == nullptr &&
           c.availability.is_settling() && c.shared.now < c.availability.next_look(op)) {
        co_await first_contact{c.availability.next_look(op)};
        if (end_if_over(c, op, [&] { report_no_attempt(op, c.nodes); })) {
            co_return;
        }
    }
    while (!join_own_lock(c, op)) {
        if (const turn next = c.contention.next_turn(op); next.what != turn::kind::now) {
            co_await wait_for_turn{op, next};
            if (end_if_over(c, op, [&] { report_wait(c, op, next); })) {
                co_return;
            }
            continue;
        }
        // 1. The time, and a new owner token.
        if (!begin_attempt(c, op)) {
            co_return c.finish(op, errc::no_entropy);
        }
        const auto what = op.subject->group ? round_kind::take : round_kind::set;
        std::optional<held_round> held;
        round& r = *held.emplace(c.shared, c.begin_round(op, what, asks_holder_ttl(op)));
        if (op.fencing) {
            c.rounds.count_votes(r);
        }
        // 2. SET NX PX on every node, each with a deadline.
        c.rounds.fan_out(r);
        co_await verdict_of{r};
        for (unsigned tries = 0; !op.cancelled && c.rounds.can_be_aligned(r); ++tries) {
            const held_round alignment{c.shared, c.rounds.begin_alignment(r, tries)};
            c.rounds.fan_out(*alignment);
            co_await verdict_of{*alignment};
        }
        c.fair_queue.on_answers(op, r);
        c.availability.on_attempt(r.t0, r.tally.of_acquire());
        // 3. A majority, and enough validity. 4. Success. 5. If not, a release on every node.
        if (end_with(c, op, r)) {
            co_return;
        }
        const instant end =
            c.fair_queue.begin_pause(op, r, c.rounds.outcome_of(r), wait_after(c, op, r));
        if (op.report == nullptr) {
            held.reset();  // no report needs it
        }
        co_await pause_until{op, end};
        // If the process was suspended, it may be too late for another attempt.
        if (end_if_over(c, op, [&] { fill_report(op, **held, c.nodes, c.shared.now); })) {
            co_return;
        }
    }
}

void start_acquire(operation_context& c, operation& op) noexcept
{
    try {
        if (!end_if_over(c, op, [&] { report_place(op); })) {
            run_acquire(c, op);
        }
    } catch (const std::bad_alloc&) {
        c.finish(op, make_error_code(boost::system::errc::not_enough_memory));
    }
}

bool acquire_again(operation_context& c, operation& op) noexcept
{
    c.leases.release(*op.subject);
    if (op.cancelled) {
        op.error = op.cancelled;
        clear_report(op);
        return false;
    }
    if (op.attempts_left == 0 || op.deadline - c.shared.now < least_wait) {
        op.error = op.attempts_left == 0 ? errc::expired : errc::timed_out;
        return false;
    }
    clear_report(op);
    try {
        if (!op.subject->is_released) {
            // Further holds of the owner still use the lease.
            c.change_lease(op);
        }
        run_acquire(c, op);
    } catch (const std::bad_alloc&) {
        op.error = make_error_code(boost::system::errc::not_enough_memory);
        return false;
    }
    return true;
}

bool is_worth_having(const operation& op, instant end, instant now) noexcept
{
    const nanos left = end - now;
    return left > nanos{} && left >= op.min_validity;
}

}  // namespace redlock::core
