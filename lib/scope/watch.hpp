#pragma once

#include <redlock/detail/completion.hpp>
#include <redlock/error.hpp>
#include <redlock/lock.hpp>
#include <redlock/scope.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/cancellation_type.hpp>

#include <atomic>
#include <memory>
#include <utility>

// The events that end a `with_lock` before its body ends.
namespace redlock::scope {

/// The executors of the scope and of its body. Each runs one function at a time. They may be the
/// same.
struct executors {
    boost::asio::any_io_executor own;
    boost::asio::any_io_executor body;
};

/// The state that a scope shares with everything that may end it. Use it on the scope's own
/// executor, unless a function says otherwise.
class watch : public std::enable_shared_from_this<watch> {
public:
    explicit watch(executors on) : on_(std::move(on)) {}

    [[nodiscard]] const executors& on() const noexcept { return on_; }
    /// Why the lock is no longer kept. Empty if it is kept.
    [[nodiscard]] error_code lost() const noexcept { return lost_; }
    /// Why the scope must end although its lock may still be kept.
    [[nodiscard]] error_code called_off() const noexcept { return called_off_; }
    [[nodiscard]] boost::asio::cancellation_slot acquire_slot() noexcept
    {
        return stop_acquire_.slot();
    }
    [[nodiscard]] boost::asio::cancellation_slot body_slot() noexcept { return stop_body_.slot(); }
    [[nodiscard]] boost::asio::cancellation_slot wait_slot() noexcept { return stop_wait_.slot(); }

    void on_end(error_code why);
    /// The wait for a loss was destroyed, because the execution context ends or has no memory. May
    /// run on any thread.
    void on_wait_gone() noexcept;
    void call_off(error_code why);
    /// From now on an end of the lease without a loss is expected, because the scope releases the
    /// lock.
    void on_body_ended() noexcept { has_body_ended_ = true; }
    /// Ends the wait for a loss, unless the release has ended it. Then completes `after`, so that
    /// no handler of the scope runs after the scope's end.
    void end_wait(detail::completion* after);

private:
    friend class body_run;

    template <class Do>
    void in_body(Do what);
    void stop_body();
    void stop_body_here();
    void stop_body_without_lock();

    const executors on_;
    // Used on the scope's executor.
    error_code lost_;
    error_code called_off_;
    bool has_body_ended_ = false;
    boost::asio::cancellation_signal stop_acquire_;
    boost::asio::cancellation_signal stop_wait_;
    std::atomic<detail::completion*> after_wait_ = nullptr;
    std::atomic<bool> is_waiting_ = true;

    // Used on the body's executor.
    boost::asio::cancellation_signal stop_body_;
    bool is_stopped_ = false;
    /// Set only while the body runs.
    const lock* held_ = nullptr;
};

/// Marks the time in which the body runs with its lock. Ends also if the body is destroyed while it
/// waits. Use it on the body's executor.
class body_run {
public:
    body_run(std::shared_ptr<watch> told, const lock& held) noexcept : watch_(std::move(told))
    {
        if (!watch_->is_stopped_ && held.owns()) {
            watch_->held_ = &held;
        }
    }
    body_run(const body_run&) = delete;
    body_run& operator=(const body_run&) = delete;
    ~body_run() { watch_->held_ = nullptr; }

    [[nodiscard]] bool may_begin() const noexcept { return watch_->held_ != nullptr; }

private:
    const std::shared_ptr<watch> watch_;
};

/// The handler that waits for the end of a lease. It reports also if it is destroyed uncalled.
class waiter {
public:
    explicit waiter(std::shared_ptr<watch> told) noexcept : watch_(std::move(told)) {}
    waiter(waiter&&) noexcept = default;
    waiter& operator=(waiter&&) = delete;
    ~waiter()
    {
        if (watch_) {
            watch_->on_wait_gone();
        }
    }

    void operator()(error_code why) { std::exchange(watch_, nullptr)->on_end(why); }

private:
    std::shared_ptr<watch> watch_;
};

/// Cancels the scope. May be called on any thread.
void cancel(const std::shared_ptr<watch>& w, boost::asio::cancellation_type type);

/// Sets the status and the error of the scope after the body has ended.
void judge(detail::scope_ending& ending, const watch& w, bool still_owns);

}  // namespace redlock::scope
