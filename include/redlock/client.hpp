#pragma once

#include <redlock/config.hpp>
#include <redlock/detail/completion.hpp>
#include <redlock/detail/export.hpp>
#include <redlock/detail/operations.hpp>
#include <redlock/error.hpp>
#include <redlock/lock.hpp>
#include <redlock/resource_names.hpp>
#include <redlock/result.hpp>
#include <redlock/stats.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/execution_context.hpp>

#include <chrono>
#include <concepts>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace redlock {

/**
 * Client that acquires, extends and releases locks on a majority of independent Redis-protocol
 * nodes. The client follows the Redlock algorithm
 * (https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/). One connection to
 * each node carries all operations.
 *
 * `async_run` makes and keeps the connections. Operations may begin before that.
 *
 * Completion tokens: any. The default is `boost::asio::deferred`. A handler runs on its associated
 * executor, by default the client's. The client uses the handler's associated allocator and
 * cancellation slot.
 *
 * Thread safety: distinct clients are safe. Use one client and its locks from one implicit or
 * explicit strand only, as any I/O object of Asio. The executor given to the constructor must be
 * that strand. With `config::thread_safe` the client makes its own strand, and any thread may call
 * the client and its locks.
 *
 * Lifetimes: these rules hold for arguments, clients and locks:
 * - An operation reads its texts and single names when it begins, and they need not live
 *   longer. With `deferred` and `use_awaitable` it begins when it is awaited.
 * - A client may be destroyed at any time, also from within a handler. Its operations then end with
 *   `errc::closed`. The client hands queued releases to the sockets and does not wait for them.
 *   `async_close` does wait.
 * - Locks may outlive their client and their execution context. They then expire.
 */
class client {
public:
    /// Executor type of the client and of the completion of its operations.
    using executor_type = boost::asio::any_io_executor;

    /// Makes a client on an executor.
    /// @throws boost::system::system_error with `errc::invalid_config`. The text names the refused
    /// field of `c`.
    REDLOCK_API client(executor_type ex, const config& c);

    /// Makes a client on the executor of an execution context. Only one thread may run the context,
    /// unless `config::thread_safe` is set.
    /// @throws boost::system::system_error as the other constructor does.
    template <std::derived_from<boost::asio::execution_context> ExecutionContext>
    client(ExecutionContext& context, const config& c)
        : client(executor_type(context.get_executor()), c)
    {}

    /// Moves a client with its operations and locks. The client that was moved from can only be
    /// assigned to and destroyed.
    client(client&&) noexcept = default;
    /// Ends this client, as its destructor does, and then moves the other client here.
    client& operator=(client&& other) noexcept
    {
        if (this != &other) {
            shut_down();
            driver_ = std::move(other.driver_);
        }
        return *this;
    }
    client(const client&) = delete;
    client& operator=(const client&) = delete;
    /// Ends all operations with `errc::closed`. The client hands queued releases to the sockets.
    ~client() { shut_down(); }

    /// Returns the executor that the constructor was given.
    [[nodiscard]] REDLOCK_API executor_type get_executor() const noexcept;

    /// Returns a snapshot of the counters. With `config::thread_safe` the snapshot was taken when
    /// the client last finished processing events.
    [[nodiscard]] REDLOCK_API redlock::stats stats() const;

    /**
     * Connects to the nodes, and connects again when a connection is lost, until the client is
     * closed or destroyed.
     *
     * Completion signature: `void(redlock::error_code)`.
     * Completes when: the client is closed or destroyed, or the run is cancelled.
     * Errors: none after `async_close`; otherwise one of these:
     * - `errc::closed`: the client is closed already, or is destroyed
     * - `boost::asio::error::already_started`: the client runs already
     * - `operation_aborted`: the run was cancelled
     *
     * Cancellation: terminal and partial close the client at once, as `async_close` without a wait.
     * Every operation ends with `errc::closed`.
     */
    template <boost::asio::completion_token_for<void(error_code)> Token = boost::asio::deferred_t>
    auto async_run(Token&& token = Token{})
    {
        return detail::initiate<void(error_code), detail::unpack_nothing>(
            driver_, token, [](auto& d, auto* c, auto& t) { detail::operations::run(d, c, t); });
    }

    /**
     * Acquires a lock of one resource or several. The client makes up to
     * `acquire_options::max_attempts` attempts, until one wins or the deadline passes. An attempt
     * is one round of `SET key token NX PX ttl` to the nodes. The first answer that makes the
     * outcome certain decides the attempt. After a refused attempt the acquire waits for a
     * notification that the lock is free, or for a back-off. See `config::release_notifications`.
     *
     * Acquires of one client for one resource form a wait queue. The first asks the nodes. The next
     * one asks once the lock of the first has ended, at the latest when its validity ends. An
     * acquire with only one attempt, or of several resources, does not wait in a queue.
     *
     * For several resources, `async_acquire({"from", "to"}, options)`, one script sets all of their
     * keys on a node, or none. The resources share one owner token and one validity. An extend and
     * a release act on all of them. Each resource has a fencing token that is greater than all its
     * tokens before. The tokens of one lock are equal. The order of the resources does not matter.
     * The `report` names the resource that another lock held. GCC 12 refuses a list in braces
     * within a `co_await` expression. Put the names into a variable there.
     *
     * Completion signature: `void(redlock::error_code, redlock::lock)`.
     * Completes when: a majority has granted the key with validity left, or the client makes no
     * further attempt.
     * Errors: one of these, with an empty lock:
     * - `contended`, `unavailable`, `expired`: the outcome of the last attempt, if no further one
     *   was allowed
     * - `unavailable`: also after `acquire_options::max_outage`, or if the nodes that accept user,
     *   password and database are too few for a majority
     * - `timed_out`, `closed`, `overloaded`, `too_many_waiters`, `no_entropy`
     * - `invalid_resource`: a name is not valid; or the list is empty, has more than
     *   `max_resources` names, or its names together are longer than `max_resource_size`
     * - `duplicate_resource`: a resource is named twice
     * - `invalid_ttl`, `invalid_timeout`, `invalid_max_attempts`, `invalid_max_outage`,
     *   `invalid_min_validity`, `invalid_max_hold`, `invalid_label`
     * - `operation_aborted`, `not_enough_memory`
     * - for a reentrant owner that already holds a resource: `lost`, `no_fencing_token`,
     *   `held_in_part`; `unavailable`, `expired` or `timed_out` if an extend was needed and failed
     *
     * Cancellation: terminal and partial complete at once. The client sends compensating releases
     * in the background. Total takes effect only before the client has sent anything.
     */
    template <
        boost::asio::completion_token_for<void(error_code, lock)> Token = boost::asio::deferred_t>
    auto async_acquire(resource_names resources, acquire_options options, Token&& token = Token{})
    {
        return detail::initiate<void(error_code, lock), detail::unpack_lock>(
            driver_, token,
            [names = std::move(resources), options](auto& d, auto* c, auto& t) {
                detail::operations::acquire(d, names, options, c, t);
            },
            detail::cancels_total);
    }

    /// Acquires a lock with default options.
    template <
        boost::asio::completion_token_for<void(error_code, lock)> Token = boost::asio::deferred_t>
    auto async_acquire(resource_names resources, Token&& token = Token{})
    {
        return detail::initiate<void(error_code, lock), detail::unpack_lock>(
            driver_, token,
            [names = std::move(resources)](auto& d, auto* c, auto& t) {
                detail::operations::acquire(d, names, c, t);
            },
            detail::cancels_total);
    }

    /**
     * Adopts a lease that `lock::detach` separated from another lock object, in this or another
     * process. The client extends the lease under `owner_token`, and holds the lease if that
     * succeeds. An adopt never sets a key.
     *
     * The lock has no fencing token and is not kept alive, even if the first lock was. It ends with
     * `ttl` unless you extend it in time. Adopt a lease only once: two locks of one lease do not
     * know of each other, and either one releases it. Name all resources of the lock: the client
     * neither extends nor releases a resource that you leave out.
     *
     * Completion signature: `void(redlock::error_code, redlock::lock)`.
     * Completes when: the outcome is certain, or after one `node_timeout`.
     * Errors: one of these:
     * - `lost`: a majority does not have the key with that token
     * - `unavailable`: too few nodes answered
     * - `closed`, `overloaded`, `invalid_resource`, `duplicate_resource`, `invalid_ttl`,
     *   `invalid_owner_token`, `operation_aborted`, `not_enough_memory`
     *
     * Cancellation: terminal and partial complete at once, and the client leaves the keys as they
     * are. Total takes effect only before anything was sent.
     */
    template <
        boost::asio::completion_token_for<void(error_code, lock)> Token = boost::asio::deferred_t>
    auto async_adopt(resource_names resources, std::string_view owner_token,
                     std::chrono::milliseconds ttl, extend_options options, Token&& token = Token{})
    {
        return detail::initiate<void(error_code, lock), detail::unpack_lock>(
            driver_, token,
            [names = std::move(resources), owner_token, ttl, options](auto& d, auto* c, auto& t) {
                detail::operations::adopt(d, names, owner_token, ttl, options, c, t);
            },
            detail::cancels_total);
    }

    /// Adopts a lease with default options.
    template <
        boost::asio::completion_token_for<void(error_code, lock)> Token = boost::asio::deferred_t>
    auto async_adopt(resource_names resources, std::string_view owner_token,
                     std::chrono::milliseconds ttl, Token&& token = Token{})
    {
        return async_adopt(std::move(resources), owner_token, ttl, extend_options{},
                           std::forward<Token>(token));
    }

    /**
     * Extends a held lease, so that it lives at least `ttl` from now. The client extends the keys
     * that still hold the owner token, and never sets a key again. An extend never shortens a
     * lease.
     *
     * Completion signature: `void(redlock::error_code)`.
     * Completes when: the outcome is certain, or after one `node_timeout`.
     * Errors: none if the lease was extended and `l.valid_until()` has moved; otherwise one of
     * these:
     * - `lost`: a majority no longer has the key, or the validity had passed before; final
     * - `unavailable`: too few nodes answered to know the outcome; the validity known before still
     *   holds, and another extend may succeed
     * - `not_held`, `invalid_ttl`, `invalid_owner_token`, `closed`, `overloaded`,
     *   `operation_aborted`, `not_enough_memory`
     *
     * Cancellation: terminal and partial complete at once, and the known validity still holds.
     * Total takes effect only before anything was sent.
     *
     * Lifetimes: the client reads `l` when the operation begins. The lock may be moved or destroyed
     * before the operation ends.
     */
    template <boost::asio::completion_token_for<void(error_code)> Token = boost::asio::deferred_t>
    auto async_extend(lock& l, std::chrono::milliseconds ttl, extend_options options,
                      Token&& token = Token{})
    {
        return detail::initiate<void(error_code), detail::unpack_nothing>(
            driver_, token,
            [&l, ttl, options](auto& d, auto* c, auto& t) {
                detail::operations::extend(d, l, ttl, options, c, t);
            },
            detail::cancels_total);
    }

    /// Extends a held lease with default options.
    template <boost::asio::completion_token_for<void(error_code)> Token = boost::asio::deferred_t>
    auto async_extend(lock& l, std::chrono::milliseconds ttl, Token&& token = Token{})
    {
        return async_extend(l, ttl, extend_options{}, std::forward<Token>(token));
    }

    /**
     * Releases a lock on all nodes. The lock is no longer valid once the release has begun. A node
     * that the client cannot reach gets the release when the node is back. If this is one of
     * several holds of a reentrant owner, only this hold ends, and the client asks no node.
     *
     * Completion signature: `void(redlock::error_code, redlock::release_result)`.
     * Completes when: the result is certain, or after one `node_timeout`.
     * Errors: none, or one of these. An expired lease is a result and no error.
     * - `unavailable`: too few nodes answered to know the result
     * - `not_held`: the lock was empty
     * - `invalid_owner_token`, `closed`, `operation_aborted`, `not_enough_memory`
     *
     * Cancellation: terminal and partial end the wait. The client sends the release nevertheless.
     * Total does nothing.
     */
    template <boost::asio::completion_token_for<void(error_code, release_result)> Token =
                  boost::asio::deferred_t>
    auto async_release(lock l, release_options options, Token&& token = Token{})
    {
        // A deferred operation must be able to copy the function, so the lock is an argument of its
        // own.
        return detail::initiate<void(error_code, release_result), detail::unpack_release>(
            driver_, token,
            [options](auto& d, auto* c, auto& t, lock given) {
                detail::operations::release(d, std::move(given), options, c, t);
            },
            detail::cancels_started, std::move(l));
    }

    /// Releases a lock with default options.
    template <boost::asio::completion_token_for<void(error_code, release_result)> Token =
                  boost::asio::deferred_t>
    auto async_release(lock l, Token&& token = Token{})
    {
        return async_release(std::move(l), release_options{}, std::forward<Token>(token));
    }

    /**
     * Asks a majority who holds a resource, and for how long.
     *
     * Completion signature: `void(redlock::error_code, redlock::inspection)`.
     * Completes when: the answer is certain, or after one `node_timeout`. With `every_node`: once
     * each node has answered or failed, which takes at most one `node_timeout`. If too few nodes
     * answered, the inspection has `lock_state::unknown`.
     * Errors: `invalid_resource`, `invalid_owner_token`, `closed`, `overloaded`,
     * `operation_aborted`, `not_enough_memory`.
     * Cancellation: terminal, partial and total complete at once.
     */
    template <boost::asio::completion_token_for<void(error_code, inspection)> Token =
                  boost::asio::deferred_t>
    auto async_inspect(std::string_view resource, inspect_options options, Token&& token = Token{})
    {
        return detail::initiate<void(error_code, inspection), detail::unpack_inspection>(
            driver_, token,
            [resource, options](auto& d, auto* c, auto& t) {
                detail::operations::inspect(d, resource, options, c, t);
            },
            detail::cancels_total);
    }

    /// Inspects a resource with default options.
    template <boost::asio::completion_token_for<void(error_code, inspection)> Token =
                  boost::asio::deferred_t>
    auto async_inspect(std::string_view resource, Token&& token = Token{})
    {
        return async_inspect(resource, inspect_options{}, std::forward<Token>(token));
    }

    /**
     * Closes the client. The client begins no further operation, and ends every operation except
     * releases with `errc::closed`. It waits at most `config::close_timeout` for releases that are
     * still going out, and then closes the connections. Locks that are still held expire.
     *
     * Completion signature: `void(redlock::error_code)`.
     * Completes when: all connections are closed. Any number of callers may wait for that.
     * Errors: none, or one of these:
     * - `operation_aborted`: the caller cancelled this close
     * - `errc::closed`: the client was destroyed in the meantime
     *
     * Cancellation: terminal and partial close the client at once. For other callers that wait, the
     * close then completes without an error.
     */
    template <boost::asio::completion_token_for<void(error_code)> Token = boost::asio::deferred_t>
    auto async_close(Token&& token = Token{})
    {
        return detail::initiate<void(error_code), detail::unpack_nothing>(
            driver_, token, [](auto& d, auto* c, auto& t) { detail::operations::close(d, c, t); });
    }

private:
    friend struct detail::operations;

    REDLOCK_API void shut_down() noexcept;

    std::shared_ptr<engine::driver> driver_;
};

/// @cond
inline detail::engine_ptr detail::operations::engine_of(const client& c) noexcept
{
    return c.driver_;
}
/// @endcond

template <boost::asio::completion_token_for<void(error_code)> Token>
auto lock::async_wait_lost(Token&& token)
{
    return detail::initiate<void(error_code), detail::unpack_nothing>(
        held_.driver(), token,
        [this](auto& d, auto* c, auto& t) { detail::operations::wait_lost(d, *this, c, t); },
        detail::cancels_total);
}

}  // namespace redlock
