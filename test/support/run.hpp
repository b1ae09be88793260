#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <utility>

namespace redlock::test {

/// How long anything that must happen may take. Only ever reached by a test that fails.
inline constexpr std::chrono::seconds generous{30};

/// Asks `done` again and again until it says yes. False when `bound` has passed first.
template <class Predicate>
[[nodiscard]] bool wait_for(Predicate&& done, std::chrono::milliseconds bound = generous)
{
    const auto end = std::chrono::steady_clock::now() + bound;
    while (!done()) {
        if (std::chrono::steady_clock::now() >= end) {
            return false;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
}

/**
 * Runs `context` in this thread until `done` says yes; false when `bound` has passed first.
 * `done` is asked after every handler, and each few milliseconds for what changes outside the
 * context. No other thread may run the context: it is restarted when it has run out of work.
 */
template <class Predicate>
[[nodiscard]] bool run_until(boost::asio::io_context& context, Predicate&& done,
                             std::chrono::milliseconds bound = generous)
{
    constexpr std::chrono::milliseconds look_again{2};
    const auto end = std::chrono::steady_clock::now() + bound;
    while (!done()) {
        if (std::chrono::steady_clock::now() >= end) {
            return false;
        }
        if (context.stopped()) {
            context.restart();
        }
        if (context.run_one_for(look_again) == 0 && context.stopped()) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }
    return true;
}

/// Runs `context` until it has no work left, which shows that nothing was left behind in it.
[[nodiscard]] inline bool run_out(boost::asio::io_context& context,
                                  std::chrono::milliseconds bound = generous)
{
    context.restart();
    context.run_for(bound);
    return context.stopped();
}

/// Runs a coroutine on `context` to its end and gives its result, or throws what it threw.
template <class T>
T run_task(boost::asio::io_context& context, boost::asio::awaitable<T> task,
           std::chrono::milliseconds bound = generous)
{
    using stored = std::conditional_t<std::is_void_v<T>, bool, T>;
    struct outcome {
        bool done = false;
        std::exception_ptr error;
        std::optional<stored> value;
    };
    // Shared, since a coroutine that is given up on may still end after this call.
    auto result = std::make_shared<outcome>();
    if constexpr (std::is_void_v<T>) {
        boost::asio::co_spawn(context, std::move(task), [result](std::exception_ptr error) {
            result->done = true;
            result->error = error;
        });
    } else {
        boost::asio::co_spawn(context, std::move(task),
                              [result](std::exception_ptr error, T value) {
                                  result->done = true;
                                  result->error = error;
                                  result->value.emplace(std::move(value));
                              });
    }
    if (!run_until(
            context, [&] { return result->done; }, bound)) {
        throw std::runtime_error("a coroutine of the test did not end in time");
    }
    if (result->error) {
        std::rethrow_exception(result->error);
    }
    if constexpr (!std::is_void_v<T>) {
        return std::move(*result->value);
    }
}

}  // namespace redlock::test
