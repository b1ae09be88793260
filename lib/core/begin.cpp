#include "core/coordinator.hpp"
#include "core/operations/flows.hpp"
#include "core/quorum/reports.hpp"

#include <cerrno>
#include <memory>
#include <span>
#include <string>
#include <utility>

// Operations begin, are cancelled and are told to their callers.
namespace redlock::core {

using base::instant;
using base::nanos;

/// An operation on a lease of its own.
operation& coordinator::new_operation(operation::kind what, const resource_names& names, report* r)
{
    operation& op = scheduler_.begin(what, r);
    try {
        op.subject = &leases_.create(names.first());
        op.subject->group = names.several();
    } catch (...) {
        context_.recycle(op);
        throw;
    }
    return op;
}

void coordinator::begin(operation& op, flow (*body)(operation_context&, operation&))
{
    try {
        body(context_, op);
    } catch (...) {
        // No frame could be had. The lease of a release stays the caller's, as if it had not asked.
        if (op.what != operation::kind::release) {
            shared_.unref(*op.subject);
        }
        context_.recycle(op);
        throw;
    }
    run();
}

/// May throw `std::bad_alloc`.
void coordinator::set_options(operation& op, const acquire_options& o)
{
    op.ttl = o.ttl;
    op.min_validity = o.min_validity;
    op.fencing = o.fencing.value_or(settings_.fencing);
    if (o.reentrant_owner != nullptr) {
        op.owner = o.reentrant_owner->identity();
    }
    op.since = shared_.now;
    op.deadline = shared_.now + base::deadline_span(o.timeout);
    op.attempts_left = o.timeout == o.timeout.zero() ? 1 : o.max_attempts;
    if (o.max_outage) {
        op.max_outage = base::deadline_span(*o.max_outage);
    }
    op.may_wait = op.attempts_left != 1;
    if (!o.label.empty()) {
        op.label = std::make_unique<const std::string>(o.label);
    }
    if (o.keep_alive) {
        op.renewal = &renewals_.create(*o.keep_alive, o.ttl);
    }
}

operation& coordinator::acquire(instant now, const resource_names& names, const acquire_options& o)
{
    shared_.now = now;
    operation& op = new_operation(operation::kind::acquire, names, o.report);
    auto place = contention::place::first;
    try {
        set_options(op, o);
        if (op.may_wait && !op.subject->group &&
            leases_.find(op.owner, op.subject->resources()) == nullptr) {
            place = contention_.enter(op);
        }
    } catch (...) {
        shared_.unref(*op.subject);
        context_.recycle(op);
        throw;
    }
    switch (place) {
        case contention::place::first: begin(op, run_acquire); return op;
        case contention::place::queued: break;
        case contention::place::no_room: context_.finish(op, errc::too_many_waiters); break;
    }
    run();
    return op;
}

operation& coordinator::adopt(instant now, const resource_names& names,
                              const base::owner_token& owner, nanos ttl, report* r)
{
    shared_.now = now;
    operation& op = new_operation(operation::kind::adopt, names, r);
    lease& l = *op.subject;
    l.token = owner;
    // Nothing of the SETs is under way from here.
    l.adopted = true;
    l.asked = l.answered = all_nodes(static_cast<unsigned>(nodes_.size()));
    l.t0 = l.keys_end = l.asked_until = shared_.now;
    op.ttl = ttl;
    op.deadline = shared_.now;
    begin(op, run_adopt);
    return op;
}

operation& coordinator::extend(instant now, lease& l, nanos ttl, report* r)
{
    shared_.now = now;
    operation& op = scheduler_.begin(operation::kind::extend, r);
    ++l.references;
    op.subject = &l;
    op.ttl = ttl;
    begin(op, run_extend);
    return op;
}

operation& coordinator::release(instant now, lease& l, report* r)
{
    shared_.now = now;
    operation& op = scheduler_.begin(operation::kind::release, r);
    op.subject = &l;
    if (l.root().holds > 1 || l.root().left) {
        op.released = l.root().left ? release_result::not_held : release_result::still_held;
        static_cast<void>(leases_.end_hold(l));
        context_.finish(op, {});
        run();
        return op;
    }
    begin(op, run_release);
    return op;
}

operation& coordinator::inspect(instant now, std::string_view resource, const inspect_options& o)
{
    shared_.now = now;
    operation& op = new_operation(operation::kind::inspect, resource, o.report);
    op.every_node = o.every_node;
    if (const auto owner = base::owner_token::parse(o.owner_token)) {
        op.subject->token = *owner;
    }
    begin(op, run_inspect);
    return op;
}

void coordinator::cancel(instant now, operation& op) noexcept
{
    shared_.now = now;
    // The value that asio::error::operation_aborted has; that name belongs above this layer.
    call_off(op, {ECANCELED, boost::system::system_category()});
    run();
}

/// What is decided already stands, unless it turns out that the operation has to go on.
void coordinator::call_off(operation& op, error_code ec) noexcept
{
    if (op.cancelled) {
        return;
    }
    op.cancelled = ec;
    if (op.what == operation::kind::wait_lost) {
        stop_waiting(op, ec);
        return;
    }
    if (op.frame || op.in_line != nullptr) {
        context_.resume(op);
    }
}

void coordinator::drop(instant now, lease& l) noexcept
{
    shared_.now = now;
    if (!l.given_back) {
        ++shared_.stats.dropped;
        leases_.give_back(l);
    }
    shared_.unref(l);
    run();
}

void coordinator::let_go(instant now, lease& l) noexcept
{
    shared_.now = now;
    leases_.detach(l);
    shared_.unref(l);
    run();
}

bool coordinator::has_room_for(operation::kind what) const noexcept
{
    using enum operation::kind;
    switch (what) {
        case release:
        case renew:
        case wait_lost: return true;
        case extend: return scheduler_.count_of(extend) < settings_.max_in_flight;
        case acquire:
        case adopt:
        case inspect: break;
    }
    return scheduler_.count_of(acquire) - contention_.waiting() + scheduler_.count_of(adopt) +
               scheduler_.count_of(inspect) <
           settings_.max_in_flight;
}

bool coordinator::is_had(const resource_names& names, const acquire_options& o) const
{
    if (o.reentrant_owner == nullptr) {
        return false;
    }
    const owner_identity& owner = o.reentrant_owner->identity();
    if (const group several = names.several()) {
        return leases_.find(owner, *several) != nullptr;
    }
    const std::string name(names.first());
    return leases_.find(owner, std::span(&name, 1)) != nullptr;
}

operation* coordinator::take_finished(instant now) noexcept
{
    shared_.now = now;
    while (operation* op = scheduler_.next_finished()) {
        const bool goes_on = !op->error && !settle_success(*op);
        run();  // others, whose turn it is
        if (goes_on) {
            continue;
        }
        count_outcome(*op, shared_.stats);
        const bool gives_lease =
            op->what == operation::kind::acquire || op->what == operation::kind::adopt;
        if (op->error || !gives_lease) {
            shared_.unref(*std::exchange(op->subject, nullptr));
        } else if (op->renewal != nullptr && !closed_) {
            renewals_.keep(*std::exchange(op->renewal, nullptr), *op->subject);
        }
        return op;
    }
    return nullptr;
}

/// Turns a success into an error if its lease has ended before the caller gets it. False: the
/// operation goes on.
bool coordinator::settle_success(operation& op) noexcept
{
    lease& l = op.subject->root();
    switch (op.what) {
        case operation::kind::acquire:
            return is_worth_having(op, l.valid_until(), shared_.now) ||
                   !acquire_again(context_, op);
        case operation::kind::adopt:
        case operation::kind::extend:
            if (l.given_back || op.subject->given_back || l.left) {
                op.error = errc::not_held;
            } else if (l.valid_until() <= shared_.now) {
                op.error = leases_.lose(l);
            }
            return true;
        case operation::kind::release:
        case operation::kind::inspect:
        case operation::kind::wait_lost:
        case operation::kind::renew: break;
    }
    return true;
}

void coordinator::on_end(operation& wait, error_code why) noexcept
{
    wait.error = why;
    if (why == errc::lost) {
        scheduler_.finish_loss(wait);
    } else {
        scheduler_.finish(wait);
    }
}

operation& coordinator::wait_lost(instant now, lease& given)
{
    shared_.now = now;
    lease& l = given.root();
    operation& op = scheduler_.begin(operation::kind::wait_lost, nullptr);
    ++given.references;
    op.subject = &given;
    if (l.left || l.given_back || given.given_back) {
        // Left without memory it may be given back before this was begun.
        context_.finish(op, errc::not_held);
        return op;
    }
    if (l.lost || l.valid_until() <= shared_.now) {
        context_.finish(op, leases_.lose(l));
        run();
        return op;
    }
    if (l.renewal == nullptr) {
        try {
            renewals_.begin(renewals_.create(), l);
        } catch (...) {
            shared_.unref(given);
            context_.recycle(op);
            throw;
        }
    }
    renewals_.add_waiter(op, l);
    return op;
}

/// Ends the wait for a loss, unless it has ended already.
void coordinator::stop_waiting(operation& op, error_code why) noexcept
{
    if (renewals_.remove_waiter(op)) {
        context_.finish(op, why);
    }
}

}  // namespace redlock::core
