#include "core/coordinator.hpp"
#include "core/reports.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <new>
#include <utility>

// The life of an operation, but for what its flow does: begun, called off, told to its caller.
namespace redlock::core {

using base::instant;
using base::nanos;

operation& coordinator::new_operation(operation::kind what, report* r)
{
    operation& op = operations_.take();
    op.what = what;
    op.subject = nullptr;
    op.ttl = op.min_validity = nanos{};
    op.deadline = instant{};
    op.attempts_left = 1;
    op.fencing = false;
    op.every_node = false;
    op.owner.reset();
    op.max_outage.reset();
    op.label.reset();
    op.report = r;
    op.serial = ++serials_;
    op.user = nullptr;
    op.frame = nullptr;
    op.attempts_made = 0;
    op.cancelled = {};
    op.error = {};
    op.released = release_result::not_held;
    if (what == operation::kind::inspect) {
        op.inspection = {};
    }
    op.keeper = nullptr;
    op.has_rested = op.was_woken = false;
    op.may_wait = op.may_be_roused = op.was_roused = op.is_woken = op.is_rushed = false;
    op.is_next = op.is_heir = op.is_watch_asked = false;
    op.looks_at = instant{};
    op.watches = 0;
    op.held = 0;
    op.refusals = 0;
    op.refused_until = instant{};
    op.looked_at = 0;
    op.refused_within = nanos{};
    op.refused_at = instant{};
    op.doubts = 0;
    op.is_listed = false;
    op.since = instant{};
    op.queue_position = 0;
    scheduler_.begin(op);
    return op;
}

/// An operation on a lease of its own.
operation& coordinator::new_operation(operation::kind what, std::string_view resource, report* r)
{
    operation& op = new_operation(what, r);
    try {
        op.subject = &leases_.create(resource);
    } catch (...) {
        recycle(op);
        throw;
    }
    return op;
}

operation& coordinator::new_operation(operation::kind what, const group& resources, report* r)
{
    operation& op = new_operation(what, resources->front(), r);
    op.subject->group = resources;
    return op;
}

void coordinator::begin(operation& op, flow (coordinator::*body)(operation&))
{
    try {
        (this->*body)(op);
    } catch (...) {
        // No frame could be had. The lease of a release stays the caller's, as if it had not asked.
        if (op.what != operation::kind::release) {
            unref(*op.subject);
        }
        recycle(op);
        throw;
    }
    run();
}

operation& coordinator::acquire(instant now, std::string_view resource, const acquire_options& o)
{
    shared_.now = now;
    return begin_acquire(new_operation(operation::kind::acquire, resource, o.report), o);
}

operation& coordinator::acquire(instant now, const group& resources, const acquire_options& o)
{
    shared_.now = now;
    return begin_acquire(new_operation(operation::kind::acquire, resources, o.report), o);
}

operation& coordinator::begin_acquire(operation& op, const acquire_options& o)
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
    try {
        if (!o.label.empty()) {
            op.label = std::make_unique<const std::string>(o.label);
        }
        if (o.keep_alive) {
            op.keeper = &renewals_.create(*o.keep_alive, o.ttl);
        }
    } catch (...) {
        unref(*op.subject);
        recycle(op);
        throw;
    }
    op.may_wait = op.attempts_left != 1;
    if (op.may_wait && !op.subject->group &&
        leases_.find(op.owner, op.subject->resources()) == nullptr) {
        auto place = contention::place::first;
        try {
            place = contention_.enter(op);
        } catch (...) {
            unref(*op.subject);
            recycle(op);
            throw;
        }
        if (place == contention::place::no_room) {
            finish(op, errc::too_many_waiters);
        }
        if (place != contention::place::first) {
            run();
            return op;
        }
    }
    begin(op, &coordinator::run_acquire);
    return op;
}

operation& coordinator::adopt(instant now, std::string_view resource,
                              const base::owner_token& owner, nanos ttl, report* r)
{
    shared_.now = now;
    return begin_adopt(new_operation(operation::kind::adopt, resource, r), owner, ttl);
}

operation& coordinator::adopt(instant now, const group& resources, const base::owner_token& owner,
                              nanos ttl, report* r)
{
    shared_.now = now;
    return begin_adopt(new_operation(operation::kind::adopt, resources, r), owner, ttl);
}

operation& coordinator::begin_adopt(operation& op, const base::owner_token& owner, nanos ttl)
{
    lease& l = *op.subject;
    l.token = owner;
    // Nothing of the SETs is under way from here.
    l.adopted = true;
    l.asked = l.answered = all_nodes(static_cast<unsigned>(nodes_.size()));
    l.t0 = l.keys_end = l.asked_until = shared_.now;
    op.ttl = ttl;
    op.deadline = shared_.now;
    begin(op, &coordinator::run_adopt);
    return op;
}

operation& coordinator::extend(instant now, lease& l, nanos ttl, report* r)
{
    shared_.now = now;
    operation& op = new_operation(operation::kind::extend, r);
    ref(l);
    op.subject = &l;
    op.ttl = ttl;
    begin(op, &coordinator::run_extend);
    return op;
}

operation& coordinator::release(instant now, lease& l, report* r)
{
    shared_.now = now;
    operation& op = new_operation(operation::kind::release, r);
    op.subject = &l;
    if (l.root().holds > 1 || l.root().left) {
        op.released = l.root().left ? release_result::not_held : release_result::still_held;
        static_cast<void>(leases_.end_hold(l));
        finish(op, {});
        run();
        return op;
    }
    begin(op, &coordinator::run_release);
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
    begin(op, &coordinator::run_inspect);
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
        resume_later(op);
    }
}

void coordinator::drop(instant now, lease& l) noexcept
{
    shared_.now = now;
    if (!l.given_back) {
        ++shared_.stats.dropped;
        leases_.give_back(l);
    }
    unref(l);
    run();
}

void coordinator::let_go(instant now, lease& l) noexcept
{
    shared_.now = now;
    leases_.detach(l);
    unref(l);
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

void coordinator::finish(operation& op, error_code ec) noexcept
{
    op.error = ec;
    finished_.push_back(op);
    if (op.what == operation::kind::acquire) {
        contention_.on_finished(op);
    }
}

operation* coordinator::take_finished(instant now) noexcept
{
    shared_.now = now;
    while (operation* op = losses_.empty() ? finished_.pop_front() : losses_.pop_front()) {
        const bool goes_on = !op->error && !holds_yet(*op);
        run();  // others, whose turn it is
        if (goes_on) {
            continue;
        }
        count(*op);
        const bool gives_lease =
            op->what == operation::kind::acquire || op->what == operation::kind::adopt;
        if (op->error || !gives_lease) {
            unref(*std::exchange(op->subject, nullptr));
        } else if (op->keeper != nullptr && !closed_) {
            renewals_.keep(*std::exchange(op->keeper, nullptr), *op->subject);
        }
        return op;
    }
    return nullptr;
}

/// No success may speak of a lease that is over when its caller hears of it. False: the operation
/// goes on.
bool coordinator::holds_yet(operation& op) noexcept
{
    lease& l = op.subject->root();
    switch (op.what) {
        case operation::kind::acquire:
            return is_worth_having(op, l.valid_until()) || !acquire_again(op);
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

void coordinator::give_up(operation& op) noexcept
{
    if (!shared_.stopped) {
        clear_report(op);  // or nobody may be there any more whose it is
    }
    finish(op, op.cancelled);
}

void coordinator::recycle(operation& op) noexcept
{
    op.owner.reset();
    if (op.keeper != nullptr) {
        renewals_.discard(*std::exchange(op.keeper, nullptr));  // its lock was not had
    }
    scheduler_.end(op);
    operations_.give(op);
}

}  // namespace redlock::core
