#pragma once

#include <redlock/config.hpp>
#include <redlock/detail/boxed_handler.hpp>
#include <redlock/detail/completion.hpp>
#include <redlock/detail/export.hpp>
#include <redlock/error.hpp>
#include <redlock/lock.hpp>
#include <redlock/result.hpp>
#include <redlock/stats.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/cancellation_type.hpp>
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

namespace detail {
struct scope_access;
}

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
        return initiate<void(error_code), detail::unpack_nothing>(
            token, [](engine_ptr& d, detail::completion* c, const ticket_ptr& t) { run(d, c, t); });
    }

    /**
     * Takes a lock: up to `acquire_options::attempts` rounds of `SET key token NX PX ttl` to all
     * nodes, each decided at its deciding answer, until one is won or the deadline has passed.
     *
     * Completion signature: `void(redlock::error_code, redlock::lock)`.
     * Completes when: a majority granted the key with validity left, or no further attempt is to be
     * made.
     * Errors: `contended`, `unavailable`, `expired` for the last attempt when no further one was
     * allowed; `timed_out`; `closed`; `overloaded`; `no_entropy`; `invalid_resource`,
     * `invalid_ttl`, `invalid_deadline`, `invalid_attempts`, `invalid_min_validity`,
     * `invalid_max_hold`; `operation_aborted`; `not_enough_memory`. With an owner that has the lock
     * already: `lost`; `unavailable`, `expired` or `timed_out` if it had to be extended and was
     * not; `no_fencing_token`; `held_in_part`. The lock is empty then.
     * Cancellation: terminal and partial complete at once; what may have been granted is given back
     * in the background.
     * Total only before anything was sent.
     */
    template <
        boost::asio::completion_token_for<void(error_code, lock)> Token = boost::asio::deferred_t>
    auto async_acquire(std::string_view resource, acquire_options options, Token&& token = Token{})
    {
        return initiate<void(error_code, lock), detail::unpack_lock>(
            token,
            [resource, options = std::move(options)](engine_ptr& d, detail::completion* c,
                                                     const ticket_ptr& t) {
                acquire(d, resource, options, c, t);
            },
            cancels_total);
    }

    /// The same with default options.
    template <
        boost::asio::completion_token_for<void(error_code, lock)> Token = boost::asio::deferred_t>
    auto async_acquire(std::string_view resource, Token&& token = Token{})
    {
        return async_acquire(resource, acquire_options{}, std::forward<Token>(token));
    }

    /**
     * Takes one lock of several resources: on each node all of their keys are set, by one script,
     * or none. They have one owner token, one validity and one fencing token, which is greater than
     * all earlier tokens of each of them; an extend and a release act on all. In which order they
     * are named does not matter. The `report` tells which one was held. Of a single one it is the
     * lock above.
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
        return initiate<void(error_code, lock), detail::unpack_lock>(
            token,
            [names = shared(std::move(resources)), options = std::move(options)](
                engine_ptr& d, detail::completion* c, const ticket_ptr& t) {
                acquire(d, names, options, c, t);
            },
            cancels_total);
    }

    /// The same with default options.
    template <
        boost::asio::completion_token_for<void(error_code, lock)> Token = boost::asio::deferred_t>
    auto async_acquire(std::vector<std::string> resources, Token&& token = Token{})
    {
        return async_acquire(std::move(resources), acquire_options{}, std::forward<Token>(token));
    }

    /// The same of resources that are written out: `async_acquire({"from", "to"}, options)`. GCC 12
    /// takes no such list within a co_await expression; there the names go into a variable first.
    template <
        boost::asio::completion_token_for<void(error_code, lock)> Token = boost::asio::deferred_t>
    auto async_acquire(std::initializer_list<std::string_view> resources, acquire_options options,
                       Token&& token = Token{})
    {
        return async_acquire(std::vector<std::string>(resources.begin(), resources.end()),
                             std::move(options), std::forward<Token>(token));
    }

    /// The same with default options.
    template <
        boost::asio::completion_token_for<void(error_code, lock)> Token = boost::asio::deferred_t>
    auto async_acquire(std::initializer_list<std::string_view> resources, Token&& token = Token{})
    {
        return async_acquire(resources, acquire_options{}, std::forward<Token>(token));
    }

    /**
     * Takes up a lease that another lock object, in this or another process, left by
     * `lock::hand_over`: extends it under `owner_token`, and holds it if that succeeds. Never sets
     * a key.
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
        return initiate<void(error_code, lock), detail::unpack_lock>(
            token,
            [=](engine_ptr& d, detail::completion* c, const ticket_ptr& t) {
                adopt(d, resource, owner_token, ttl, options, c, t);
            },
            cancels_total);
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
        return initiate<void(error_code, lock), detail::unpack_lock>(
            token,
            [names = shared(std::move(resources)), owner_token, ttl, options](
                engine_ptr& d, detail::completion* c, const ticket_ptr& t) {
                adopt(d, names, owner_token, ttl, options, c, t);
            },
            cancels_total);
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
        return initiate<void(error_code), detail::unpack_nothing>(
            token,
            [&l, ttl, options](engine_ptr& d, detail::completion* c, const ticket_ptr& t) {
                extend(d, l, ttl, options, c, t);
            },
            cancels_total);
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
        return initiate<void(error_code, release_result), detail::unpack_release>(
            token,
            [options](engine_ptr& d, detail::completion* c, const ticket_ptr& t, lock given) {
                release(d, std::move(given), options, c, t);
            },
            cancels_started, std::move(l));
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
     * Completes when: the answer is certain, or after one `node_timeout`, then with
     * `holding::unknown`.
     * Errors: `invalid_resource`, `closed`, `overloaded`, `operation_aborted`, `not_enough_memory`.
     * Cancellation: terminal, partial and total complete at once.
     */
    template <boost::asio::completion_token_for<void(error_code, inspection)> Token =
                  boost::asio::deferred_t>
    auto async_inspect(std::string_view resource, inspect_options options, Token&& token = Token{})
    {
        return initiate<void(error_code, inspection), detail::unpack_inspection>(
            token,
            [resource, options](engine_ptr& d, detail::completion* c, const ticket_ptr& t) {
                inspect(d, resource, options, c, t);
            },
            cancels_total);
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
        return initiate<void(error_code), detail::unpack_nothing>(
            token,
            [](engine_ptr& d, detail::completion* c, const ticket_ptr& t) { close(d, c, t); });
    }

private:
    friend class lock;
    friend struct detail::scope_access;

    using engine_ptr = std::shared_ptr<engine::driver>;
    using ticket_ptr = std::shared_ptr<detail::ticket>;
    using names_ptr = std::shared_ptr<const std::vector<std::string>>;

    /// A deferred operation must be able to copy them.
    [[nodiscard]] static names_ptr shared(std::vector<std::string> names)
    {
        return std::make_shared<const std::vector<std::string>>(std::move(names));
    }

    static constexpr auto cancels_started =
        boost::asio::cancellation_type::terminal | boost::asio::cancellation_type::partial;
    static constexpr auto cancels_total = cancels_started | boost::asio::cancellation_type::total;

    /// Boxes the handler, makes it cancellable, and begins the operation.
    template <class Signature, class Unpack, class Begin>
    struct initiation;

    template <class Signature, class Unpack, class Token, class Begin, class... Args>
    auto initiate(Token& token, Begin begin,
                  boost::asio::cancellation_type honoured = cancels_started, Args&&... args)
    {
        return initiate_on<Signature, Unpack>(driver_, token, std::move(begin), honoured,
                                              std::forward<Args>(args)...);
    }

    template <class Signature, class Unpack, class Token, class Begin, class... Args>
    static auto initiate_on(const engine_ptr& d, Token& token, Begin begin,
                            boost::asio::cancellation_type honoured, Args&&... args)
    {
        return boost::asio::async_initiate<Token, Signature>(
            initiation<Signature, Unpack, Begin>{d, std::move(begin), honoured}, token,
            std::forward<Args>(args)...);
    }

    // Compiled. Each takes over the completion.
    REDLOCK_API static void run(engine_ptr&, detail::completion*, const ticket_ptr&);
    REDLOCK_API static void acquire(engine_ptr&, std::string_view resource, const acquire_options&,
                                    detail::completion*, const ticket_ptr&);
    REDLOCK_API static void acquire(engine_ptr&, const names_ptr& resources, const acquire_options&,
                                    detail::completion*, const ticket_ptr&);
    REDLOCK_API static void adopt(engine_ptr&, const names_ptr& resources, std::string_view owner,
                                  std::chrono::milliseconds ttl, const extend_options&,
                                  detail::completion*, const ticket_ptr&);
    REDLOCK_API static void adopt(engine_ptr&, std::string_view resource, std::string_view owner,
                                  std::chrono::milliseconds ttl, const extend_options&,
                                  detail::completion*, const ticket_ptr&);
    REDLOCK_API static void extend(engine_ptr&, lock&, std::chrono::milliseconds ttl,
                                   const extend_options&, detail::completion*, const ticket_ptr&);
    REDLOCK_API static void release(engine_ptr&, lock, const release_options&, detail::completion*,
                                    const ticket_ptr&);
    REDLOCK_API static void inspect(engine_ptr&, std::string_view resource, const inspect_options&,
                                    detail::completion*, const ticket_ptr&);
    REDLOCK_API static void wait_lost(engine_ptr&, lock&, detail::completion*, const ticket_ptr&);
    REDLOCK_API static void close(engine_ptr&, detail::completion*, const ticket_ptr&);

    REDLOCK_API static void cancel(engine_ptr&, const ticket_ptr&,
                                   boost::asio::cancellation_type) noexcept;
    [[nodiscard]] REDLOCK_API static executor_type executor_of(const engine_ptr&) noexcept;
    [[nodiscard]] REDLOCK_API static detail::hop hops_of(const engine_ptr&) noexcept;
    REDLOCK_API void shut_down() noexcept;

    engine_ptr driver_;
};

template <class Signature, class Unpack, class Begin>
struct client::initiation {
    using executor_type = client::executor_type;

    engine_ptr driver;
    Begin begin;
    boost::asio::cancellation_type honoured;

    [[nodiscard]] executor_type get_executor() const noexcept { return executor_of(driver); }

    template <class Handler, class... Args>
    void operator()(Handler&& h, Args&&... args)
    {
        using handler_type = std::decay_t<Handler>;
        ticket_ptr ticket;
        if (auto slot = boost::asio::get_associated_cancellation_slot(h); slot.is_connected()) {
            // Not from the handler's allocator: the slot may outlive it.
            ticket = std::make_shared<detail::ticket>();
            slot.assign([d = driver, ticket,
                         accepts = honoured](boost::asio::cancellation_type type) mutable {
                if ((type & accepts) != boost::asio::cancellation_type::none) {
                    cancel(d, ticket, type);
                }
            });
        }
        handler_type handler(std::forward<Handler>(h));
        auto* boxed = detail::boxed_handler<handler_type, Unpack>::make(
            std::move(handler), executor_of(driver), hops_of(driver));
        begin(driver, boxed, ticket, std::forward<Args>(args)...);
    }
};

template <boost::asio::completion_token_for<void(error_code)> Token>
auto lock::async_wait_lost(Token&& token)
{
    return client::initiate_on<void(error_code), detail::unpack_nothing>(
        held_.driver(), token,
        [this](client::engine_ptr& d, detail::completion* c, const client::ticket_ptr& t) {
            client::wait_lost(d, *this, c, t);
        },
        client::cancels_total);
}

/// For `with_lock`, which may outlive the client that it was given.
struct detail::scope_access {
    using engine_ptr = client::engine_ptr;

    [[nodiscard]] static engine_ptr engine_of(const client& c) noexcept { return c.driver_; }
    [[nodiscard]] static client::executor_type executor_of(const engine_ptr& d) noexcept
    {
        return client::executor_of(d);
    }
    [[nodiscard]] static bool is_thread_safe(const engine_ptr& d) noexcept
    {
        return client::hops_of(d) == hop::out;
    }

    template <class Token>
    static auto acquire(const engine_ptr& d, std::vector<std::string> resources, acquire_options o,
                        Token token)
    {
        return client::initiate_on<void(error_code, lock), unpack_lock>(
            d, token,
            [names = client::shared(std::move(resources)), o = std::move(o)](
                engine_ptr& e, completion* c, const client::ticket_ptr& t) {
                client::acquire(e, names, o, c, t);
            },
            client::cancels_total);
    }

    template <class Token>
    static auto release(const engine_ptr& d, lock l, const Token& token)
    {
        return client::initiate_on<void(error_code, release_result), unpack_release>(
            d, token,
            [](engine_ptr& e, completion* c, const client::ticket_ptr& t, lock given) {
                client::release(e, std::move(given), {}, c, t);
            },
            client::cancels_started, std::move(l));
    }
};

}  // namespace redlock
