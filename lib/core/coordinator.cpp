#include "core/coordinator.hpp"

#include <boost/system/errc.hpp>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <new>
#include <string>

namespace redlock::core {

using base::instant;
using base::nanos;

coordinator::coordinator(const base::settings& s, base::entropy& random)
    : settings_(s),
      random_(random)
{
    assert(!s.nodes.empty() && s.nodes.size() <= max_nodes);
    nodes_.reserve(s.nodes.size());
    for (const base::address& at : s.nodes) {
        nodes_.push_back(std::make_unique<node>(*this, static_cast<unsigned>(nodes_.size()), at));
    }
}

coordinator::~coordinator()
{
    // Flows that still wait are not resumed: their callers are gone or have been told.
    while (operation* op = in_flight_.pop_front()) {
        if (op->frame) {
            std::exchange(op->frame, nullptr).destroy();
        }
    }
}

// ---- operations: begun here, done by their flows

operation& coordinator::new_operation(operation::kind what, report* r)
{
    operation& op = operations_.take();
    op.what = what;
    op.subject = nullptr;
    op.ttl = op.min_validity = nanos{};
    op.deadline = instant{};
    op.attempts_left = 1;
    op.report = r;
    op.serial = ++serials_;
    op.user = nullptr;
    op.frame = nullptr;
    op.attempts_made = 0;
    op.cancelled = {};
    op.error = {};
    op.released = release_result::not_held;
    op.inspection = {};
    in_flight_.push_back(op);
    return op;
}

/// An operation on a lease of its own.
operation& coordinator::new_operation(operation::kind what, std::string_view resource, report* r)
{
    operation& op = new_operation(what, r);
    try {
        op.subject = &new_lease(resource);
    } catch (...) {
        recycle(op);
        throw;
    }
    return op;
}

lease& coordinator::new_lease(std::string_view resource)
{
    lease& l = leases_.take();
    try {
        l.resource.assign(resource);
    } catch (...) {
        leases_.give(l);
        throw;
    }
    l.token = {};
    l.ttl = {};
    l.t0 = l.keys_end = {};
    l.asked = l.answered = 0;
    l.granted.store(0, std::memory_order_relaxed);
    l.adopted = l.lost = l.given_back = false;
    l.references = 1;
    l.set_valid_until(instant{});
    return l;
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
    now_ = now;
    operation& op = new_operation(operation::kind::acquire, resource, o.report);
    op.ttl = o.ttl;
    op.min_validity = o.min_validity;
    op.deadline = now + base::deadline_span(o.deadline);
    op.attempts_left = o.deadline == o.deadline.zero() ? 1 : o.attempts;
    begin(op, &coordinator::run_acquire);
    return op;
}

operation& coordinator::adopt(instant now, std::string_view resource,
                              const base::owner_token& owner, nanos ttl, report* r)
{
    now_ = now;
    operation& op = new_operation(operation::kind::adopt, resource, r);
    lease& l = *op.subject;
    l.token = owner;
    // Nothing of the SETs is under way from here.
    l.adopted = true;
    l.asked = l.answered = all_nodes(static_cast<unsigned>(nodes_.size()));
    l.t0 = l.keys_end = now;
    op.ttl = ttl;
    op.deadline = now;
    begin(op, &coordinator::run_adopt);
    return op;
}

operation& coordinator::extend(instant now, lease& l, nanos ttl, report* r)
{
    now_ = now;
    operation& op = new_operation(operation::kind::extend, r);
    ref(l);
    op.subject = &l;
    op.ttl = ttl;
    begin(op, &coordinator::run_extend);
    return op;
}

operation& coordinator::release(instant now, lease& l, report* r)
{
    now_ = now;
    operation& op = new_operation(operation::kind::release, r);
    op.subject = &l;
    begin(op, &coordinator::run_release);
    return op;
}

operation& coordinator::inspect(instant now, std::string_view resource, report* r)
{
    now_ = now;
    operation& op = new_operation(operation::kind::inspect, resource, r);
    begin(op, &coordinator::run_inspect);
    return op;
}

void coordinator::cancel(instant now, operation& op) noexcept
{
    now_ = now;
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
    if (op.frame) {
        resume_later(op);
    }
}

void coordinator::drop(instant now, lease& l) noexcept
{
    now_ = now;
    if (!l.given_back) {
        ++stats_.dropped;
        give_back(l);
    }
    unref(l);
}

void coordinator::finish(operation& op, error_code ec) noexcept
{
    op.error = ec;
    finished_.push_back(op);
}

operation* coordinator::take_finished(instant now) noexcept
{
    now_ = now;
    while (operation* op = finished_.pop_front()) {
        if (!op->error && !holds_yet(*op)) {
            continue;
        }
        count(*op);
        const bool gives_lease =
            op->what == operation::kind::acquire || op->what == operation::kind::adopt;
        if (op->error || !gives_lease) {
            unref(*std::exchange(op->subject, nullptr));
        }
        return op;
    }
    return nullptr;
}

/// No success may speak of a lease that is over when its caller hears of it. False: the operation
/// goes on.
bool coordinator::holds_yet(operation& op) noexcept
{
    lease& l = *op.subject;
    switch (op.what) {
        case operation::kind::acquire:
            return is_worth_having(op, l.valid_until()) || !acquire_again(op);
        case operation::kind::adopt:
        case operation::kind::extend:
            if (l.given_back) {
                op.error = errc::not_held;
            } else if (l.valid_until() <= now_) {
                op.error = lose(l);
            }
            return true;
        case operation::kind::release:
        case operation::kind::inspect: break;
    }
    return true;
}

void coordinator::give_up(operation& op) noexcept
{
    finish(op, op.cancelled);
}

void coordinator::recycle(operation& op) noexcept
{
    in_flight_.remove(op);
    operations_.give(op);
}

// ---- the network

void coordinator::start(instant now) noexcept
{
    now_ = now;
    if (settings_.tls.insecure_skip_verification) {
        log(log_level::warning,
            {"config::tls.insecure_skip_verification is set: TLS nodes are not verified"});
    }
    for (auto& n : nodes_) {
        n->connect();
    }
}

/// Where memory runs out, what a node does next is not known: its connection is given up.
template <class Step>
void coordinator::guarded(unsigned index, Step step) noexcept
{
    try {
        step(*nodes_[index]);
    } catch (const std::bad_alloc&) {
        nodes_[index]->break_off("out of memory");
    }
}

void coordinator::on_connected(instant now, unsigned index) noexcept
{
    now_ = now;
    guarded(index, [&](node& n) { n.on_connected(); });
    run();
}

void coordinator::on_bytes(instant now, unsigned index, std::string_view bytes) noexcept
{
    now_ = now;
    guarded(index, [&](node& n) { n.on_bytes(bytes); });
    run();
}

void coordinator::on_closed(instant now, unsigned index, std::string_view reason) noexcept
{
    now_ = now;
    nodes_[index]->on_closed(reason);
    run();
}

void coordinator::on_time(instant now) noexcept
{
    now_ = now;
    while (!by_deadline_.empty() && by_deadline_.front().deadline <= now) {
        expire(by_deadline_.front());
    }
    for (unsigned i = 0; i < nodes_.size(); ++i) {
        if (nodes_[i]->wake_up() <= now) {
            guarded(i, [](node& n) { n.on_time(); });
        }
    }
    while (operation* op = sleepers_.pop_due(now)) {
        resume_later(*op);
    }
    run();
}

/// Ends every operation that `which` speaks of, with its client.
template <class Which>
void coordinator::cancel_all(Which which) noexcept
{
    for (operation* op = in_flight_.empty() ? nullptr : &in_flight_.front(); op != nullptr;
         op = in_flight_.after(*op)) {
        if (which(*op)) {
            call_off(*op, errc::closed);
        }
    }
    run();
}

void coordinator::close(instant now) noexcept
{
    now_ = now;
    cancel_all([](const operation& op) { return op.what != operation::kind::release; });
}

void coordinator::stop(instant now) noexcept
{
    now_ = now;
    stopped_ = true;
    for (auto& n : nodes_) {
        n->stop();
    }
    cancel_all([](const operation&) { return true; });
}

instant coordinator::next_deadline() const noexcept
{
    instant next = by_deadline_.empty() ? instant::max() : by_deadline_.front().deadline;
    if (!sleepers_.empty()) {
        next = std::min(next, sleepers_.next());
    }
    for (const auto& n : nodes_) {
        next = std::min(next, n->wake_up());
    }
    return next;
}

bool coordinator::is_quiet() const noexcept
{
    return std::all_of(nodes_.begin(), nodes_.end(),
                       [](const auto& n) { return n->releases_going_out() == 0; });
}

// ---- references

void coordinator::unref(lease& l) noexcept
{
    assert(l.references > 0);
    if (--l.references > 0) {
        return;
    }
    constexpr std::size_t kept_capacity = 256;
    if (l.resource.capacity() > kept_capacity) {
        std::string().swap(l.resource);
    }
    l.token = {};
    leases_.give(l);
}

void coordinator::unref(round& r) noexcept
{
    assert(r.references > 0);
    if (--r.references > 0) {
        return;
    }
    if (r.is_linked()) {
        by_deadline_.remove(r);
    }
    if (r.details != nullptr) {
        details_.give(*std::exchange(r.details, nullptr));
    }
    unref(*std::exchange(r.of, nullptr));
    rounds_.give(r);
}

// ---- the scheduler

void coordinator::resume_later(operation& op) noexcept
{
    if (op.is_newcomer) {
        op.is_newcomer = false;
        newcomers_.remove(op);
    }
    if (!static_cast<list_hook<in_queue>&>(op).is_linked()) {
        ready_.push_back(op);
    }
}

void coordinator::run() noexcept
{
    while (operation* op = ready_.pop_front()) {
        std::exchange(op->frame, nullptr).resume();
    }
}

void* flow::promise_type::operator new(std::size_t size, coordinator& c, operation&)
{
    // The pool stands in front of the frame, as deallocation is told nothing else.
    void* block = c.frames_.take(size + alignof(std::max_align_t));
    ::new (block) frame_pool*(&c.frames_);
    return static_cast<std::byte*>(block) + alignof(std::max_align_t);
}

void flow::promise_type::operator delete(void* frame, std::size_t size) noexcept
{
    void* block = static_cast<std::byte*>(frame) - alignof(std::max_align_t);
    (*static_cast<frame_pool**>(block))->give(block, size + alignof(std::max_align_t));
}

void flow::promise_type::unhandled_exception() noexcept
{
    const bool may_leave_keys =
        op_.what == operation::kind::acquire || op_.what == operation::kind::release;
    if (may_leave_keys) {
        owner_.give_back(*op_.subject);
    }
    owner_.finish(op_, make_error_code(boost::system::errc::not_enough_memory));
}

void coordinator::log(log_level level, std::initializer_list<std::string_view> line) const noexcept
{
    if (!settings_.log) {
        return;
    }
    try {
        std::string whole;
        for (const std::string_view part : line) {
            whole += part;
        }
        settings_.log(level, whole);
    } catch (...) {
        // A log must not break a lock; log.hpp says so.
    }
}

}  // namespace redlock::core
