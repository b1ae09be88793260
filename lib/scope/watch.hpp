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

// What ends a `with_lock` before its body does.
namespace redlock::scope {

/// Each runs one step after the other. They may be the same.
struct executors {
    boost::asio::any_io_executor own;
    boost::asio::any_io_executor body;
};

/// What is shared by a scope and what may end it. On the scope's own executor, but where it says
/// so.
class watch : public std::enable_shared_from_this<watch> {
public:
    explicit watch(executors on) : on_(std::move(on)) {}

    [[nodiscard]] const executors& on() const noexcept { return on_; }
    /// Why the lock is no longer kept, if it is not.
    [[nodiscard]] error_code lost() const noexcept { return lost_; }
    /// Why the scope is not to go on, though its lock may be kept.
    [[nodiscard]] error_code called_off() const noexcept { return called_off_; }
    [[nodiscard]] boost::asio::cancellation_slot acquire_slot() noexcept
    {
        return stop_acquire_.slot();
    }
    [[nodiscard]] boost::asio::cancellation_slot body_slot() noexcept { return stop_body_.slot(); }
    [[nodiscard]] boost::asio::cancellation_slot wait_slot() noexcept { return stop_wait_.slot(); }

    void on_end(error_code why);
    /// Nobody will tell of an end: the execution context goes, or had no memory to. On any thread.
    void on_wait_gone() noexcept;
    void call_off(error_code why);
    /// From now on the lock is given back, or has been, and an end without a loss is no news.
    void on_body_ended() noexcept { has_body_ended_ = true; }
    /// Ends the wait for a loss, unless the release has, and completes behind it: nothing runs
    /// behind the end of the scope.
    void end_wait(detail::completion* after);

private:
    friend class body_run;

    template <class Do>
    void in_body(Do what);
    void stop_body();
    void stop_body_here();
    void stop_body_without_lock();

    const executors on_;
    // These are the scope's own.
    error_code lost_;
    error_code called_off_;
    bool has_body_ended_ = false;
    boost::asio::cancellation_signal stop_acquire_;
    boost::asio::cancellation_signal stop_wait_;
    std::atomic<detail::completion*> after_wait_ = nullptr;
    std::atomic<bool> is_waiting_ = true;

    // These are the body's.
    boost::asio::cancellation_signal stop_body_;
    bool is_stopped_ = false;
    /// While it runs.
    const lock* held_ = nullptr;
};

/// While the body runs with the lock it is given, or until it is destroyed where it waits. On the
/// body's executor.
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

/// What waits for the end of a lease. Destroyed uncalled, it says so too.
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

/// Passes on what cancels the whole. On any thread.
void cancel(const std::shared_ptr<watch>& w, boost::asio::cancellation_type type);

/// Once the body has ended.
void judge(detail::scope_ending& ending, const watch& w, bool still_owns);

}  // namespace redlock::scope
