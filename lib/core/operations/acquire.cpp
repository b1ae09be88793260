#include "core/contention/back_off.hpp"
#include "core/coordinator.hpp"
#include "core/quorum/reason.hpp"
#include "core/reports.hpp"
#include "core/waits.hpp"

#include <boost/system/errc.hpp>

#include <algorithm>
#include <new>
#include <optional>
#include <utility>

namespace redlock::core {

using base::instant;
using base::nanos;

namespace {

/// Whether each node that refuses must return the holder's ttl. The first attempt saves the command
/// unless the caller wants a report. The script for several resources returns the ttl anyway.
bool asks_holder_ttl(const operation& op, bool asks_one_first) noexcept
{
    return !op.subject->group && (op.report != nullptr || op.attempts_made > 1 || asks_one_first);
}

}  // namespace

flow coordinator::run_acquire(operation& op)
{
    // An attempt has a node timeout itself, for nodes that are still being connected to.
    while (leases_.find(op.owner, op.subject->resources()) == nullptr &&
           availability_.is_settling() && shared_.now < availability_.next_look(op)) {
        co_await first_contact{availability_.next_look(op)};
        if (is_over(op, [&] { report_no_attempt(op); })) {
            co_return;
        }
    }
    for (;;) {
        if (is_owners(op)) {
            co_return;
        }
        if (const turn next = contention_.next_turn(op); next.what != turn::kind::now) {
            co_await wait_for_turn{op, next};
            if (is_over(op, [&] { report_wait(op, next); })) {
                co_return;
            }
            continue;
        }
        const auto gate = contention_.first_node(op);
        if (!begin_attempt(op)) {
            co_return finish(op, errc::no_entropy);
        }
        std::optional<held_round> held;
        const auto what = op.subject->group ? round_kind::take : round_kind::set;
        round& r = *held.emplace(*this, new_round(op, what, asks_holder_ttl(op, gate.has_value())));
        if (op.fencing) {
            rounds_.count_votes(r);
        }
        if (gate) {
            rounds_.ask_first(r, *gate);
        } else {
            rounds_.fan_out(r);
        }
        co_await verdict_of{r};
        contention_.on_first_answers(r, rounds_.outcome_of(r));
        if (gate && !op.cancelled && ask_the_others(op, r)) {
            co_await verdict_of{r};
        }
        for (unsigned tries = 0; !op.cancelled && rounds_.can_be_aligned(r); ++tries) {
            const held_round raised{*this, rounds_.begin_alignment(r, tries)};
            rounds_.fan_out(*raised);
            co_await verdict_of{*raised};
        }
        contention_.on_answers(op, r);
        availability_.on_attempt(r.t0, r.tally.of_acquire());
        if (is_last(op, r)) {
            co_return;
        }
        const nanos wait = back_off({.attempts = op.attempts_made,
                                     .round_trip = contention_.round_trip(),
                                     .holder_ttl = r.holder_ttl,
                                     .asked_nobody = shared_.now == r.t0,
                                     .time_left = op.deadline - shared_.now},
                                    shared_);
        const instant end = contention_.begin_pause(op, wait);
        if (op.report == nullptr) {
            held.reset();  // nobody will ask for it any more
        }
        co_await pause_until{op, end};
        // Woken late, as behind a suspension, no attempt begins any more.
        if (is_over(op, [&] { fill_report(op, **held); })) {
            co_return;
        }
    }
}

/// Whether the operation has ended while it waited: called off, or out of time, of which `tell` is
/// the report, if one is wanted.
template <class Tell>
bool coordinator::is_over(operation& op, Tell tell)
{
    if (op.cancelled) {
        give_up(op);
        return true;
    }
    if (shared_.now >= op.deadline) {
        if (op.report != nullptr) {
            tell();
        }
        finish(op, errc::timed_out);
        return true;
    }
    if (availability_.is_out_too_long(op)) {
        report_no_attempt(op);
        finish(op, errc::unavailable);
        return true;
    }
    return false;
}

/// After the node that was asked first has granted, or has failed to vote. False: the node has
/// refused, or it is too late to ask the others.
bool coordinator::ask_the_others(operation& op, round& r)
{
    if ((r.gate & r.tally.refused_by()) != 0) {
        op.subject->asked &= ~r.gate;  // there is nothing to release
        return false;
    }
    if (shared_.now >= op.deadline) {
        return false;
    }
    rounds_.ask_the_others(r, op.report != nullptr);
    return true;
}

/// What a report says of an acquire whose time ran out before its turn.
void coordinator::report_wait(const operation& op, const turn& waited) const noexcept
{
    switch (waited.what) {
        case turn::kind::pause: report_holder(op, op.refused_until, shared_.now); return;
        case turn::kind::now:
        case turn::kind::queue:
        case turn::kind::rest: report_place(op); return;
    }
}

/// An acquire that has no coroutine gets one, if there is still something to do.
void coordinator::start(operation& op) noexcept
{
    try {
        if (!is_over(op, [&] { report_place(op); })) {
            run_acquire(op);
        }
    } catch (const std::bad_alloc&) {
        finish(op, make_error_code(boost::system::errc::not_enough_memory));
    }
}

/// Of an owner that has the resource, and may go on with that, or a part of what is wanted. False:
/// the nodes are to be asked.
bool coordinator::is_owners(operation& op)
{
    if (lease* const held = leases_.find(op.owner, op.subject->resources())) {
        nest(op, *held);
        run_hold(op);
        return true;
    }
    if (leases_.has_one_of(op.owner, op.subject->resources())) {
        finish(op, errc::held_in_part);  // it would wait for itself
        return true;
    }
    return false;
}

/// Whether the operation ends with this attempt. If it does not, it is to be told when to make the
/// next one.
bool coordinator::is_last(operation& op, const round& r)
{
    if (!op.cancelled && succeed(op, r)) {
        finish(op, {});
        return true;
    }
    const verdict v = rounds_.outcome_of(r);
    leases_.give_back(*op.subject);
    contention_.on_not_granted(op, r, v);
    if (op.cancelled) {
        give_up(op);
        return true;
    }
    if (op.attempts_left == 0 || op.deadline - shared_.now < least_wait) {
        fill_report(op, r);
        finish(op, op.attempts_left == 0 ? reason_of(r, v) : errc::timed_out);
        return true;
    }
    if (availability_.is_hopeless(op, r.tally.of_acquire())) {
        fill_report(op, r);
        finish(op, errc::unavailable);
        return true;
    }
    if (v == verdict::won) {
        fill_report(op, r);
        contention_.end_turn(*op.subject);  // another one may make more of it
    }
    contention_.watch(op, r, v);
    return false;
}

bool coordinator::begin_attempt(operation& op)
{
    lease& l = fresh_subject(op);
    const auto token = base::owner_token::make(shared_.random);
    if (!token) {
        return false;
    }
    l.token = *token;
    l.ttl = op.ttl;
    l.t0 = shared_.now;
    l.keys_end = l.asked_until = shared_.now + op.ttl;
    l.asked = l.answered = l.counted = 0;
    l.granted.store(0, std::memory_order_relaxed);
    l.fencing_token = 0;
    l.given_back = false;
    l.holds = 1;
    l.is_hold_over = false;
    l.is_had = l.is_counted = false;
    if (op.keeper != nullptr) {
        op.keeper->since = shared_.now;
    }
    contention_.on_attempt(op);
    ++op.attempts_made;
    if (op.attempts_left != unlimited) {
        --op.attempts_left;
    }
    ++shared_.stats.attempts;
    return true;
}

bool coordinator::succeed(operation& op, const round& r)
{
    if (rounds_.outcome_of(r) != verdict::won) {
        return false;
    }
    if (r.fencing != nullptr) {
        const auto token = r.fencing->agreed();
        if (!token) {
            return false;
        }
        op.subject->fencing_token = *token;
    }
    const auto end = settings_.validity_end(r.t0, op.ttl);
    if (!is_worth_having(op, end)) {
        return false;
    }
    if (op.owner) {
        leases_.set_owner(op.owner, *op.subject);
    }
    lease& l = *op.subject;
    l.set_valid_until(end);
    l.is_had = true;
    if (op.label != nullptr) {
        leases_.set_label(l, *op.label);
    }
    contention_.on_granted(op, r, end);
    fill_report(op, r);
    if (op.report != nullptr) {
        op.report->holder_ttl.reset();  // of keys that were not in the way
        op.report->holder_label.clear();
    }
    return true;
}

/// What was won is over before its caller could hear of it: as any attempt that was won too late.
/// False: it was the last.
bool coordinator::acquire_again(operation& op) noexcept
{
    leases_.give_back(*op.subject);
    if (op.cancelled) {
        op.error = op.cancelled;
        clear_report(op);
        return false;
    }
    if (op.attempts_left == 0 || op.deadline - shared_.now < least_wait) {
        op.error = op.attempts_left == 0 ? errc::expired : errc::timed_out;
        return false;
    }
    clear_report(op);
    try {
        if (!op.subject->given_back) {
            // Further holds of its owner go on with it.
            change_subject(op);
        }
        op.has_rested = false;
        run_acquire(op);
    } catch (const std::bad_alloc&) {
        op.error = make_error_code(boost::system::errc::not_enough_memory);
        return false;
    }
    return true;
}

bool coordinator::is_worth_having(const operation& op, instant end) const noexcept
{
    const nanos left = end - shared_.now;
    return left > nanos{} && left >= op.min_validity;
}

}  // namespace redlock::core
