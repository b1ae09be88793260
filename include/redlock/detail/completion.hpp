#pragma once

#include <redlock/detail/asio_built_with.hpp>
#include <redlock/detail/export.hpp>
#include <redlock/detail/held_lease.hpp>
#include <redlock/error.hpp>
#include <redlock/result.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <cstdint>

namespace redlock::detail {

[[REDLOCK_KEPT]] static constexpr auto& required_by_operations =
    setting::in_asio<setting::my_asio_exceptions>::with<library_built_with>;

/// What an operation came to; each kind of operation uses its own part.
struct outcome {
    error_code error;
    held_lease held;
    release_result released = release_result::not_held;
    redlock::inspection inspection;
};

/// Where a handler may run.
enum class hop : std::uint8_t {
    none,  ///< a handler of the client's own executor is called at once
    out,   ///< every handler is posted out of the client's strand, to its executor if that can be
};

/// The user's handler, type-erased. Exactly one of the functions is called, once, and frees it;
/// `complete` may leave that to `deliver`.
class completion {
public:
    completion(const completion&) = delete;
    completion& operator=(const completion&) = delete;

    /// On the client's executor, or a scope's, never from within an initiating function.
    virtual void complete(outcome&& what) = 0;
    /// On the handler's own.
    virtual void deliver(outcome&& what) = 0;
    /// The execution context is going away: the handler is destroyed uncalled.
    virtual void abandon() noexcept = 0;

    // For the engine: where the handler waits that no operation of the core completes.
    completion* next = nullptr;
    error_code decided;

protected:
    completion() = default;
    ~completion() = default;
};

/// The handler's executor, with its work counted; an empty one where the client calls the handler
/// itself. Compiled, as most handlers need no more of Asio for it.
[[nodiscard]] REDLOCK_API boost::asio::any_io_executor work_for_handler(
    const boost::asio::any_io_executor& ex, const boost::asio::any_io_executor& client, hop hops);
/// Takes it to where it belongs, and its work along. Compiled, too.
REDLOCK_API void deliver_on(boost::asio::any_io_executor&& work, hop hops, completion& c,
                            outcome&& what);

/// Which operation a cancellation is meant for. Filled when it is begun; touched on the client's
/// executor only.
struct ticket {
    void* operation = nullptr;
    std::uint64_t serial = 0;
    /// Of a run or a close: who waits for it.
    completion* waiter = nullptr;
    /// Cancelled before it was begun.
    bool cancelled = false;
};

}  // namespace redlock::detail
