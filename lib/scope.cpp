#include <redlock/scope.hpp>

#include <redlock/detail/scope.hpp>

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/system/system_error.hpp>

#include <new>

// What a scope has of Asio that no template needs: compiled here, it costs nobody who includes it.
namespace redlock {

using boost::asio::cancellation_type;

held_scope::held_scope(executor_type ex, boost::asio::any_completion_handler<void(error_code)> done,
                       boost::asio::cancellation_state told, lock& held) noexcept
    : executor_(std::move(ex)),
      done_(std::move(done)),
      told_(told),
      held_(&held)
{}

held_scope::held_scope(held_scope&&) noexcept = default;

held_scope& held_scope::operator=(held_scope&& other) noexcept
{
    if (this != &other) {
        give_up();
        executor_ = std::move(other.executor_);
        done_ = std::move(other.done_);
        told_ = other.told_;
        held_ = other.held_;
    }
    return *this;
}

held_scope::~held_scope()
{
    give_up();
}

boost::asio::cancellation_slot held_scope::slot() const noexcept
{
    return done_ ? boost::asio::get_associated_cancellation_slot(done_)
                 : boost::asio::cancellation_slot();
}

bool held_scope::stopped() const noexcept
{
    return done_ && told_.cancelled() != cancellation_type::none;
}

void held_scope::done(error_code ec)
{
    if (!done_) {
        return;
    }
    boost::asio::post(executor_, [h = std::move(done_), ec]() mutable { std::move(h)(ec); });
}

void held_scope::give_up() noexcept
{
    try {
        done(boost::asio::error::operation_aborted);
    } catch (const std::bad_alloc&) {
        done_ = nullptr;  // ends it all uncalled; the lock is dropped
    }
}

namespace detail {

void scope_ending::require_completed() const
{
    if (end == scope_end::failed) {
        std::rethrow_exception(failure);
    }
    if (end != scope_end::completed) {
        throw boost::system::system_error(error, to_string(end));
    }
}

void scope_watch::on_end(error_code why)
{
    is_waiting_ = false;
    if (completion* const after = after_wait_.exchange(nullptr)) {
        after->complete({});
        return;
    }
    if (why == errc::not_held) {
        // By the body itself, behind its end, or with another hold of the owner.
        if (!has_body_ended_) {
            in_body([](scope_watch& self) { self.stop_body_without_lock(); });
        }
        return;
    }
    if (why == errc::lost || why == errc::closed) {
        lost_ = why;
        stop_body();
    } else {
        call_off(why);  // nobody could tell of a loss
    }
}

void scope_watch::on_wait_gone() noexcept
{
    is_waiting_ = false;
    if (completion* const after = after_wait_.exchange(nullptr)) {
        after->abandon();
    }
}

void scope_watch::call_off(error_code why)
{
    called_off_ = why;
    stop_acquire_.emit(cancellation_type::terminal);
    stop_body();
}

void scope_watch::end_wait(completion* after)
{
    after_wait_ = after;
    if (is_waiting_) {
        stop_wait_.emit(cancellation_type::terminal);
    } else if (completion* const left = after_wait_.exchange(nullptr)) {
        left->complete({});
    }
}

/// Nothing is emitted outside of the body: what is cancelled before its first step, or before it
/// ends without having waited for anything, co_spawn throws into the loop and never completes.
void scope_watch::stop_body()
{
    in_body([](scope_watch& self) { self.stop_body_here(); });
}

template <class Do>
void scope_watch::in_body(Do what)
{
    if (on_.body == on_.own) {
        what(*this);  // which takes no memory
    } else {
        boost::asio::dispatch(on_.body, [self = shared_from_this(), what] { what(*self); });
    }
}

void scope_watch::stop_body_here()
{
    is_stopped_ = true;
    if (held_ != nullptr) {
        stop_body_.emit(cancellation_type::terminal);
    }
}

/// Unless it has given it away, and knows.
void scope_watch::stop_body_without_lock()
{
    if (held_ != nullptr && *held_ && !held_->owns()) {
        stop_body_here();
    }
}

void cancel(const std::shared_ptr<scope_watch>& watch, cancellation_type type)
{
    if ((type & cancellation_type::terminal) == cancellation_type::none) {
        return;
    }
    boost::asio::dispatch(watch->executors().own,
                          [watch] { watch->call_off(boost::asio::error::operation_aborted); });
}

void judge(scope_ending& result, const scope_watch& watch, bool still_owns)
{
    if (watch.lost() || !still_owns) {
        result.end = scope_end::lost;
        result.error = watch.lost() ? watch.lost() : make_error_code(errc::lost);
    } else if (result.end != scope_end::completed && watch.called_off()) {
        result.end = scope_end::cancelled;
        result.error = watch.called_off();
    }
}

}  // namespace detail
}  // namespace redlock
