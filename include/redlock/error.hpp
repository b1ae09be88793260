#pragma once

#include <boost/system/error_category.hpp>
#include <boost/system/error_code.hpp>
#include <boost/system/error_condition.hpp>

#include <redlock/detail/export.hpp>

#include <type_traits>

namespace redlock {

/// Type of all error codes in the library, the one that Boost.Asio uses.
using error_code = boost::system::error_code;

/**
 * Reason why an operation failed.
 *
 * Cancellation has no code here: a cancelled operation completes with
 * `boost::asio::error::operation_aborted`. Test for a `condition` where the exact reason does not
 * matter. The `report` has the answer of each node.
 */
enum class errc {
    /// Another owner has the key on one node or more, and at most a minority of the nodes is known
    /// to have failed. An acquire is decided by the answer that rules out a majority. Later answers
    /// do not change the decision.
    contended = 1,
    /// No majority of the nodes gave a usable answer in time, or no majority agreed on a fencing
    /// token.
    unavailable,
    /// A majority granted the lock, but too late: no validity was left, or less than
    /// `min_validity`.
    expired,
    /// The lease is gone: no majority can have the key any more, or the validity has passed. This
    /// is final.
    lost,
    /// The caller's own `timeout` passed before the acquire got the lock.
    timed_out,
    /// The lock object holds nothing: it was default constructed, moved from, released or detached.
    not_held,
    /// The client was closed or destroyed.
    closed,
    /// The acquires, adopts and inspects in progress, or the extends, have reached
    /// `config::max_in_flight`.
    overloaded,
    /// The waiters have reached `config::max_waiters` or `config::max_waiters_per_resource`.
    too_many_waiters,
    /// The operating system gave no random bytes for an owner token.
    no_entropy,
    /// The reentrant owner already holds some of the resources, by a lock that does not cover all
    /// of them. The acquire would wait for its own owner.
    held_in_part,
    /// The acquire asked for a fencing token, but its reentrant owner holds the resource by a lock
    /// without one.
    no_fencing_token,

    /// A resource name, or a list of names, is not usable:
    /// - A name is empty, or longer than `max_resource_size`.
    /// - A name ends with ":fencing", ":redlock:holder", ":redlock:queue" or ":redlock:ticket".
    /// - A name is one of the restart guard's own, under `config::restart_guard`.
    /// - A list is empty, or has more than `max_resources` names, or more than `max_resource_size`
    ///   bytes in all.
    invalid_resource,
    /// The ttl is not usable:
    /// - It is not positive, or longer than 10 years.
    /// - It is shorter than four node timeouts.
    /// - It is longer than `guard_config::max_ttl`, under `config::restart_guard`.
    /// - The clock drift leaves no validity of it.
    invalid_ttl,
    /// `timeout` is negative.
    invalid_timeout,
    /// `max_attempts` is zero.
    invalid_max_attempts,
    /// `max_outage` is negative.
    invalid_max_outage,
    /// `min_validity` is negative, or `ttl` can never give that much validity.
    invalid_min_validity,
    /// `keep_alive::max_hold` is shorter than the ttl.
    invalid_max_hold,
    /// `label` is longer than `max_label_size`, or contains control characters.
    invalid_label,
    /// A lock names the same resource twice.
    duplicate_resource,
    /// The owner token is not 40 lower-case hexadecimal digits, or the lock belongs to another
    /// client.
    invalid_owner_token,
    /// The client's constructor refused the configuration. The message of the exception names the
    /// field.
    invalid_config,
};

/// Group of error codes that a caller usually treats alike.
enum class condition {
    /// The caller made a mistake, and nothing was sent: every `invalid_*` code and
    /// `duplicate_resource`.
    invalid_argument = 1,
    /// The acquire did not get the lock, but a later try may: `contended`, `unavailable`, `expired`
    /// and `timed_out`.
    not_acquired,
};

/// Returns the category of `errc`. Its name is "redlock".
[[nodiscard]] REDLOCK_API const boost::system::error_category& error_category() noexcept;

/// Returns the category of `condition`. Its name is "redlock.condition".
[[nodiscard]] REDLOCK_API const boost::system::error_category& condition_category() noexcept;

/// Returns the `error_code` of an `errc`. Boost.System uses it for the implicit conversion.
[[nodiscard]] inline error_code make_error_code(errc e) noexcept
{
    return {static_cast<int>(e), error_category()};
}

/// Returns the `error_condition` of a `condition`. Boost.System uses it to compare an `error_code`
/// with a `condition`.
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
