#include "core/quorum/reports.hpp"
#include "engine/driver.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

// The events of the loop: turns and the timer.
namespace redlock::engine {

using base::instant;

namespace {

/// The longest wait while a lease is kept or an operation is pending. An alarm pauses while the
/// machine is suspended, but validity and timeouts don't. The limit bounds the delay after a
/// suspend.
constexpr base::nanos longest_alarm = std::chrono::seconds{1};

}  // namespace

void driver::want_turn() noexcept
{
    if (turn_wanted_ || context_gone_) {
        return;
    }
    try {
        later_.execute([self = shared_from_this()] { self->turn(); });
        turn_wanted_ = true;
    } catch (const std::bad_alloc&) {
        // Without memory for the turn, an alarm that fires at once replaces it.
        if (const instant at = now(); !alarm_.is_due(at)) {
            alarm_.set(at, at, shared_from_this());
        }
    }
}

void driver::turn()
{
    // The destructor runs even if a handler throws.
    struct end {
        turn_entropy& draws;
        ~end() { draws.end_turn(); }
    } const at_end{draws_};
    turn_wanted_ = false;
    catch_up();
    deliver();
    flush();
}

/// Processes requests that couldn't be posted for lack of memory. Every turn does this. Nothing
/// waits for long: a lock that is kept alive has a turn before its renewal.
void driver::catch_up() noexcept
{
    dropped_.take_all([this](core::lease& l) { core_.operations().drop(now(), l); });
    detached_.take_all([this](core::lease& l) { core_.operations().detach(now(), l); });
    if (shut_down_.load(std::memory_order_relaxed)) {
        stop(errc::closed, errc::closed);
    }
}

/// Completes the operations that have finished by now. Operations that a handler starts and that
/// finish at once wait for the next turn.
void driver::deliver()
{
    // An exception from a handler propagates to the user through the context. A further turn then
    // completes the remaining handlers and does the flush.
    struct go_on {
        driver& d;
        bool threw = true;
        ~go_on()
        {
            if (threw || !d.decided_.empty() || d.core_.operations().finished() > 0 ||
                d.core_.news() > 0) {
                d.want_turn();
            }
        }
    } after{*this};
    core_.check_leases(now());
    if (const std::size_t losses = core_.operations().losses(); losses > 0) {
        complete_some(losses);
        if (settings_.thread_safe) {
            deliveries_.send(user_executor_);
            // The handlers of the losses were posted out of the strand. The other handlers must run
            // after them, so they wait for the next turn.
            after.threw = false;
            return;
        }
    }
    tell_renewals();
    complete_some(core_.operations().finished());
    for (std::size_t n = decided_.size(); n > 0 && !decided_.empty(); --n) {
        completion_ptr done = decided_.pop();
        const error_code ec = done->decided;
        complete(std::move(done), {ec, {}, {}, {}});
    }
    deliveries_.send(user_executor_);
    after.threw = false;
}

void driver::complete_some(std::size_t most)
{
    for (; most > 0; --most) {
        core::operation* op = core_.operations().take_finished(now());
        if (op == nullptr) {
            return;
        }
        complete(*op);
    }
}

/// Calls the user's renewal sink. The sink may do anything, even throw, but can't prevent the work
/// that follows.
void driver::tell_renewals() noexcept
{
    core::renewal_news news;
    for (std::size_t n = core_.news(); n > 0 && core_.take_news(news); --n) {
        const base::nanos left = std::max(base::nanos{}, news.of->valid_until() - now());
        try {
            settings_.on_renewal({news.of->resource, news.outcome, left, news.report.get()});
        } catch (...) {
            // keep_alive.hpp documents that the client ignores exceptions.
        }
        core_.forget(news);
    }
}

void driver::complete(core::operation& op)
{
    detail::outcome what;
    what.error = op.error;
    what.released = op.released;
    if (op.inspection) {
        what.inspection = std::move(*op.inspection);
    }
    if (op.subject != nullptr) {
        what.held = detail::held_lease(shared_from_this(), *op.subject);
    }
    completion_ptr done(static_cast<detail::completion*>(op.user));
    if (op.cancelled && op.error == op.cancelled) {
        core::clear_report(op);
    }
    core_.operations().recycle(op);
    complete(std::move(done), std::move(what));
}

void driver::complete(completion_ptr done, detail::outcome&& what)
{
    done->together = settings_.thread_safe ? &deliveries_ : nullptr;
    done.release()->complete(std::move(what));
}

/// Does what the core requests: connect, close, write, and set the alarm.
void driver::flush()
{
    if (context_gone_) {
        return;
    }
    if (closing_ && !stopped_ && (core_.network().is_quiet() || now() >= close_by_)) {
        stop({}, {});
    }
    links_.serve();
    if (stopped_) {
        alarm_.cancel_unless_due(now());
    } else {
        set_alarm();
    }
    if (settings_.thread_safe) {
        publish_stats();
    }
}

// Time.

void driver::set_alarm() noexcept
{
    const instant at = now();
    instant next = core_.next_deadline();
    if (core_.has_leases_to_check() || core_.operations().size() > 0 || closing_) {
        next = std::min(next, at + longest_alarm);
    }
    if (closing_ && !stopped_) {
        next = std::min(next, close_by_);
    }
    if (alarm_.is_late_for(next, at)) {
        alarm_.set(next, at, shared_from_this());
    }
}

void driver::on_alarm()
{
    if (context_gone_) {
        return;
    }
    alarm_.on_fired();
    // Replies that have already arrived are processed first. Otherwise they would count as late
    // although it was this process that slept.
    const auto fire = [self = shared_from_this()] {
        self->catch_up();
        self->core_.on_time(self->now());
        self->turn();
    };
    try {
        later_.execute(fire);
        return;
    } catch (const std::bad_alloc&) {
        // Without memory to post the turn, it runs at once.
    }
    fire();
}

void driver::publish_stats()
{
    const std::lock_guard guard(stats_mutex_);
    published_ = core_.snapshot();
}

stats driver::stats() const
{
    if (!settings_.thread_safe) {
        return core_.snapshot();
    }
    const std::lock_guard guard(stats_mutex_);
    return published_;
}

}  // namespace redlock::engine
