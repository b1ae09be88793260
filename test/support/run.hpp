#pragma once

#include "support/sanitizers.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <utility>

namespace redlock::test {

/// The bound after which a test counts as hung. Only a test that fails waits that long, so a
/// passing test loses no time. Beside a compiler and five other tests a process may pause for
/// seconds, and a sanitizer makes each step several times as long.
inline constexpr std::chrono::seconds patience{REDLOCK_TEST_SANITIZED ? 180 : 60};

/// Far longer than a test lasts. For a ttl, a timeout or a timer that must not end while a test
/// waits for something else.
inline constexpr std::chrono::milliseconds never = std::chrono::hours(1);

/// The ttl of locks that a test keeps alive or loses. The client renews such a lock four times in
/// each ttl, so a process may pause for three quarters of the ttl, six seconds, before the
/// client loses the lock. With a ttl of three seconds two of five hundred tests lost a lock, beside
/// compilers and busy loops.
inline constexpr std::chrono::milliseconds brief_ttl = std::chrono::seconds(8);

/// The longest node timeout that `brief_ttl` allows. A silent node costs a test two seconds, and a
/// process on a busy machine rarely pauses for two seconds.
inline constexpr std::chrono::milliseconds brief_timeout = brief_ttl / 4;

/// The ttl of a lock whose end a test awaits. If a busy machine makes an attempt too slow for this
/// ttl, an acquire without a deadline makes another attempt.
inline constexpr std::chrono::milliseconds ending_ttl = std::chrono::seconds(2);

/**
 * Counts steps that took as long as a wait that no step may make. A fault makes most steps wait,
 * while a busy machine delays one or two.
 */
class slow_steps {
public:
    static constexpr int by_the_machine = 2;

    explicit slow_steps(std::chrono::milliseconds wait) : wait_(wait) {}

    template <class Step>
    void time(Step&& step)
    {
        const auto begun = std::chrono::steady_clock::now();
        step();
        count_ += std::chrono::steady_clock::now() - begun >= wait_ ? 1 : 0;
    }

    [[nodiscard]] int count() const noexcept { return count_; }

private:
    std::chrono::milliseconds wait_;
    int count_ = 0;
};

/// Calls `done` again and again until it returns true. False when `bound` has passed first. A short
/// wait ends at once, and a long one leaves the processor to the awaited servers.
template <class Predicate>
[[nodiscard]] bool wait_for(Predicate&& done, std::chrono::milliseconds bound = patience)
{
    const auto end = std::chrono::steady_clock::now() + bound;
    std::chrono::milliseconds pause{1};
    while (!done()) {
        if (std::chrono::steady_clock::now() >= end) {
            return false;
        }
        std::this_thread::sleep_for(pause);
        pause = std::min(2 * pause, std::chrono::milliseconds(10));
    }
    return true;
}

/**
 * Runs `context` in this thread until `done` returns true. False when `bound` has passed first.
 * Calls `done` after every handler, and every few milliseconds, because it may depend on the
 * outside. No other thread may run the context, which is restarted when it has run out of work.
 */
template <class Predicate>
[[nodiscard]] bool run_until(boost::asio::io_context& context, Predicate&& done,
                             std::chrono::milliseconds bound = patience)
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

/// Runs `context` until it has no work left, which shows that nothing was left in it.
[[nodiscard]] inline bool run_out(boost::asio::io_context& context,
                                  std::chrono::milliseconds bound = patience)
{
    context.restart();
    context.run_for(bound);
    return context.stopped();
}

/// Runs a coroutine on `context` to its end. Returns its result, or throws its exception.
template <class T>
T run_task(boost::asio::io_context& context, boost::asio::awaitable<T> task,
           std::chrono::milliseconds bound = patience)
{
    using stored = std::conditional_t<std::is_void_v<T>, bool, T>;
    struct outcome {
        bool done = false;
        std::exception_ptr error;
        std::optional<stored> value;
    };
    // Shared, since the coroutine may still end after this call when the call gives up.
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
