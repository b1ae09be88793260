#pragma once

#include <boost/system/error_category.hpp>
#include <boost/system/error_code.hpp>
#include <boost/system/error_condition.hpp>

#include <redlock/detail/export.hpp>

#include <type_traits>

namespace redlock {

/// The error codes used throughout the library, those of Boost.Asio.
using error_code = boost::system::error_code;

/**
 * Why an operation did not give what was asked for.
 *
 * Cancellation is not listed: a cancelled operation completes with
 * `boost::asio::error::operation_aborted`.
 * Test for `condition` values where the exact reason does not matter; what each node answered
 * stands in the `report`.
 */
enum class errc {
    /// Somebody's key is in the way on one node or more, and a minority of the nodes at most is
    /// known to have failed. Decided, as every acquire, by the answer that rules a majority out.
    contended = 1,
    /// No majority of the nodes could be reached, or could answer, in time; or no majority agreed
    /// on a fencing token.
    unavailable,
    /// A majority granted the lock, too late for its remaining validity to be of use.
    expired,
    /// The lease is gone: a majority no longer has the key, or its validity has passed. Final.
    lost,
    /// The caller's own `deadline` passed before the lock was had.
    timed_out,
    /// The lock object holds nothing: default constructed, moved from, released or handed over.
    not_held,
    /// The client is closed, or was destroyed.
    closed,
    /// More operations are in flight than `config::max_in_flight` allows.
    overloaded,
    /// More acquires wait for their turn than `config::max_waiters` or
    /// `config::max_waiters_per_resource` allows.
    too_many_waiters,
    /// The operating system gave no random bytes for an owner token.
    no_entropy,
    /// The owner holds some of the resources already, by a lock that is not of all of them: it
    /// would wait for itself.
    held_in_part,
    /// A fencing token was asked for, and the owner holds the resource by a lock without one.
    no_fencing_token,

    /// `resource` is empty, longer than `max_resource_size`, ends with ":fencing" or
    /// ":redlock:holder", or is one of the restart guard's own names under `config::restart_guard`.
    invalid_resource,
    /// `ttl` is not positive, is shorter than four node timeouts, does not fit, or is longer than
    /// `guard_config::max_ttl`.
    invalid_ttl,
    /// `deadline` is negative.
    invalid_deadline,
    /// `attempts` is zero.
    invalid_attempts,
    /// `max_outage` is negative.
    invalid_max_outage,
    /// `min_validity` is negative or can never be met by `ttl`.
    invalid_min_validity,
    /// `keep_alive::max_hold` is shorter than the ttl.
    invalid_max_hold,
    /// `label` is longer than `max_label_size`, or holds control characters.
    invalid_label,
    /// A resource is named twice in one lock.
    duplicate_resource,
    /// The owner token is not 40 lower-case hexadecimal digits, or the lock belongs to another
    /// client.
    invalid_owner,
    /// The configuration is refused; the message of the exception names the field.
    invalid_config,
};

/// What a caller usually wants to tell apart.
enum class condition {
    /// Every `invalid_*` code and `duplicate_resource`: the caller's mistake, nothing was sent.
    invalid_argument = 1,
    /// `contended`, `unavailable`, `expired` and `timed_out`: the lock was not had, a later try may
    /// get it.
    not_acquired,
};

/// The category of `errc`. Its name is "redlock".
[[nodiscard]] REDLOCK_API const boost::system::error_category& error_category() noexcept;

/// The category of `condition`. Its name is "redlock.condition".
[[nodiscard]] REDLOCK_API const boost::system::error_category& condition_category() noexcept;

/// By which an `errc` converts to an `error_code`.
[[nodiscard]] inline error_code make_error_code(errc e) noexcept
{
    return {static_cast<int>(e), error_category()};
}

/// By which an `error_code` is compared with a `condition`.
[[nodiscard]] inline boost::system::error_condition make_error_condition(condition c) noexcept
{
    return {static_cast<int>(c), condition_category()};
}

}  // namespace redlock

namespace boost::system {
template <>
struct is_error_code_enum<redlock::errc> : std::true_type {};
template <>
struct is_error_condition_enum<redlock::condition> : std::true_type {};
}  // namespace boost::system
