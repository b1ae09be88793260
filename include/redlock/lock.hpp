#pragma once

#include <redlock/clock.hpp>
#include <redlock/detail/export.hpp>
#include <redlock/detail/held_lease.hpp>
#include <redlock/error.hpp>

#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace redlock {

/**
 * Handle to a lease: the time-limited ownership of one resource or several, granted by a majority
 * of the nodes. A successful acquire never gives an empty lock.
 *
 * The destructor of a lock that holds a lease releases the lease in the background. The destructor
 * neither throws nor waits. It does no harm when the client or the execution context is gone: the
 * keys then expire by themselves.
 *
 * Thread safety: two threads must not use a lock at the same time. With `config::thread_safe`
 * different threads may use a lock one after the other. Without it, use and destroy a lock only
 * where you may use its client.
 */
class [[nodiscard]] lock {
public:
    /// Makes an empty lock, which holds nothing.
    lock() noexcept = default;
    /// Takes over the lease. The lock that was moved from holds nothing afterwards.
    lock(lock&&) noexcept = default;
    /// Takes over the lease. Releases in the background the lease that this lock held before.
    lock& operator=(lock&&) noexcept = default;
    lock(const lock&) = delete;
    lock& operator=(const lock&) = delete;
    /// Releases in the background the lease that this lock still holds.
    ~lock() = default;

    /// For the library: makes a lock of a lease.
    explicit lock(detail::held_lease held) noexcept : held_(std::move(held)) {}

    /// Returns whether the lock holds a lease, valid or not. False once the lock was released,
    /// detached or moved from.
    [[nodiscard]] explicit operator bool() const noexcept { return held_.get() != nullptr; }

    /**
     * Returns whether the lease is valid at this moment, by this machine's clock. Ask before every
     * step that needs the lock. A lease ends by itself, and a thread may be held up for any time
     * between the question and the step.
     */
    [[nodiscard]] bool owns() const noexcept { return remaining() > boot_clock::duration::zero(); }

    /// Returns how long the lease is still valid. Zero when its validity has passed, or when the
    /// lock holds nothing.
    [[nodiscard]] boot_clock::duration remaining() const noexcept
    {
        const auto left = valid_until() - boot_clock::now();
        return left > boot_clock::duration::zero() ? left : boot_clock::duration::zero();
    }

    /// Returns the end of the validity, with the clock drift taken off. Returns the clock's epoch
    /// when the lock holds nothing or the lease is lost.
    [[nodiscard]] REDLOCK_API boot_clock::time_point valid_until() const noexcept;

    /// Returns the name of the resource as it was given; for several resources, the first name.
    /// Empty when the lock holds nothing. Valid while the lock holds its lease.
    [[nodiscard]] REDLOCK_API std::string_view resource() const noexcept;

    /// Returns the names of all resources in the order in which they were given. Empty when the
    /// lock holds nothing. Valid while the lock holds its lease.
    [[nodiscard]] REDLOCK_API std::span<const std::string> resources() const noexcept;

    /**
     * Returns the owner token, the secret value of the lock's keys: 40 hexadecimal digits. Empty
     * when the lock holds nothing. Valid while the lock holds its lease. Anyone who knows the token
     * can release the lock, so keep it out of logs.
     */
    [[nodiscard]] REDLOCK_API std::string_view owner_token() const noexcept;

    /**
     * Returns the fencing token of the lease, a number below 2^53. Zero when the lock was taken
     * without a token, was adopted, or holds nothing.
     *
     * Pass the token to the database or service that you write to. The token protects only a
     * service that refuses tokens smaller than the greatest it has seen.
     *
     * The token is unique among the leases of each of its resources. It is greater than every token
     * that any client knew when the attempt for this lease began. Both promises hold even when
     * clocks or pauses broke the exclusion, as long as the nodes keep their counters. An extend
     * does not change the token. A further hold of a reentrant owner belongs to the same lease, and
     * so has the same token.
     *
     * In these cases a token can be smaller than an earlier one, or equal to it:
     * - A node loses its counters, or comes back with older ones, and not all clients have the
     *   restart guard. One client without the guard, or one node that is wrongly called `durable`,
     *   spoils the order for all.
     * - Clients name different nodes.
     * - A program deletes a counter or puts back an older one, or a node evicts a counter.
     * - A node gets older keys back without a restart. The guard does not help against that.
     * - A node's date is set back by more than a bound; changes at different times add up. The
     *   bound is the shortest `config::counter_ttl` of the clients. Where nodes lose keys, it is
     *   `guard_config::max_ttl`. Each bound is shortened by two seconds, or by half of a `max_ttl`
     *   that is below four seconds.
     *
     * See docs/design/safety.md for the details.
     */
    [[nodiscard]] REDLOCK_API std::uint64_t fencing_token() const noexcept;

    /// Returns the fencing token of one of the lock's resources. All resources of a lock have the
    /// same token. Zero when the lock does not cover `resource`, and where `fencing_token()` is
    /// zero.
    [[nodiscard]] REDLOCK_API std::uint64_t fencing_token(std::string_view resource) const noexcept;

    /// Returns the number of nodes that are known to have granted the key. It includes nodes that
    /// answered late, and nodes whose grant the restart guard does not count.
    [[nodiscard]] REDLOCK_API unsigned granted_by() const noexcept;

    /**
     * Waits until the lock no longer holds its lease. The client must be running. Any number of
     * operations may wait. Include `client.hpp` to call this function.
     *
     * The operation reports the end of the lease at these times:
     * - at the latest when the validity ends by this machine's clock
     * - sooner, if the client sees that no majority can have the key
     * - after a pause of the program, before the client does anything else
     * - after a suspension of the machine, within a second
     *
     * Completion signature: `void(redlock::error_code)`.
     * Completes when: the lease has ended, in one of the ways that the errors name.
     * Errors: always one of these:
     * - `lost`: the lease is lost, which is final.
     * - `not_held`: the lock was released, dropped, assigned over or detached, or held nothing.
     * - `closed`: the client was closed or destroyed.
     * - `operation_aborted`: the operation was cancelled.
     * - `not_enough_memory`: there was no memory for the operation.
     *
     * Cancellation: terminal, partial and total complete the operation at once.
     * Lifetimes: the operation reads the lock when it begins. The lock may then be moved. It may
     * also be destroyed, which ends the wait.
     * Executors: as the client's operations. An empty lock knows no client, so there the default is
     * the system executor.
     */
    template <boost::asio::completion_token_for<void(error_code)> Token = boost::asio::deferred_t>
    auto async_wait_lost(Token&& token = Token{});

    /**
     * Detaches the lease from this lock without releasing it, and returns the owner token. Another
     * lock object, in this process or another one, can take the lease over with
     * `client::async_adopt`. Afterwards this lock holds nothing, and other holds of its reentrant
     * owner own nothing. The token is empty if the lock held nothing, or if another hold was
     * detached before.
     */
    [[nodiscard]] REDLOCK_API std::string detach() &&;

private:
    friend struct detail::operations;

    detail::held_lease held_;
};

}  // namespace redlock
