#pragma once

#include <redlock/client.hpp>
#include <redlock/config.hpp>
#include <redlock/error.hpp>
#include <redlock/lock.hpp>
#include <redlock/scope.hpp>

#include <boost/asio/any_completion_handler.hpp>
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
#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

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

    void on_end(error_code why)
    {
        is_waiting_ = false;
        if (after_wait_) {
            boost::asio::post(on_.own, std::move(after_wait_));
            return;
        }
        if (why == errc::not_held) {
            return;  // given away by the body itself, or released behind its end
        }
        if (why == errc::lost || why == errc::closed) {
            lost_ = why;
            stop_body();
        } else {
            call_off(why);  // nobody could tell of a loss
        }
    }

    void call_off(error_code why)
    {
        called_off_ = why;
        stop_acquire_.emit(boost::asio::cancellation_type::terminal);
        stop_body();
    }

    /// Ends the wait for a loss, unless the release has, and completes behind it: nothing runs
    /// behind the end of the scope.
    template <class Token>
    auto async_end_wait(Token&& token)
    {
        return boost::asio::async_initiate<Token, void()>(
            [this](auto&& handler) {
                after_wait_ = std::forward<decltype(handler)>(handler);
                if (is_waiting_) {
                    stop_wait_.emit(boost::asio::cancellation_type::terminal);
                } else {
                    boost::asio::post(on_.own, std::move(after_wait_));
                }
            },
            token);
    }

    /// On the body's executor. False: it is not to begin.
    [[nodiscard]] bool begin_body() noexcept { return is_running_ = !is_stopped_; }
    void end_body() noexcept { is_running_ = false; }

private:
    /// Nothing is emitted outside of the body: what is cancelled before its first step, or before
    /// it ends without having waited for anything, co_spawn throws into the loop and never
    /// completes.
    void stop_body()
    {
        boost::asio::dispatch(on_.body, [self = shared_from_this()] {
            self->is_stopped_ = true;
            if (self->is_running_) {
                self->stop_body_.emit(boost::asio::cancellation_type::terminal);
            }
        });
    }

    const scope_executors on_;
    // These are the scope's own.
    error_code lost_;
    error_code called_off_;
    boost::asio::cancellation_signal stop_acquire_;
    boost::asio::cancellation_signal stop_wait_;
    boost::asio::any_completion_handler<void()> after_wait_;
    bool is_waiting_ = true;

    // These are the body's.
    boost::asio::cancellation_signal stop_body_;
    bool is_stopped_ = false;
    bool is_running_ = false;
};

/// On the body's executor.
template <class T, class Body>
boost::asio::awaitable<void> run_body(Body& body, lock& held, scope_watch& watch,
                                      scope_result<T>& result)
{
    namespace this_coro = boost::asio::this_coro;
    try {
        if (!watch.begin_body()) {
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
    watch.end_body();
    co_await this_coro::reset_cancellation_state(boost::asio::disable_cancellation());
}

/// Once the body has ended.
inline void judge(scope_ending& result, const scope_watch& watch, bool still_owns)
{
    if (watch.lost() || !still_owns) {
        result.end = scope_end::lost;
        result.error = watch.lost() ? watch.lost() : make_error_code(errc::lost);
    } else if (result.end != scope_end::completed && watch.called_off()) {
        result.end = scope_end::cancelled;
        result.error = watch.called_off();
    }
}

template <class T, class Body>
boost::asio::awaitable<scope_result<T>> run_scope(scope_access::engine_ptr engine,
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
            co_await scope_access::acquire(engine, std::move(resources), options,
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
        watch->wait_slot(),
        boost::asio::bind_executor(on.own, [watch](error_code why) { watch->on_end(why); })));
    co_await boost::asio::co_spawn(
        on.body, run_body<T>(body, held, *watch, result),
        bind_cancellation_slot(watch->body_slot(), boost::asio::use_awaitable));
    judge(result, *watch, !held || held.owns());
    if (held) {
        co_await scope_access::release(engine, std::move(held), as_tuple);
    }
    co_await watch->async_end_wait(boost::asio::use_awaitable);
    co_return result;
}

template <class T>
struct scope_initiation {
    using executor_type = client::executor_type;

    scope_access::engine_ptr engine;

    [[nodiscard]] executor_type get_executor() const noexcept
    {
        return scope_access::executor_of(engine);
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
    static void cancel(const std::shared_ptr<scope_watch>& watch,
                       boost::asio::cancellation_type type)
    {
        if ((type & boost::asio::cancellation_type::terminal) ==
            boost::asio::cancellation_type::none) {
            return;
        }
        boost::asio::dispatch(watch->executors().own,
                              [watch] { watch->call_off(boost::asio::error::operation_aborted); });
    }

    /// The client's is on a strand by the user's arrangement, unless the client is `thread_safe`.
    template <class Executor>
    [[nodiscard]] scope_executors executors(const Executor& ex) const
    {
        const executor_type clients = get_executor();
        scope_executors on{clients, {}};
        if (scope_access::is_thread_safe(engine)) {
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
        std::exception_ptr thrown;
        const auto ex = co_await boost::asio::this_coro::executor;
        const auto told = co_await boost::asio::this_coro::cancellation_state;
        // A handle that goes while `start` throws ends it with an error, too.
        const auto [ec] = co_await boost::asio::async_initiate<const token, void(error_code)>(
            [told](auto handler, boost::asio::any_io_executor on, started_body* self, lock* l,
                   std::exception_ptr* failure) {
                try {
                    std::invoke(std::move(self->start),
                                held_scope(std::move(on), std::move(handler), told, *l));
                } catch (...) {
                    *failure = std::current_exception();
                }
            },
            token{}, ex, this, &held, &thrown);
        if (thrown) {
            std::rethrow_exception(thrown);
        }
        if (ec) {
            throw boost::system::system_error(ec, "the body of a lock");
        }
    }
};

}  // namespace redlock::detail
