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

/// How a `with_lock` ended.
enum class scope_end : std::uint8_t {
    completed,     ///< the body returned, and the lock was held all the time
    failed,        ///< the body threw, while the lock was held
    lost,          ///< the lock was lost before the body had ended, however that ended
    cancelled,     ///< it was called off: before the lock was had, or the body threw behind that
    not_acquired,  ///< the lock was not had, and the body not begun
};

/// The English name of an end, for logs and messages.
[[nodiscard]] constexpr const char* to_string(scope_end e) noexcept
{
    switch (e) {
        case scope_end::completed: return "completed";
        case scope_end::failed: return "failed";
        case scope_end::lost: return "lost";
        case scope_end::cancelled: return "cancelled";
        case scope_end::not_acquired: return "not acquired";
    }
    return "?";
}

namespace detail {

/// What there is to say of an end whatever the body returns.
struct scope_ending {
    /// How it ended.
    scope_end end = scope_end::not_acquired;

    /// Why the lock was not had; `lost` or `closed`; why it was called off, `operation_aborted`, or
    /// `not_enough_memory` to hear of a loss. None when the body completed or failed.
    error_code error;

    /// What the body threw, after a loss or a cancellation too. Null: it returned, or never began.
    std::exception_ptr failure;

    /// Whether the body completed, under the lock all the time.
    [[nodiscard]] explicit operator bool() const noexcept { return end == scope_end::completed; }

protected:
    /// Throws what `get` throws.
    REDLOCK_API void require_completed() const;
};

}  // namespace detail

/// What became of a body that ran under a lock.
template <class T>
struct [[nodiscard]] scope_result : detail::scope_ending {
    /// What the body returned, though the lock was lost meanwhile.
    std::optional<T> value;

    /// What the body returned. Throws what the body threw if it failed, and
    /// `boost::system::system_error` with `error` if it did not complete.
    T get() &&
    {
        require_completed();
        return std::move(*value);
    }
};

/// The same of a body that returns nothing.
template <>
struct [[nodiscard]] scope_result<void> : detail::scope_ending {
    /// Throws what the body threw if it failed, and `boost::system::system_error` with `error` if
    /// it did not complete.
    void get() && { require_completed(); }
};

/**
 * A lock that is held for a body made of completion handlers. To be moved into what goes on; the
 * lock is given back when it says `done`, or is destroyed.
 */
class [[nodiscard]] held_scope {
public:
    /// What the body runs on.
    using executor_type = boost::asio::any_io_executor;

    /// Made by `with_lock`.
    REDLOCK_API held_scope(executor_type ex,
                           boost::asio::any_completion_handler<void(error_code)> done,
                           boost::asio::cancellation_state told, lock& held) noexcept;
    /// The lock goes along; what was moved from does nothing more.
    REDLOCK_API held_scope(held_scope&&) noexcept;
    /// Ends what this one was, as its destructor does.
    REDLOCK_API held_scope& operator=(held_scope&&) noexcept;
    held_scope(const held_scope&) = delete;
    held_scope& operator=(const held_scope&) = delete;
    /// As `done` with `operation_aborted`.
    REDLOCK_API ~held_scope();

    /// Lives until `done`.
    [[nodiscard]] lock& held() const noexcept { return *held_; }

    /// Where the body belongs: `slot` emits there.
    [[nodiscard]] executor_type get_executor() const noexcept { return executor_; }

    /// For the operations of the body, one at a time: emits `terminal` when the lock is lost or the
    /// whole is called off. To be had before the handle is moved; not connected behind `done`.
    [[nodiscard]] REDLOCK_API boost::asio::cancellation_slot slot() const noexcept;

    /**
     * Whether the lock was lost or the whole called off, so that the body is to end. To be asked,
     * on the handle's executor, before each operation is begun: what `slot` emits between two of
     * them nobody hears. False behind `done`.
     */
    [[nodiscard]] REDLOCK_API bool stopped() const noexcept;

    /// The body has ended, with success or failed with an error, and does nothing more. On any
    /// thread; what is called after the first time, or of a handle that was moved from, does
    /// nothing.
    REDLOCK_API void done(error_code ec = {});

private:
    void give_up() noexcept;

    executor_type executor_;
    boost::asio::any_completion_handler<void(error_code)> done_;
    boost::asio::cancellation_state told_;
    lock* held_;
};

}  // namespace redlock
