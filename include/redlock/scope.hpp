#pragma once

#include <redlock/detail/asio_built_with.hpp>
#include <redlock/detail/export.hpp>
#include <redlock/error.hpp>
#include <redlock/lock.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/cancellation_state.hpp>

#include <cstdint>
#include <exception>
#include <optional>
#include <utility>

namespace redlock {

/// @cond
namespace detail {
[[REDLOCK_KEPT]] static constexpr auto& required_by_scopes =
    setting::in_asio<>::with<library_built_with>;
}
/// @endcond

/// Way in which a `with_lock` ended.
enum class with_lock_status : std::uint8_t {
    /// The body returned, and the lock was held all the time.
    completed,
    /// The body threw while the lock was held.
    failed,
    /// The lock was lost or the client was closed before the body ended, however the body ended.
    lost,
    /// The operation was cancelled, and the body either never began or threw afterwards.
    cancelled,
    /// The acquire failed, and the body did not begin.
    not_acquired,
};

/// Returns the English name of a status, for logs and messages.
[[nodiscard]] constexpr const char* to_string(with_lock_status s) noexcept
{
    switch (s) {
        case with_lock_status::completed: return "completed";
        case with_lock_status::failed: return "failed";
        case with_lock_status::lost: return "lost";
        case with_lock_status::cancelled: return "cancelled";
        case with_lock_status::not_acquired: return "not acquired";
    }
    return "?";
}

namespace detail {

/// Part of a result that does not depend on what the body returns.
struct scope_ending {
    /// Way in which the operation ended.
    with_lock_status status = with_lock_status::not_acquired;

    /// Reason for the status. For each value of `status`:
    /// - `not_acquired`: the error of the acquire.
    /// - `lost`: `lost` or `closed`.
    /// - `cancelled`: `operation_aborted`, or `not_enough_memory` if there was no memory to watch
    ///   for a loss.
    /// - `completed` and `failed`: none.
    error_code error;

    /// Exception of the body, also after a loss or a cancellation. Null if the body returned or
    /// never began. With the status `failed` it may also be an exception of the operation itself,
    /// if memory ran out.
    std::exception_ptr failure;

    /// Returns whether the body completed, with the lock held all the time.
    [[nodiscard]] explicit operator bool() const noexcept
    {
        return status == with_lock_status::completed;
    }

protected:
    /// Throws the exceptions that `get` documents.
    REDLOCK_API void require_completed() const;
};

}  // namespace detail

/// Result of a body that ran under a lock.
template <class T>
struct [[nodiscard]] with_lock_result : detail::scope_ending {
    /// Value that the body returned, even if the lock was lost before. Empty if the body did not
    /// return.
    std::optional<T> value;

    /// Returns the value of the body. If the body failed, throws its exception. If the body did not
    /// complete for another reason, throws `boost::system::system_error` with `error`.
    T get() &&
    {
        require_completed();
        return std::move(*value);
    }
};

/// Result of a body that returns nothing.
template <>
struct [[nodiscard]] with_lock_result<void> : detail::scope_ending {
    /// Checks that the body completed. If the body failed, throws its exception. If the body did
    /// not complete for another reason, throws `boost::system::system_error` with `error`.
    void get() && { require_completed(); }
};

/**
 * Handle to a lock that is held for a body made of completion handlers. Move the handle into the
 * handlers of the body. The operation releases the lock after you call `done` or destroy the
 * handle.
 */
class [[nodiscard]] lock_scope {
public:
    /// Type of the executor that the body runs on.
    using executor_type = boost::asio::any_io_executor;

    /// For the library: makes the handle that `with_lock` gives to the body.
    REDLOCK_API lock_scope(executor_type ex,
                           boost::asio::any_completion_handler<void(error_code)> done,
                           boost::asio::cancellation_state cancellation, lock& held) noexcept;
    /// Takes over the lock. The handle that was moved from does nothing more.
    REDLOCK_API lock_scope(lock_scope&&) noexcept;
    /// Takes over the lock, after ending the body of this handle as the destructor does.
    REDLOCK_API lock_scope& operator=(lock_scope&&) noexcept;
    lock_scope(const lock_scope&) = delete;
    lock_scope& operator=(const lock_scope&) = delete;
    /// Ends the body as `done` with `operation_aborted` does.
    REDLOCK_API ~lock_scope();

    /// Returns the lock. The reference is valid until `done`.
    [[nodiscard]] lock& held() const noexcept { return *held_; }

    /// Returns the executor of the body. `slot` emits on this executor.
    [[nodiscard]] executor_type get_executor() const noexcept { return executor_; }

    /// Returns the cancellation slot for the operations of the body, one at a time. The slot emits
    /// `terminal` when the lock is lost or the whole operation is cancelled. Get the slot before
    /// you move the handle. After `done` the slot is not connected.
    [[nodiscard]] REDLOCK_API boost::asio::cancellation_slot slot() const noexcept;

    /**
     * Returns whether the body must end, because the lock was lost or the whole operation was
     * cancelled. Ask on the handle's executor before you begin each operation of the body: a signal
     * that `slot` emits between two operations reaches none of them. False after `done`.
     */
    [[nodiscard]] REDLOCK_API bool stopped() const noexcept;

    /// Ends the body, with success or with an error. The body must do nothing more after this call.
    /// An error becomes the failure of the body. You may call it on any thread. A second call does
    /// nothing, and so does a call on a handle that was moved from.
    REDLOCK_API void done(error_code ec = {});

private:
    void give_up() noexcept;

    executor_type executor_;
    boost::asio::any_completion_handler<void(error_code)> done_;
    boost::asio::cancellation_state cancellation_;
    lock* held_;
};

}  // namespace redlock
