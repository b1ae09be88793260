#pragma once

#include <redlock/client.hpp>
#include <redlock/config.hpp>
#include <redlock/detail/scope.hpp>
#include <redlock/error.hpp>
#include <redlock/lock.hpp>
#include <redlock/scope.hpp>

#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/deferred.hpp>

#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace redlock {

/**
 * Runs a coroutine under a lock, of one resource or several, that is kept alive: takes it, runs
 * `body`, gives the lock back whatever became of the body, and says how it went.
 *
 * `body` is a callable that takes `redlock::lock&` and returns `boost::asio::awaitable<T>`. It is
 * destroyed with the operation, and what it captures lives as long. If the lock is lost the body is
 * cancelled by its cancellation slot, with `terminal`, at the latest when the validity ends; so it
 * is when the lock goes with another hold of its owner, which is `lost` too, when the client is
 * closed, as then nobody keeps the lock, and when the operation is cancelled. If any of that
 * happens before its first step, it does not begin.
 * A body that does not heed it is waited for, however long that takes: nothing of it runs behind
 * the end of the operation. The lock is not renewed in that time, and is somebody else's soon: as
 * ever, a step that must not be made without it asks `lock::owns()` first.
 *
 * `options.keep_alive` is set if it is empty. A body that may hang is bounded by its `max_hold`.
 *
 * Completion signature: `void(redlock::scope_result<T>)`.
 * Completes when: the lock was not had, or the body has ended and the release too.
 * Errors, in the result: for `not_acquired` those of `client::async_acquire`; for `lost`, `lost` or
 * `closed`; for `cancelled`, `operation_aborted` or `not_enough_memory`; for `failed` and
 * `completed` none.
 * Cancellation: terminal is passed on: to the acquire, or to the body. Partial and total do
 * nothing, as a body that has begun cannot be undone. The release is not cancelled.
 * Executors: the body runs on the handler's associated executor, by default the client's; on a
 * strand of it, unless it is the executor of a client without `config::thread_safe`. What is done
 * for the lock is done on the client's executor. A body on another one, as `use_future` has it,
 * must do nothing with the client or the lock but ask the lock, unless there is
 * `config::thread_safe`.
 * Lifetimes: the client may be destroyed before the end. Where the handler has another executor,
 * keep the client's context until its `run()` returns: a thread of that executor may still use the
 * context just after the completion.
 * Thread safety: as the client's.
 *
 * GCC 12 destroys twice what a closure captures by value that is made within a co_await. A body
 * that owns something is made in a statement before, and moved in; one that captures by reference
 * may stand where it is used.
 */
template <detail::scope_body Body,
          boost::asio::completion_token_for<void(scope_result<detail::value_of_body<Body>>)> Token =
              boost::asio::deferred_t>
auto with_lock(client& locks, std::vector<std::string> resources, acquire_options options,
               Body body, Token&& token = Token{})
{
    using value = detail::value_of_body<Body>;
    return boost::asio::async_initiate<Token, void(scope_result<value>)>(
        detail::scope_initiation<value>{detail::operations::engine_of(locks)}, token,
        std::move(resources), options, std::move(body));
}

/// The same, of resources that are written out.
template <detail::scope_body Body,
          boost::asio::completion_token_for<void(scope_result<detail::value_of_body<Body>>)> Token =
              boost::asio::deferred_t>
auto with_lock(client& locks, std::initializer_list<std::string_view> resources,
               acquire_options options, Body body, Token&& token = Token{})
{
    return with_lock(locks, std::vector<std::string>(resources.begin(), resources.end()), options,
                     std::move(body), std::forward<Token>(token));
}

/// The same under a lock of one resource.
template <detail::scope_body Body,
          boost::asio::completion_token_for<void(scope_result<detail::value_of_body<Body>>)> Token =
              boost::asio::deferred_t>
auto with_lock(client& locks, std::string_view resource, acquire_options options, Body body,
               Token&& token = Token{})
{
    return with_lock(locks, std::vector{std::string(resource)}, options, std::move(body),
                     std::forward<Token>(token));
}

/**
 * The same for code that works with completion handlers: `start` is called with a
 * `redlock::held_scope` once the lock is had, begins what is to be done under the lock, and
 * returns. It ends with `held_scope::done`. What `start` throws is the failure of the body.
 *
 * Completion signature: `void(redlock::scope_result<void>)`.
 */
template <
    std::invocable<held_scope> Start,
    boost::asio::completion_token_for<void(scope_result<void>)> Token = boost::asio::deferred_t>
auto with_lock(client& locks, std::vector<std::string> resources, acquire_options options,
               Start start, Token&& token = Token{})
{
    return with_lock(locks, std::move(resources), options,
                     detail::started_body<Start>(std::move(start)), std::forward<Token>(token));
}

/// The same, of resources that are written out.
template <
    std::invocable<held_scope> Start,
    boost::asio::completion_token_for<void(scope_result<void>)> Token = boost::asio::deferred_t>
auto with_lock(client& locks, std::initializer_list<std::string_view> resources,
               acquire_options options, Start start, Token&& token = Token{})
{
    return with_lock(locks, std::vector<std::string>(resources.begin(), resources.end()), options,
                     std::move(start), std::forward<Token>(token));
}

/// The same under a lock of one resource.
template <
    std::invocable<held_scope> Start,
    boost::asio::completion_token_for<void(scope_result<void>)> Token = boost::asio::deferred_t>
auto with_lock(client& locks, std::string_view resource, acquire_options options, Start start,
               Token&& token = Token{})
{
    return with_lock(locks, std::vector{std::string(resource)}, options, std::move(start),
                     std::forward<Token>(token));
}

}  // namespace redlock
