#pragma once

#include <redlock/config.hpp>
#include <redlock/detail/boxed_handler.hpp>
#include <redlock/detail/completion.hpp>
#include <redlock/detail/export.hpp>
#include <redlock/detail/operations.hpp>
#include <redlock/lock.hpp>
#include <redlock/resource_names.hpp>
#include <redlock/scope.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/associator.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/cancellation_type.hpp>

#include <concepts>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace redlock::scope {
class watch;
}

// Building blocks of with_lock.hpp: only the code that depends on the types of a body and of its
// handler.
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

/// A body that runs under a lock, and the outcome of its run.
class scope_task {
public:
    scope_task(const scope_task&) = delete;
    scope_task& operator=(const scope_task&) = delete;

    /// Runs the body, at most once. Runs on the body's executor, and throws the exception of the
    /// body.
    [[nodiscard]] virtual boost::asio::awaitable<void> run(lock& held) = 0;
    [[nodiscard]] virtual scope_ending& ending() noexcept = 0;

protected:
    scope_task() = default;
    ~scope_task() = default;
};

template <class T, class Body>
class body_task final : public scope_task {
public:
    explicit body_task(Body&& body) : body_(std::move(body)) {}

    [[nodiscard]] boost::asio::awaitable<void> run(lock& held) override
    {
        if constexpr (std::is_void_v<T>) {
            return std::invoke(body_, held);
        } else {
            return keep_value(held);
        }
    }

    [[nodiscard]] scope_ending& ending() noexcept override { return result_; }
    [[nodiscard]] with_lock_result<T> result() && { return std::move(result_); }

private:
    boost::asio::awaitable<void> keep_value(lock& held)
    {
        result_.value.emplace(co_await std::invoke(body_, held));
    }

    Body body_;
    with_lock_result<T> result_;
};

/// The user's handler, and the task that has its result.
template <class Handler, class T, class Body>
struct scope_handler {
    Handler handler;
    std::unique_ptr<body_task<T, Body>> task;

    void operator()()
    {
        with_lock_result<T> result = std::move(*task).result();
        task.reset();  // no part of the body outlives this
        std::move(handler)(std::move(result));
    }
};

using watch_ptr = std::shared_ptr<scope::watch>;

/// Returns the watch of a scope whose body should run on `asked`. Compiled into the library.
[[nodiscard]] REDLOCK_API watch_ptr new_watch(const engine_ptr& engine,
                                              const operations::executor_type& asked);
/// Begins a scope. Takes over the completion, which contains the task.
REDLOCK_API void begin_scope(const engine_ptr& engine, const watch_ptr& watch,
                             resource_names resources, acquire_options options, scope_task& task,
                             completion* done);

/// Handler in the cancellation slot of a scope.
struct scope_canceller {
    watch_ptr watch;

    REDLOCK_API void operator()(boost::asio::cancellation_type type) const;
};

template <class Slot>
void cancellable_by(Slot& slot, const watch_ptr& watch)
{
    slot.assign(scope_canceller{watch});
}
/// The same for Asio's own slots, which nearly all slots are. Compiled into the library.
REDLOCK_API void cancellable_by(boost::asio::cancellation_slot& slot, const watch_ptr& watch);

template <class T>
struct scope_initiation {
    using executor_type = operations::executor_type;

    engine_ptr engine;

    [[nodiscard]] executor_type get_executor() const noexcept
    {
        return operations::executor_of(engine);
    }

    template <class Handler, class Body>
    void operator()(Handler&& h, resource_names resources, const acquire_options& options,
                    Body body)
    {
        using handler_type = scope_handler<std::decay_t<Handler>, T, Body>;
        executor_type asked = get_executor();
        const auto ex = boost::asio::get_associated_executor(h, asked);
        if constexpr (std::is_convertible_v<decltype(ex), executor_type>) {
            asked = ex;
        }
        const watch_ptr watch = new_watch(engine, asked);
        if (auto slot = boost::asio::get_associated_cancellation_slot(h); slot.is_connected()) {
            detail::cancellable_by(slot, watch);
        }
        auto task = std::make_unique<body_task<T, Body>>(std::move(body));
        scope_task& runs = *task;
        completion* const done = boxed_handler<handler_type, unpack_none>::make(
            handler_type{std::forward<Handler>(h), std::move(task)}, get_executor(),
            operations::hops_of(engine));
        begin_scope(engine, watch, std::move(resources), options, runs, done);
    }
};

/// Begins a body, with a handle to the lock.
class scope_start {
public:
    virtual void begin(lock_scope handle) = 0;

protected:
    scope_start() = default;
    // A deferred operation copies it.
    scope_start(const scope_start&) = default;
    scope_start(scope_start&&) = default;
    ~scope_start() = default;
};

/// Begins the body, and ends once the handle has ended the body. Compiled into the library.
[[nodiscard]] REDLOCK_API boost::asio::awaitable<void> run_started(scope_start& start, lock& held);

/// A body made of a function that begins it and a handle that ends it.
template <class Start>
class started_body final : scope_start {
public:
    explicit started_body(Start&& start) : start_(std::move(start)) {}

    boost::asio::awaitable<void> operator()(lock& held) { return run_started(*this, held); }

private:
    void begin(lock_scope handle) override { std::invoke(std::move(start_), std::move(handle)); }

    Start start_;
};

}  // namespace redlock::detail

/// The scope's handler has the executor, the allocator and the cancellation slot of the user's
/// handler.
template <template <class, class> class Associator, class Handler, class T, class Body,
          class Default>
struct boost::asio::associator<Associator, redlock::detail::scope_handler<Handler, T, Body>,
                               Default> : Associator<Handler, Default> {
    using scope_handler = redlock::detail::scope_handler<Handler, T, Body>;

    static auto get(const scope_handler& h) noexcept
    {
        return Associator<Handler, Default>::get(h.handler);
    }
    static auto get(const scope_handler& h, const Default& otherwise) noexcept
    {
        return Associator<Handler, Default>::get(h.handler, otherwise);
    }
};
