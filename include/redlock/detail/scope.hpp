#pragma once

#include <redlock/client.hpp>
#include <redlock/config.hpp>
#include <redlock/detail/boxed_handler.hpp>
#include <redlock/detail/completion.hpp>
#include <redlock/detail/export.hpp>
#include <redlock/detail/operations.hpp>
#include <redlock/error.hpp>
#include <redlock/lock.hpp>
#include <redlock/scope.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <atomic>
#include <concepts>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

// What with_lock.hpp is made of.
namespace redlock::detail {

template <class T>
struct is_awaitable : std::false_type {};
template <class T>
struct is_awaitable<boost::asio::awaitable<T>> : std::true_type {
    using type = T;
};

template <class Body>
concept scope_body =
    std::invocable<Body&, lock&> && is_awaitable<std::invoke_result_t<Body&, lock&>>::value;

template <scope_body Body>
using value_of_body = typename is_awaitable<std::invoke_result_t<Body&, lock&>>::type;

/// Each runs one step after the other. They may be the same.
struct scope_executors {
    client::executor_type own;
    client::executor_type body;
};

/// What is shared by a scope and what may end it. On the scope's own executor, but where it says
/// so.
class scope_watch : public std::enable_shared_from_this<scope_watch> {
public:
    explicit scope_watch(scope_executors on) : on_(std::move(on)) {}

    [[nodiscard]] const scope_executors& executors() const noexcept { return on_; }
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

    REDLOCK_API void on_end(error_code why);
    /// Nobody will tell of an end: the execution context goes, or had no memory to. On any thread.
    REDLOCK_API void on_wait_gone() noexcept;
    REDLOCK_API void call_off(error_code why);
    /// From now on the lock is given back, or has been, and an end without a loss is no news.
    void on_body_ended() noexcept { has_body_ended_ = true; }

    /// Ends the wait for a loss, unless the release has, and completes behind it: nothing runs
    /// behind the end of the scope.
    template <class Token>
    auto async_end_wait(Token&& token)
    {
        return boost::asio::async_initiate<Token, void()>(
            [this](auto handler) {
                using boxed = boxed_handler<decltype(handler), unpack_none>;
                end_wait(boxed::make(std::move(handler), on_.own, hop::out));
            },
            token);
    }

private:
    friend class scope_body_run;

    REDLOCK_API void end_wait(completion* after);
    template <class Do>
    void in_body(Do what);
    void stop_body();
    void stop_body_here();
    void stop_body_without_lock();

    const scope_executors on_;
    // These are the scope's own.
    error_code lost_;
    error_code called_off_;
    bool has_body_ended_ = false;
    boost::asio::cancellation_signal stop_acquire_;
    boost::asio::cancellation_signal stop_wait_;
    std::atomic<completion*> after_wait_ = nullptr;
    std::atomic<bool> is_waiting_ = true;

    // These are the body's.
    boost::asio::cancellation_signal stop_body_;
    bool is_stopped_ = false;
    /// While it runs.
    const lock* held_ = nullptr;
};

/// While the body runs with the lock it is given, or until it is destroyed where it waits. On the
/// body's executor.
class scope_body_run {
public:
    scope_body_run(std::shared_ptr<scope_watch> watch, const lock& held) noexcept
        : watch_(std::move(watch))
    {
        if (!watch_->is_stopped_ && held.owns()) {
            watch_->held_ = &held;
        }
    }
    scope_body_run(const scope_body_run&) = delete;
    scope_body_run& operator=(const scope_body_run&) = delete;
    ~scope_body_run() { watch_->held_ = nullptr; }

    [[nodiscard]] bool may_begin() const noexcept { return watch_->held_ != nullptr; }

private:
    const std::shared_ptr<scope_watch> watch_;
};

/// On any thread.
REDLOCK_API void cancel(const std::shared_ptr<scope_watch>& watch,
                        boost::asio::cancellation_type type);

/// What waits for the end of a lease. Destroyed uncalled, it says so too.
class scope_waiter {
public:
    explicit scope_waiter(std::shared_ptr<scope_watch> watch) noexcept : watch_(std::move(watch)) {}
    scope_waiter(scope_waiter&&) noexcept = default;
    scope_waiter& operator=(scope_waiter&&) = delete;
    ~scope_waiter()
    {
        if (watch_) {
            watch_->on_wait_gone();
        }
    }

    void operator()(error_code why) { std::exchange(watch_, nullptr)->on_end(why); }

private:
    std::shared_ptr<scope_watch> watch_;
};

/// On the body's executor.
template <class T, class Body>
boost::asio::awaitable<void> run_body(Body& body, lock& held, std::shared_ptr<scope_watch> watch,
                                      scope_result<T>& result)
{
    namespace this_coro = boost::asio::this_coro;
    try {
        const scope_body_run run(std::move(watch), held);
        if (!run.may_begin()) {
            result.end = scope_end::cancelled;
        } else if constexpr (std::is_void_v<T>) {
            co_await std::invoke(body, held);
            result.end = scope_end::completed;
        } else {
            result.value.emplace(co_await std::invoke(body, held));
            result.end = scope_end::completed;
        }
    } catch (...) {
        result.end = scope_end::failed;
        result.failure = std::current_exception();
    }
    co_await this_coro::reset_cancellation_state(boost::asio::disable_cancellation());
}

/// Once the body has ended.
REDLOCK_API void judge(scope_ending& result, const scope_watch& watch, bool still_owns);

// Of a client that a scope may outlive.

template <class Token>
auto acquire_within(const engine_ptr& d, std::vector<std::string> resources, acquire_options o,
                    Token token)
{
    return initiate<void(error_code, lock), unpack_lock>(
        d, token,
        [names = shared(std::move(resources)), o = std::move(o)](engine_ptr& e, completion* c,
                                                                 const ticket_ptr& t) {
            operations::acquire(e, names, o, c, t);
        },
        cancels_total);
}

template <class Token>
auto release_within(const engine_ptr& d, lock l, const Token& token)
{
    return initiate<void(error_code, release_result), unpack_release>(
        d, token,
        [](engine_ptr& e, completion* c, const ticket_ptr& t, lock given) {
            operations::release(e, std::move(given), {}, c, t);
        },
        cancels_started, std::move(l));
}

template <class T, class Body>
boost::asio::awaitable<scope_result<T>> run_scope(engine_ptr engine,
                                                  std::shared_ptr<scope_watch> watch,
                                                  std::vector<std::string> resources,
                                                  acquire_options options, Body body)
{
    using boost::asio::bind_cancellation_slot;
    constexpr auto as_tuple = boost::asio::as_tuple(boost::asio::use_awaitable);
    const scope_executors& on = watch->executors();
    scope_result<T> result;
    lock held;
    error_code ec = watch->called_off();
    if (!ec) {
        std::tie(ec, held) =
            co_await acquire_within(engine, std::move(resources), options,
                                    bind_cancellation_slot(watch->acquire_slot(), as_tuple));
    }
    if (!ec) {
        ec = watch->called_off();  // too late for the acquire; it is dropped
    }
    if (ec) {
        result.end = ec == boost::asio::error::operation_aborted ? scope_end::cancelled
                                                                 : scope_end::not_acquired;
        result.error = ec;
        co_return result;
    }
    held.async_wait_lost(bind_cancellation_slot(
        watch->wait_slot(), boost::asio::bind_executor(on.own, scope_waiter(watch))));
    co_await boost::asio::co_spawn(
        on.body, run_body<T>(body, held, watch, result),
        bind_cancellation_slot(watch->body_slot(), boost::asio::use_awaitable));
    watch->on_body_ended();
    judge(result, *watch, !held || held.owns());
    if (held) {
        co_await release_within(engine, std::move(held), as_tuple);
    }
    co_await watch->async_end_wait(boost::asio::use_awaitable);
    co_return result;
}

template <class T>
struct scope_initiation {
    using executor_type = client::executor_type;

    engine_ptr engine;

    [[nodiscard]] executor_type get_executor() const noexcept
    {
        return operations::executor_of(engine);
    }

    template <class Handler, class Body>
    void operator()(Handler&& h, std::vector<std::string> resources, acquire_options options,
                    Body body)
    {
        if (!options.keep_alive) {
            options.keep_alive.emplace();
        }
        auto ex = boost::asio::get_associated_executor(h, get_executor());
        const auto alloc = boost::asio::get_associated_allocator(h);
        auto slot = boost::asio::get_associated_cancellation_slot(h);
        const auto watch = std::make_shared<scope_watch>(executors(ex));
        auto done = [handler = std::forward<Handler>(h), slot](std::exception_ptr thrown,
                                                               scope_result<T> result) mutable {
            if (slot.is_connected()) {
                slot.clear();
            }
            if (thrown) {  // no memory, for what is not the body's
                result.end = scope_end::failed;
                result.failure = std::move(thrown);
            }
            std::move(handler)(std::move(result));
        };
        if (slot.is_connected()) {
            slot.assign([watch](boost::asio::cancellation_type type) { cancel(watch, type); });
        }
        boost::asio::co_spawn(
            watch->executors().own,
            run_scope<T>(engine, watch, std::move(resources), options, std::move(body)),
            boost::asio::bind_executor(ex, boost::asio::bind_allocator(alloc, std::move(done))));
    }

private:
    /// The client's is on a strand by the user's arrangement, unless the client is `thread_safe`.
    template <class Executor>
    [[nodiscard]] scope_executors executors(const Executor& ex) const
    {
        const executor_type clients = get_executor();
        scope_executors on{clients, {}};
        if (operations::hops_of(engine) == hop::out) {
            on.own = boost::asio::make_strand(clients);
        }
        on.body = on.own;
        if constexpr (std::is_convertible_v<Executor, executor_type>) {
            if (const executor_type asked = ex; asked != clients) {
                on.body = boost::asio::make_strand(asked);
            }
        }
        return on;
    }
};

/// A body made of what begins it and a handle that ends it.
template <class Start>
struct started_body {
    using token = boost::asio::as_tuple_t<boost::asio::use_awaitable_t<>>;

    Start start;

    boost::asio::awaitable<void> operator()(lock& held)
    {
        // Outlives the coroutine, which may go with the handle: see held_scope::give_up.
        const auto thrown = std::make_shared<std::exception_ptr>();
        const auto ex = co_await boost::asio::this_coro::executor;
        const auto told = co_await boost::asio::this_coro::cancellation_state;
        // A handle that goes while `start` throws ends it with an error, too.
        const auto [ec] = co_await boost::asio::async_initiate<const token, void(error_code)>(
            [told](auto handler, boost::asio::any_io_executor on, started_body* self, lock* l,
                   std::shared_ptr<std::exception_ptr> thrown_here) {
                const auto failure = std::move(thrown_here);
                held_scope handle(std::move(on), std::move(handler), told, *l);
                try {
                    std::invoke(std::move(self->start), std::move(handle));
                } catch (...) {
                    *failure = std::current_exception();
                }
            },
            token{}, ex, this, &held, thrown);
        if (*thrown) {
            std::rethrow_exception(*thrown);
        }
        if (ec) {
            throw boost::system::system_error(ec, "the body of a lock");
        }
    }
};

}  // namespace redlock::detail
