#include "core/operations/client_operations.hpp"

#include "core/operations/coroutines.hpp"
#include "core/quorum/reports.hpp"

#include <cerrno>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace redlock::core {

using base::instant;
using base::nanos;

/// An operation on a lease of its own.
operation& client_operations::new_operation(operation::kind what, const resource_names& names,
                                            report* r)
{
    operation& op = c_.scheduler.begin(what, r);
    try {
        op.subject = &c_.leases.create(names.first());
        op.subject->group = names.several();
    } catch (...) {
        c_.recycle(op);
        throw;
    }
    return op;
}

void client_operations::begin(operation& op,
                              operation_coroutine (*body)(operation_context&, operation&))
{
    try {
        body(c_, op);
    } catch (...) {
        // There is no memory for a frame. The lease of a release stays the caller's, as if the
        // release had not begun.
        if (op.what != operation::kind::release) {
            c_.shared.unref(*op.subject);
        }
        c_.recycle(op);
        throw;
    }
    c_.run();
}

/// May throw `std::bad_alloc`.
void client_operations::set_options(operation& op, const acquire_options& o)
{
    op.ttl = o.ttl;
    op.min_validity = o.min_validity;
    op.fencing = o.fencing.value_or(c_.settings.fencing);
    if (o.reentrant_owner != nullptr) {
        op.owner = o.reentrant_owner->identity();
    }
    op.since = c_.shared.now;
    op.deadline = c_.shared.now + base::deadline_span(o.timeout);
    op.attempts_left = o.timeout == o.timeout.zero() ? 1 : o.max_attempts;
    if (o.max_outage) {
        op.max_outage = base::deadline_span(*o.max_outage);
    }
    op.may_wait = op.attempts_left != 1;
    if (!o.label.empty()) {
        op.label = std::make_unique<const std::string>(o.label);
    }
    if (o.keep_alive) {
        op.renewal = &c_.renewals.create(*o.keep_alive, o.ttl);
    }
}

operation& client_operations::acquire(instant now, const resource_names& names,
                                      const acquire_options& o)
{
    c_.shared.now = now;
    operation& op = new_operation(operation::kind::acquire, names, o.report);
    auto place = contention::place::first;
    try {
        set_options(op, o);
        if (op.may_wait && !op.subject->group &&
            c_.leases.find(op.owner, op.subject->resources()) == nullptr) {
            place = c_.contention.enter(op);
        }
    } catch (...) {
        c_.shared.unref(*op.subject);
        c_.recycle(op);
        throw;
    }
    switch (place) {
        case contention::place::first: begin(op, run_acquire); return op;
        case contention::place::queued: break;
        case contention::place::no_room: c_.finish(op, errc::too_many_waiters); break;
    }
    c_.run();
    return op;
}

operation& client_operations::adopt(instant now, const resource_names& names,
                                    const base::owner_token& owner, nanos ttl, report* r)
{
    c_.shared.now = now;
    operation& op = new_operation(operation::kind::adopt, names, r);
    lease& l = *op.subject;
    l.token = owner;
    // This client has no SET of the lease under way.
    l.adopted = true;
    l.asked = l.answered = all_nodes(static_cast<unsigned>(c_.nodes.size()));
    l.t0 = l.keys_end = l.asked_until = c_.shared.now;
    op.ttl = ttl;
    op.deadline = c_.shared.now;
    begin(op, run_adopt);
    return op;
}

operation& client_operations::extend(instant now, lease& l, nanos ttl, report* r)
{
    c_.shared.now = now;
    operation& op = c_.scheduler.begin(operation::kind::extend, r);
    ++l.references;
    op.subject = &l;
    op.ttl = ttl;
    begin(op, run_extend);
    return op;
}

operation& client_operations::release(instant now, lease& l, report* r)
{
    c_.shared.now = now;
    operation& op = c_.scheduler.begin(operation::kind::release, r);
    op.subject = &l;
    if (l.root().holds > 1 || l.root().is_detached) {
        op.released = l.root().is_detached ? release_result::not_held : release_result::still_held;
        static_cast<void>(c_.leases.end_hold(l));
        c_.finish(op, {});
        c_.run();
        return op;
    }
    begin(op, run_release);
    return op;
}

operation& client_operations::inspect(instant now, std::string_view resource,
                                      const inspect_options& o)
{
    c_.shared.now = now;
    operation& op = new_operation(operation::kind::inspect, resource, o.report);
    op.every_node = o.every_node;
    if (const auto owner = base::owner_token::parse(o.owner_token)) {
        op.subject->token = *owner;
    }
    begin(op, run_inspect);
    return op;
}

void client_operations::cancel(instant now, operation& op) noexcept
{
    c_.shared.now = now;
    // This is the value of asio::error::operation_aborted, a name that belongs above this layer.
    call_off(op, {ECANCELED, boost::system::system_category()});
    c_.run();
}

/// Keeps a result that is decided already, unless the operation must go on after all.
void client_operations::call_off(operation& op, error_code ec) noexcept
{
    if (op.cancelled) {
        return;
    }
    op.cancelled = ec;
    if (op.what == operation::kind::wait_lost) {
        stop_waiting(op, ec);
        return;
    }
    if (op.frame || op.queue != nullptr) {
        c_.resume(op);
    }
}

void client_operations::drop(instant now, lease& l) noexcept
{
    c_.shared.now = now;
    if (!l.is_released) {
        ++c_.shared.stats.dropped;
        c_.leases.release(l);
    }
    c_.shared.unref(l);
    c_.run();
}

void client_operations::detach(instant now, lease& l) noexcept
{
    c_.shared.now = now;
    c_.leases.detach(l);
    c_.shared.unref(l);
    c_.run();
}

bool client_operations::has_room_for(operation::kind what) const noexcept
{
    using enum operation::kind;
    switch (what) {
        case release:
        case renew:
        case wait_lost: return true;
        case extend: return c_.scheduler.count_of(extend) < c_.settings.max_in_flight;
        case acquire:
        case adopt:
        case inspect: break;
    }
    return c_.scheduler.count_of(acquire) - c_.contention.waiting() + c_.scheduler.count_of(adopt) +
               c_.scheduler.count_of(inspect) <
           c_.settings.max_in_flight;
}

bool client_operations::is_held_by_owner(const resource_names& names,
                                         const acquire_options& o) const
{
    if (o.reentrant_owner == nullptr) {
        return false;
    }
    const owner_identity& owner = o.reentrant_owner->identity();
    if (const group several = names.several()) {
        return c_.leases.find(owner, *several) != nullptr;
    }
    const std::string name(names.first());
    return c_.leases.find(owner, std::span(&name, 1)) != nullptr;
}

operation* client_operations::take_finished(instant now) noexcept
{
    c_.shared.now = now;
    while (operation* op = c_.scheduler.next_finished()) {
        const bool goes_on = !op->error && !settle_success(*op);
        c_.run();  // other operations can go on
        if (goes_on) {
            continue;
        }
        count_outcome(*op, c_.shared.stats);
        const bool gives_lease =
            op->what == operation::kind::acquire || op->what == operation::kind::adopt;
        if (op->error || !gives_lease) {
            c_.shared.unref(*std::exchange(op->subject, nullptr));
        } else if (op->renewal != nullptr && !is_closed_) {
            c_.renewals.keep(*std::exchange(op->renewal, nullptr), *op->subject);
        }
        return op;
    }
    return nullptr;
}

/// Turns a success into an error if its lease has ended before the caller gets it. False: the
/// operation goes on.
bool client_operations::settle_success(operation& op) noexcept
{
    lease& l = op.subject->root();
    switch (op.what) {
        case operation::kind::acquire:
            return is_worth_having(op, l.valid_until(), c_.shared.now) || !acquire_again(c_, op);
        case operation::kind::adopt:
        case operation::kind::extend:
            if (l.is_released || op.subject->is_released || l.is_detached) {
                op.error = errc::not_held;
            } else if (l.valid_until() <= c_.shared.now) {
                op.error = c_.leases.lose(l);
            }
            return true;
        case operation::kind::release:
        case operation::kind::inspect:
        case operation::kind::wait_lost:
        case operation::kind::renew: break;
    }
    return true;
}

operation& client_operations::wait_lost(instant now, lease& given)
{
    c_.shared.now = now;
    lease& l = given.root();
    operation& op = c_.scheduler.begin(operation::kind::wait_lost, nullptr);
    ++given.references;
    op.subject = &given;
    if (l.is_detached || l.is_released || given.is_released) {
        // The lease may have ended before this wait began.
        c_.finish(op, errc::not_held);
        return op;
    }
    if (l.lost || l.valid_until() <= c_.shared.now) {
        c_.finish(op, c_.leases.lose(l));
        c_.run();
        return op;
    }
    if (l.renewal == nullptr) {
        try {
            c_.renewals.begin(c_.renewals.create(), l);
        } catch (...) {
            c_.shared.unref(given);
            c_.recycle(op);
            throw;
        }
    }
    c_.renewals.add_waiter(op, l);
    return op;
}

/// Ends the wait for a loss, unless it has ended already.
void client_operations::stop_waiting(operation& op, error_code why) noexcept
{
    if (c_.renewals.remove_waiter(op)) {
        c_.finish(op, why);
    }
}

/// Ends every operation for which `which` is true.
template <class Which>
void client_operations::call_off_all(Which which) noexcept
{
    operation_list& all = c_.scheduler.under_way();
    for (operation* op = all.empty() ? nullptr : &all.front(); op != nullptr; op = all.after(*op)) {
        if (which(*op)) {
            call_off(*op, errc::closed);
        }
    }
    c_.run();
}

void client_operations::close() noexcept
{
    is_closed_ = true;
    call_off_all([](const operation& op) { return op.what != operation::kind::release; });
}

void client_operations::stop() noexcept
{
    is_closed_ = true;
    call_off_all([](const operation&) { return true; });
}

}  // namespace redlock::core
