#include <redlock/with_lock.hpp>

#include "base/kept_options.hpp"
#include "engine/completion_queue.hpp"
#include "scope/watch.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <exception>
#include <memory>
#include <tuple>
#include <utility>

namespace redlock::detail {
namespace {

using boost::asio::awaitable;
using boost::asio::bind_cancellation_slot;
using executor_type = operations::executor_type;
namespace this_coro = boost::asio::this_coro;

constexpr auto as_tuple = boost::asio::as_tuple(boost::asio::use_awaitable);

/// Runs the body, on the body's executor.
awaitable<void> run_body(scope_task& task, lock& held, watch_ptr watch)
{
    scope_ending& ending = task.ending();
    try {
        const scope::body_run run(std::move(watch), held);
        if (run.may_begin()) {
            co_await task.run(held);
            ending.status = with_lock_status::completed;
        } else {
            ending.status = with_lock_status::cancelled;
        }
    } catch (...) {
        ending.status = with_lock_status::failed;
        ending.failure = std::current_exception();
    }
    co_await this_coro::reset_cancellation_state(boost::asio::disable_cancellation());
}

// Operations on a client that the scope may outlive.

template <class Token>
auto acquire_within(const engine_ptr& d, resource_names resources, acquire_options o, Token token)
{
    return initiate<void(error_code, lock), unpack_lock>(
        d, token,
        [names = std::move(resources), o](engine_ptr& e, completion* c, const ticket_ptr& t) {
            operations::acquire(e, names, o, c, t);
        },
        cancels_total);
}

auto release_within(const engine_ptr& d, lock l)
{
    return initiate<void(error_code, release_result), unpack_release>(
        d, as_tuple,
        [](engine_ptr& e, completion* c, const ticket_ptr& t, lock given) {
            operations::release(e, std::move(given), {}, c, t);
        },
        cancels_started, std::move(l));
}

auto end_wait_of(scope::watch& watch)
{
    return boost::asio::async_initiate<const boost::asio::use_awaitable_t<>, void()>(
        [&watch](auto handler) {
            using boxed = boxed_handler<decltype(handler), unpack_none>;
            watch.end_wait(boxed::make(std::move(handler), watch.on().own, hop::out));
        },
        boost::asio::use_awaitable);
}

awaitable<void> run_scope(engine_ptr engine, watch_ptr watch, resource_names resources,
                          base::kept_options options, scope_task& task)
{
    const scope::executors& on = watch->on();
    scope_ending& ending = task.ending();
    lock held;
    error_code ec = watch->called_off();
    if (!ec) {
        std::tie(ec, held) =
            co_await acquire_within(engine, std::move(resources), options.options(),
                                    bind_cancellation_slot(watch->acquire_slot(), as_tuple));
    }
    if (!ec) {
        // The cancellation came too late for the acquire, so the lock is dropped.
        ec = watch->called_off();
    }
    if (ec) {
        ending.status = ec == boost::asio::error::operation_aborted
                            ? with_lock_status::cancelled
                            : with_lock_status::not_acquired;
        ending.error = ec;
        co_return;
    }
    held.async_wait_lost(bind_cancellation_slot(
        watch->wait_slot(), boost::asio::bind_executor(on.own, scope::waiter(watch))));
    co_await boost::asio::co_spawn(
        on.body, run_body(task, held, watch),
        bind_cancellation_slot(watch->body_slot(), boost::asio::use_awaitable));
    watch->on_body_ended();
    scope::judge(ending, *watch, !held || held.owns());
    if (held) {
        co_await release_within(engine, std::move(held));
    }
    co_await end_wait_of(*watch);
}

/// The executors for a scope. The user serialises the client's executor, unless the client is
/// `thread_safe`.
scope::executors executors_of(const engine_ptr& engine, const executor_type& asked)
{
    const executor_type clients = operations::executor_of(engine);
    scope::executors on{clients, {}};
    if (operations::hops_of(engine) == hop::out) {
        on.own = boost::asio::make_strand(clients);
    }
    on.body = on.own;
    if (asked != clients) {
        on.body = boost::asio::make_strand(asked);
    }
    return on;
}

}  // namespace

watch_ptr new_watch(const engine_ptr& engine, const executor_type& asked)
{
    return std::make_shared<scope::watch>(executors_of(engine, asked));
}

void scope_canceller::operator()(boost::asio::cancellation_type type) const
{
    scope::cancel(watch, type);
}

void cancellable_by(boost::asio::cancellation_slot& slot, const watch_ptr& watch)
{
    cancellable_by<boost::asio::cancellation_slot>(slot, watch);
}

void begin_scope(const engine_ptr& engine, const watch_ptr& watch, resource_names resources,
                 acquire_options options, scope_task& task, completion* done)
{
    engine::completion_ptr told(done);
    if (!options.keep_alive) {
        options.keep_alive.emplace();
    }
    boost::asio::co_spawn(
        watch->on().own,
        run_scope(engine, watch, std::move(resources), base::kept_options(options), task),
        [told = std::move(told), &task](std::exception_ptr thrown) mutable {
            if (thrown) {  // no memory for the scope itself
                task.ending().status = with_lock_status::failed;
                task.ending().error = {};
                task.ending().failure = std::move(thrown);
            }
            told.release()->complete({});
        });
}

awaitable<void> run_started(scope_start& start, lock& held)
{
    // A shared pointer, because destroying the handle may destroy the coroutine: see
    // lock_scope::give_up.
    const auto thrown = std::make_shared<std::exception_ptr>();
    const auto ex = co_await this_coro::executor;
    const auto cancellation = co_await this_coro::cancellation_state;
    // If `begin` destroys the handle, that also completes with an error.
    const auto [ec] = co_await boost::asio::async_initiate<decltype(as_tuple), void(error_code)>(
        [cancellation](auto handler, executor_type on, scope_start* begins, lock* l,
                       std::shared_ptr<std::exception_ptr> thrown_here) {
            const auto failure = std::move(thrown_here);
            lock_scope handle(std::move(on), std::move(handler), cancellation, *l);
            try {
                begins->begin(std::move(handle));
            } catch (...) {
                *failure = std::current_exception();
            }
        },
        as_tuple, ex, &start, &held, thrown);
    if (*thrown) {
        std::rethrow_exception(*thrown);
    }
    if (ec) {
        throw boost::system::system_error(ec, "the function under the lock");
    }
}

}  // namespace redlock::detail
