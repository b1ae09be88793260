#pragma once

#include <redlock/detail/asio_built_with.hpp>
#include <redlock/detail/export.hpp>
#include <redlock/detail/held_lease.hpp>
#include <redlock/error.hpp>
#include <redlock/result.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <cstdint>

namespace redlock::engine {
class deliveries;
}

namespace redlock::detail {

[[REDLOCK_KEPT]] static constexpr auto& required_by_operations =
    setting::in_asio<setting::my_asio_exceptions>::with<library_built_with>;

/// Outcome of an operation. Each kind of operation uses its own part.
struct outcome {
    error_code error;
    held_lease held;
    release_result released = release_result::not_held;
    redlock::inspection inspection;
};

/// Way from the client to a handler.
enum class hop : std::uint8_t {
    /// The client calls a handler of its own executor at once.
    none,
    /// The client posts every handler out of its strand. The handler is posted to its own executor
    /// if that can post.
    out,
    /// The same, for a handler of the client's executor: the handlers of a turn go out together.
    out_together,
};

/// The user's handler, type-erased. The library calls exactly one of the functions, once, and that
/// function frees the handler. `complete` may leave the call and the freeing to `deliver`.
class completion {
public:
    completion(const completion&) = delete;
    completion& operator=(const completion&) = delete;

    /// Completes the operation. Runs on the client's executor, or on a scope's, and never from
    /// within an initiating function.
    virtual void complete(outcome&& what) = 0;
    /// Calls the handler. Runs on the handler's own executor.
    virtual void deliver(outcome&& what) = 0;
    /// Destroys the handler uncalled, because the execution context is going away.
    virtual void abandon() noexcept = 0;

    // For the engine: the queue and the error of a handler that no operation of the core completes.
    completion* next = nullptr;
    error_code decided;
    /// Where the handlers of the turn are collected that go out together; null: there are none.
    engine::deliveries* together = nullptr;

protected:
    completion() = default;
    ~completion() = default;
};

/// Returns the handler's executor, with its work counted. Returns an empty executor where the
/// client calls the handler itself. Changes `hops` if the handler can go out together with others.
/// Compiled into the library, since most handlers then need no more of Asio.
[[nodiscard]] REDLOCK_API boost::asio::any_io_executor work_for_handler(
    const boost::asio::any_io_executor& ex, const boost::asio::any_io_executor& client, hop& hops);
/// Takes the handler and its work to the handler's executor. Compiled into the library, too.
REDLOCK_API void deliver_on(boost::asio::any_io_executor&& work, hop hops, completion& c,
                            outcome&& what);

/// Names the operation that a cancellation is meant for. Filled when the operation begins. Touched
/// on the client's executor only.
struct ticket {
    void* operation = nullptr;
    std::uint64_t serial = 0;
    /// For a run or a close: the completion that waits for it.
    completion* waiter = nullptr;
    /// Whether the operation was cancelled before it began.
    bool cancelled = false;
};

}  // namespace redlock::detail
