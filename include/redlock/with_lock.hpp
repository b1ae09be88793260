#pragma once

#include <redlock/client.hpp>
#include <redlock/config.hpp>
#include <redlock/detail/scope.hpp>
#include <redlock/error.hpp>
#include <redlock/lock.hpp>
#include <redlock/resource_names.hpp>
#include <redlock/scope.hpp>

#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/deferred.hpp>

#include <concepts>
#include <type_traits>
#include <utility>

namespace redlock {

/**
 * Runs a coroutine under a lock of one resource or several, and keeps the lock alive. Acquires the
 * lock, runs `body`, and releases the lock, however the body ended. The result says how it ended.
 *
 * `body` is a callable that takes `redlock::lock&` and returns `boost::asio::awaitable<T>`. The
 * body and its captures live until the operation ends.
 *
 * The operation cancels the body through the body's cancellation slot, with `terminal`, in these
 * cases:
 * - The lock is lost. The body learns of it at the latest when the validity ends. A lock is also
 *   lost when it ends together with another hold of its reentrant owner.
 * - The client is closed, because no client then renews the lock.
 * - The operation is cancelled.
 *
 * If one of these happens before the body's first step, the body does not run. The operation waits
 * for a body that ignores the cancellation, however long that takes: nothing of the body runs after
 * the operation has ended. A lost lock is not renewed meanwhile, and another client may soon own
 * the resource. So ask `lock::owns()` right before each step that needs the lock.
 *
 * If `options.keep_alive` is empty, the operation keeps the lock alive without a limit. Set
 * `keep_alive::max_hold` to bound a body that may hang.
 *
 * Completion signature: `void(redlock::with_lock_result<T>)`.
 * Completes when: the acquire failed, or both the body and the release have ended.
 * Errors: in the result, for each value of `with_lock_result::status`:
 * - `not_acquired`: an error of `client::async_acquire`.
 * - `lost`: `lost` or `closed`.
 * - `cancelled`: `operation_aborted` or `not_enough_memory`.
 * - `completed` and `failed`: none.
 *
 * Cancellation: the operation passes terminal on to the acquire or to the body. Partial and total
 * do nothing, because a body that has begun cannot be undone. The release is not cancelled.
 * Executors: the body runs on the handler's associated executor, by default the client's. It runs
 * on a strand of that executor, except on the executor of a client without `config::thread_safe`.
 * All work for the lock runs on the client's executor. Without `config::thread_safe`, a body on
 * another executor, as with `use_future`, must not use the client. It may only call const functions
 * of the lock.
 * Lifetimes: the client may be destroyed before the end. Where the handler has another executor,
 * keep the client's context until its `run()` returns. A thread of that executor may still use the
 * context just after the completion.
 * Thread safety: as the client's.
 *
 * GCC 12 destroys by-value captures of a closure twice if the closure is created within a
 * `co_await` expression. So create a body that owns something in a statement before, and move it
 * in. A body that captures by reference may be written in place.
 */
template <detail::scope_body Body,
          boost::asio::completion_token_for<void(with_lock_result<detail::value_of_body<Body>>)>
              Token = boost::asio::deferred_t>
auto with_lock(client& locks, const resource_names& resources, acquire_options options, Body body,
               Token&& token = Token{})
{
    using value = detail::value_of_body<Body>;
    return boost::asio::async_initiate<Token, void(with_lock_result<value>)>(
        detail::scope_initiation<value>{detail::operations::engine_of(locks)}, token,
        resources.owned(), options, std::move(body));
}

/**
 * Runs code made of completion handlers, the body, under a lock that is kept alive. Once the lock
 * is acquired, the operation calls `start` with a `redlock::lock_scope`. `start` begins the work
 * under the lock and returns; `lock_scope::done` ends the body. If `start` throws, the exception is
 * the failure of the body.
 *
 * Completion signature: `void(redlock::with_lock_result<void>)`.
 * The rest is as for a coroutine. `lock_scope::slot` emits the cancellation.
 */
template <
    std::invocable<lock_scope> Start,
    boost::asio::completion_token_for<void(with_lock_result<void>)> Token = boost::asio::deferred_t>
auto with_lock(client& locks, const resource_names& resources, acquire_options options, Start start,
               Token&& token = Token{})
{
    return with_lock(locks, resources, options, detail::started_body<Start>(std::move(start)),
                     std::forward<Token>(token));
}

}  // namespace redlock
