#include "scope/watch.hpp"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>

#include <memory>

namespace redlock::scope {

using boost::asio::cancellation_type;

void watch::on_end(error_code why)
{
    is_waiting_ = false;
    if (detail::completion* const after = after_wait_.exchange(nullptr)) {
        after->complete({});
        return;
    }
    if (why == errc::not_held) {
        // The lease was released by the body, after the body's end, or through another hold of the
        // owner.
        if (!has_body_ended_) {
            in_body([](watch& self) { self.stop_body_without_lock(); });
        }
        return;
    }
    if (why == errc::lost || why == errc::closed) {
        lost_ = why;
        stop_body();
    } else {
        call_off(why);  // without a wait, no loss could be noticed
    }
}

void watch::on_wait_gone() noexcept
{
    is_waiting_ = false;
    if (detail::completion* const after = after_wait_.exchange(nullptr)) {
        after->abandon();
    }
}

void watch::call_off(error_code why)
{
    called_off_ = why;
    stop_acquire_.emit(cancellation_type::terminal);
    stop_body();
}

void watch::end_wait(detail::completion* after)
{
    after_wait_ = after;
    if (is_waiting_) {
        stop_wait_.emit(cancellation_type::terminal);
    } else if (detail::completion* const left = after_wait_.exchange(nullptr)) {
        left->complete({});
    }
}

/// Stops the body. The signal is emitted only on the body's executor and only while the body runs.
/// If co_spawn is cancelled before the body's first step, or before a body without any wait ends,
/// it throws into the loop and never completes.
void watch::stop_body()
{
    in_body([](watch& self) { self.stop_body_here(); });
}

template <class Do>
void watch::in_body(Do what)
{
    if (on_.body == on_.own) {
        what(*this);  // runs directly, which needs no memory
    } else {
        boost::asio::dispatch(on_.body, [self = shared_from_this(), what] { what(*self); });
    }
}

void watch::stop_body_here()
{
    is_stopped_ = true;
    if (held_ != nullptr) {
        stop_body_.emit(cancellation_type::terminal);
    }
}

/// Stops the body if its lock no longer owns the resource. A body that has moved the lock away
/// knows that already.
void watch::stop_body_without_lock()
{
    if (held_ != nullptr && *held_ && !held_->owns()) {
        stop_body_here();
    }
}

void cancel(const std::shared_ptr<watch>& w, cancellation_type type)
{
    if ((type & cancellation_type::terminal) == cancellation_type::none) {
        return;
    }
    boost::asio::dispatch(w->on().own, [w] { w->call_off(boost::asio::error::operation_aborted); });
}

void judge(detail::scope_ending& ending, const watch& w, bool still_owns)
{
    if (w.lost() || !still_owns) {
        ending.status = with_lock_status::lost;
        ending.error = w.lost() ? w.lost() : make_error_code(errc::lost);
    } else if (ending.status != with_lock_status::completed && w.called_off()) {
        ending.status = with_lock_status::cancelled;
        ending.error = w.called_off();
    }
}

}  // namespace redlock::scope
