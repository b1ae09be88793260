#pragma once

#include <redlock/config.hpp>
#include <redlock/detail/completion.hpp>
#include <redlock/detail/export.hpp>
#include <redlock/detail/operations.hpp>
#include <redlock/error.hpp>
#include <redlock/lock.hpp>
#include <redlock/result.hpp>
#include <redlock/stats.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/execution_context.hpp>

#include <chrono>
#include <concepts>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock {

/**
 * Takes, extends and gives back locks held by a majority of independent Redis-protocol masters, by
 * the Redlock algorithm (https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/).
 * One connection to each node carries all operations.
 *
 * `async_run` keeps the connections; operations may be begun before it has made them.
 *
 * Completion tokens: any; the default is `boost::asio::deferred`. Handlers run through their
 * associated executor, by default the client's; their associated allocator and cancellation slot
 * are used.
 *
 * Thread safety: distinct clients, safe. One client and its locks: as any I/O object of Asio, only
 * from one implicit or explicit strand, which the executor given to the constructor must be; with
 * `config::thread_safe` the client makes its own strand and may be called from any thread.
 *
 * Lifetimes: `std::string_view` arguments are read when an operation is begun, which for `deferred`
 * and `use_awaitable` is when it is awaited; they need not live longer. A client may be destroyed
 * at any time, from within a handler as well: its operations end with `errc::closed`, and releases
 * that are queued are handed to the sockets, but not waited for; `async_close` does that. Locks may
 * outlive their client and their execution context; they then expire.
 */
class client {
public:
    /// What the client and the completion of its operations run on.
    using executor_type = boost::asio::any_io_executor;

    /// @throws boost::system::system_error with `errc::invalid_config`, its text naming the field
    /// of `c` that is refused.
    REDLOCK_API client(executor_type ex, const config& c);

    /// The same on the executor of a context, which one thread runs unless there is
    /// `config::thread_safe`.
    template <std::derived_from<boost::asio::execution_context> ExecutionContext>
    client(ExecutionContext& context, const config& c)
        : client(executor_type(context.get_executor()), c)
    {}

    /// Operations and locks go along. What was moved from can be assigned to and destroyed, and
    /// nothing else.
    client(client&&) noexcept = default;
    /// Ends what this one was, as its destructor does.
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
    /// All operations end with `errc::closed`; releases that are queued are handed to the sockets.
    ~client() { shut_down(); }

    /// The one given to the constructor.
    [[nodiscard]] REDLOCK_API executor_type get_executor() const noexcept;

    /// The counters as they stand; with `config::thread_safe` as they stood at the end of the
    /// last turn.
    [[nodiscard]] REDLOCK_API redlock::stats stats() const;

    /**
     * Connects to the nodes, and connects again whenever a connection is lost, until the client is
     * closed or destroyed.
     *
     * Completion signature: `void(redlock::error_code)`.
     * Completes when: the client was closed, destroyed, or the run was cancelled.
     * Errors: none after `async_close`; `errc::closed` when the client is closed already, or is
     * destroyed; `boost::asio::error::already_started` when it runs already; `operation_aborted`
     * when cancelled.
     * Cancellation: terminal and partial close the client at once, as `async_close` without a wait;
     * every operation ends with `errc::closed`.
     */
    template <boost::asio::completion_token_for<void(error_code)> Token = boost::asio::deferred_t>
    auto async_run(Token&& token = Token{})
    {
        return detail::initiate<void(error_code), detail::unpack_nothing>(
            driver_, token, [](auto& d, auto* c, auto& t) { detail::operations::run(d, c, t); });
    }

    /**
     * Takes a lock: up to `acquire_options::attempts` rounds of `SET key token NX PX ttl` to all
     * nodes, each decided at its deciding answer, until one is won or the deadline has passed. One
     * that was refused waits to be told by a server that the lock is free, or for a while, before
     * it begins the next round; see `config::wake_ups`.
     *
     * Acquires of one client for one resource stand in line: the first asks the nodes, and the next
     * one as soon as that one's lock has ended, at the latest when its validity does. One that may
     * make one attempt only, or is of several resources, does not wait for others.
     *
     * Completion signature: `void(redlock::error_code, redlock::lock)`.
     * Completes when: a majority granted the key with validity left, or no further attempt is to be
     * made.
     * Errors: `contended`, `unavailable`, `expired` for the last attempt when no further one was
     * allowed; `unavailable` also by `acquire_options::max_outage`, or if a majority of the nodes
     * refuses user or password; `timed_out`; `closed`; `overloaded`; `too_many_waiters`;
     * `no_entropy`; `invalid_resource`, `invalid_ttl`, `invalid_deadline`, `invalid_attempts`,
     * `invalid_max_outage`, `invalid_min_validity`, `invalid_max_hold`, `invalid_label`;
     * `operation_aborted`; `not_enough_memory`. With an owner that has the lock already: `lost`;
     * `unavailable`, `expired` or `timed_out` if it had to be extended and was not;
     * `no_fencing_token`; `held_in_part`. The lock is empty then.
     * Cancellation: terminal and partial complete at once; what may have been granted is given back
     * in the background.
     * Total only before anything was sent.
     */
    template <
        boost::asio::completion_token_for<void(error_code, lock)> Token = boost::asio::deferred_t>
    auto async_acquire(std::string_view resource, acquire_options options, Token&& token = Token{})
    {
        return detail::initiate<void(error_code, lock), detail::unpack_lock>(
            driver_, token,
            [resource, options](auto& d, auto* c, auto& t) {
                detail::operations::acquire(d, resource, options, c, t);
            },
            detail::cancels_total);
    }

    /// The same with default options.
    template <
        boost::asio::completion_token_for<void(error_code, lock)> Token = boost::asio::deferred_t>
    auto async_acquire(std::string_view resource, Token&& token = Token{})
    {
        return detail::initiate<void(error_code, lock), detail::unpack_lock>(
            driver_, token,
            [resource](auto& d, auto* c, auto& t) {
                detail::operations::acquire(d, resource, c, t);
            },
            detail::cancels_total);
    }

    /**
     * Takes one lock of several resources: on each node all of their keys are set, by one script,
     * or none. They have one owner token and one validity; an extend and a release act on all. Each
     * has a fencing token, greater than all that it had before; those of one lock are equal. In
     * which order they are named does not matter. The `report` tells which one was held. Of a
     * single one it is the lock above.
     *
     * Completion signature: `void(redlock::error_code, redlock::lock)`.
     * Completes when: as above.
     * Errors: as above. `invalid_resource`: there is none or more than `max_resources`, or one is
     * not to be used, or they are longer than `max_resource_size` together; `duplicate_resource`.
     * Cancellation: as above.
     */
    template <
        boost::asio::completion_token_for<void(error_code, lock)> Token = boost::asio::deferred_t>
    auto async_acquire(std::vector<std::string> resources, acquire_options options,
                       Token&& token = Token{})
    {
        return detail::initiate<void(error_code, lock), detail::unpack_lock>(
            driver_, token,
            [names = detail::shared(std::move(resources)), options](auto& d, auto* c, auto& t) {
                detail::operations::acquire(d, names, options, c, t);
            },
            detail::cancels_total);
    }

    /// The same with default options.
    template <
        boost::asio::completion_token_for<void(error_code, lock)> Token = boost::asio::deferred_t>
    auto async_acquire(std::vector<std::string> resources, Token&& token = Token{})
    {
        return detail::initiate<void(error_code, lock), detail::unpack_lock>(
            driver_, token,
            [names = detail::shared(std::move(resources))](auto& d, auto* c, auto& t) {
                detail::operations::acquire(d, names, c, t);
            },
            detail::cancels_total);
    }

    /// The same of resources that are written out: `async_acquire({"from", "to"}, options)`. GCC 12
    /// takes no such list within a co_await expression; there the names go into a variable first.
    template <
        boost::asio::completion_token_for<void(error_code, lock)> Token = boost::asio::deferred_t>
    auto async_acquire(std::initializer_list<std::string_view> resources, acquire_options options,
                       Token&& token = Token{})
    {
        return async_acquire(std::vector<std::string>(resources.begin(), resources.end()), options,
                             std::forward<Token>(token));
    }

    /// The same with default options.
    template <
        boost::asio::completion_token_for<void(error_code, lock)> Token = boost::asio::deferred_t>
    auto async_acquire(std::initializer_list<std::string_view> resources, Token&& token = Token{})
    {
        return async_acquire(std::vector<std::string>(resources.begin(), resources.end()),
                             std::forward<Token>(token));
    }

    /**
     * Takes up a lease that another lock object, in this or another process, left by
     * `lock::hand_over`: extends it under `owner_token`, and holds it if that succeeds. Never sets
     * a key. The lock is not kept alive, though it was where it was left, and has no fencing token:
     * it ends with `ttl` unless it is extended in time. What was handed over is to be taken up
     * once: two that have one lease do not know of each other, and either gives it back.
     *
     * Completion signature: `void(redlock::error_code, redlock::lock)`.
     * Completes when: the outcome is certain, or after one `node_timeout`.
     * Errors: `lost`: a majority does not hold the key under that token; `unavailable`: too few
     * nodes answered; `closed`, `overloaded`, `invalid_resource`, `invalid_ttl`, `invalid_owner`,
     * `operation_aborted`, `not_enough_memory`.
     * Cancellation: terminal and partial complete at once; keys are left as they are. Total: only
     * before anything was sent.
     */
    template <
        boost::asio::completion_token_for<void(error_code, lock)> Token = boost::asio::deferred_t>
    auto async_adopt(std::string_view resource, std::string_view owner_token,
                     std::chrono::milliseconds ttl, extend_options options, Token&& token = Token{})
    {
        return detail::initiate<void(error_code, lock), detail::unpack_lock>(
            driver_, token,
            [=](auto& d, auto* c, auto& t) {
                detail::operations::adopt(d, resource, owner_token, ttl, options, c, t);
            },
            detail::cancels_total);
    }

    /// The same with default options.
    template <
        boost::asio::completion_token_for<void(error_code, lock)> Token = boost::asio::deferred_t>
    auto async_adopt(std::string_view resource, std::string_view owner_token,
                     std::chrono::milliseconds ttl, Token&& token = Token{})
    {
        return async_adopt(resource, owner_token, ttl, extend_options{},
                           std::forward<Token>(token));
    }

    /// The same of a lock of several resources, which have to be named all: others are neither
    /// extended nor given back. Errors: `duplicate_resource` too.
    template <
        boost::asio::completion_token_for<void(error_code, lock)> Token = boost::asio::deferred_t>
    auto async_adopt(std::vector<std::string> resources, std::string_view owner_token,
                     std::chrono::milliseconds ttl, extend_options options, Token&& token = Token{})
    {
        return detail::initiate<void(error_code, lock), detail::unpack_lock>(
            driver_, token,
            [names = detail::shared(std::move(resources)), owner_token, ttl, options](
                auto& d, auto* c, auto& t) {
                detail::operations::adopt(d, names, owner_token, ttl, options, c, t);
            },
            detail::cancels_total);
    }

    /// The same with default options.
    template <
        boost::asio::completion_token_for<void(error_code, lock)> Token = boost::asio::deferred_t>
    auto async_adopt(std::vector<std::string> resources, std::string_view owner_token,
                     std::chrono::milliseconds ttl, Token&& token = Token{})
    {
        return async_adopt(std::move(resources), owner_token, ttl, extend_options{},
                           std::forward<Token>(token));
    }

    /// The same of resources that are written out.
    template <
        boost::asio::completion_token_for<void(error_code, lock)> Token = boost::asio::deferred_t>
    auto async_adopt(std::initializer_list<std::string_view> resources,
                     std::string_view owner_token, std::chrono::milliseconds ttl,
                     extend_options options, Token&& token = Token{})
    {
        return async_adopt(std::vector<std::string>(resources.begin(), resources.end()),
                           owner_token, ttl, options, std::forward<Token>(token));
    }

    /// The same with default options.
    template <
        boost::asio::completion_token_for<void(error_code, lock)> Token = boost::asio::deferred_t>
    auto async_adopt(std::initializer_list<std::string_view> resources,
                     std::string_view owner_token, std::chrono::milliseconds ttl,
                     Token&& token = Token{})
    {
        return async_adopt(resources, owner_token, ttl, extend_options{},
                           std::forward<Token>(token));
    }

    /**
     * Makes a held lease live at least `ttl` from now. The keys are extended where they still hold
     * the owner token; none is ever set again. An extend never shortens a lease.
     *
     * Completion signature: `void(redlock::error_code)`.
     * Completes when: the outcome is certain, or after one `node_timeout`.
     * Errors: none: renewed, `l.valid_until()` has moved; `lost`: a majority no longer holds the
     * key, or the validity had passed before: final; `unavailable`: unknown, too few nodes
     * answered: the validity known before stands, and another extend may succeed; `not_held`,
     * `invalid_ttl`, `invalid_owner`, `closed`, `overloaded`, `operation_aborted`,
     * `not_enough_memory`.
     * Cancellation: terminal and partial complete at once; the known validity stands. Total: only
     * before anything was sent.
     * Lifetimes: `l` is read when the operation is begun; it may be moved or destroyed before the
     * end.
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

    /// The same with default options.
    template <boost::asio::completion_token_for<void(error_code)> Token = boost::asio::deferred_t>
    auto async_extend(lock& l, std::chrono::milliseconds ttl, Token&& token = Token{})
    {
        return async_extend(l, ttl, extend_options{}, std::forward<Token>(token));
    }

    /**
     * Gives a lock back on all nodes. From the moment it is begun nobody owns it; nodes that cannot
     * be reached are told when they are back.
     *
     * Completion signature: `void(redlock::error_code, redlock::release_result)`.
     * Completes when: the result is certain, or after one `node_timeout`.
     * Errors: `unavailable`: too few nodes answered to know; `not_held`: the lock was empty;
     * `invalid_owner`, `closed`, `operation_aborted`, `not_enough_memory`. That a
     * lease had expired is a result, not an error.
     * Cancellation: terminal and partial end the wait; the release goes out all the same.
     */
    template <boost::asio::completion_token_for<void(error_code, release_result)> Token =
                  boost::asio::deferred_t>
    auto async_release(lock l, release_options options, Token&& token = Token{})
    {
        // The lock goes beside the function, which a deferred operation must be able to copy.
        return detail::initiate<void(error_code, release_result), detail::unpack_release>(
            driver_, token,
            [options](auto& d, auto* c, auto& t, lock given) {
                detail::operations::release(d, std::move(given), options, c, t);
            },
            detail::cancels_started, std::move(l));
    }

    /// The same with default options.
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
     * Completes when: the answer is certain, or, if `every_node` is asked for, each node has
     * answered or failed; after one `node_timeout` at the latest, and then, where that is not
     * enough, with `holding::unknown`.
     * Errors: `invalid_resource`, `closed`, `overloaded`, `operation_aborted`, `not_enough_memory`.
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

    /// The same with default options.
    template <boost::asio::completion_token_for<void(error_code, inspection)> Token =
                  boost::asio::deferred_t>
    auto async_inspect(std::string_view resource, Token&& token = Token{})
    {
        return async_inspect(resource, inspect_options{}, std::forward<Token>(token));
    }

    /**
     * Closes the client: begins nothing more, ends what waits with `errc::closed`, waits for
     * releases that are still going out, at most `config::close_timeout`, and closes the
     * connections. Locks still held are left to expire.
     *
     * Completion signature: `void(redlock::error_code)`.
     * Completes when: all connections are closed. Any number may ask for it.
     * Errors: none; `operation_aborted` when cancelled; `errc::closed` when the client is destroyed
     * meanwhile.
     * Cancellation: terminal and partial close the client at once; others who wait for its end are
     * told that it was closed.
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
