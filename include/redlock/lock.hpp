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
 * A lease on a resource, held by a majority of the nodes. Never empty when an acquire gave it.
 *
 * Destroying a lock that holds something gives it back in the background: it neither throws nor
 * waits, and does no harm when the client or the execution context is gone; the keys then expire by
 * themselves. A lock may not be used by two threads at the same time. With `config::thread_safe`
 * different threads may use it one after the other; else it is used, and destroyed, where the
 * client may be used.
 */
class [[nodiscard]] lock {
public:
    /// Holds nothing.
    lock() noexcept = default;
    /// The lease goes along; what was moved from holds nothing.
    lock(lock&&) noexcept = default;
    /// Gives back in the background what this one held.
    lock& operator=(lock&&) noexcept = default;
    lock(const lock&) = delete;
    lock& operator=(const lock&) = delete;
    /// Gives back in the background what is still held.
    ~lock() = default;

    /// Made by a client.
    explicit lock(detail::held_lease held) noexcept : held_(std::move(held)) {}

    /// Whether it holds a lease, valid or not. False after a release, a hand-over, or a move.
    [[nodiscard]] explicit operator bool() const noexcept { return held_.get() != nullptr; }

    /**
     * Whether the lease is valid at this moment, by this machine's clock. To be asked before every
     * step that needs the lock:
     * a lease ends by itself, and a thread may be held up for any time between the question and the
     * step.
     */
    [[nodiscard]] bool owns() const noexcept { return remaining() > boot_clock::duration::zero(); }

    /// How long the lease is valid from now on; zero when it is no longer, or when nothing is held.
    [[nodiscard]] boot_clock::duration remaining() const noexcept
    {
        const auto left = valid_until() - boot_clock::now();
        return left > boot_clock::duration::zero() ? left : boot_clock::duration::zero();
    }

    /// The end of the validity, drift taken off. The clock's epoch when nothing is held, or when
    /// the lease is lost.
    [[nodiscard]] REDLOCK_API boot_clock::time_point valid_until() const noexcept;

    /// The resource's name as it was given, of several the first; empty when nothing is held. Valid
    /// while the lock holds.
    [[nodiscard]] REDLOCK_API std::string_view resource() const noexcept;

    /// All of the resources' names in the order in which they were given; none when nothing is
    /// held. Valid while the lock holds.
    [[nodiscard]] REDLOCK_API std::span<const std::string> resources() const noexcept;

    /**
     * The secret value of the lock's keys, 40 hexadecimal digits; empty when nothing is held.
     * Whoever knows it can release the lock, so it belongs in no log. Valid while the lock holds.
     */
    [[nodiscard]] REDLOCK_API std::string_view owner_token() const noexcept;

    /**
     * The lease's fencing token: unique among the leases of each of its resources, and greater than
     * the token of every lease that was known to anybody when this one was asked for, also when
     * clocks or pauses broke the exclusion, as long as nodes keep their counters. It may be
     * smaller, or even one that was given before, where
     * - a node loses its counters or comes back with those of an earlier time, unless all clients
     *   have the restart guard: one without it, or a node that is wrongly called `durable`, spoils
     *   it for all;
     * - clients name different nodes;
     * - somebody deletes or evicts a counter or puts an older one back, or a node's keys of an
     *   earlier time are put back within one run, under the guard too;
     * - a node's date is set back, in all and at whatever times, by more than the shortest
     *   `config::counter_ttl` of the clients, or where keys are lost by more than
     *   `guard_config::max_ttl`, each less two seconds (half of a `max_ttl` below four).
     *
     * docs/design/safety.md has all of it. A further hold of an `owner` is of the same lease, and
     * has its token. Below 2^53, and not changed by extends. Zero when the lock was taken without
     * one, was adopted, or holds nothing.
     *
     * It protects what checks it: hand it to the database or service that is written to, and have
     * that refuse a token smaller than the greatest it has seen.
     */
    [[nodiscard]] REDLOCK_API std::uint64_t fencing_token() const noexcept;

    /// The fencing token of one of the lock's resources, of several the same for each. Zero if the
    /// lock is not of this one, and where the above is zero.
    [[nodiscard]] REDLOCK_API std::uint64_t fencing_token(std::string_view resource) const noexcept;

    /// How many nodes are known to have granted the key, late answers included, and those whose
    /// grant the restart guard does not count.
    [[nodiscard]] REDLOCK_API unsigned granted_by() const noexcept;

    /**
     * Waits until the lock is not held any more, by a client that runs: told at the latest when the
     * validity ends by this machine's clock, and sooner if a majority is seen to be without the
     * key. After the program stood still it is told before anything else of the client, and after
     * the machine was suspended within a second. Any number may wait. Include `client.hpp`.
     *
     * Completion signature: `void(redlock::error_code)`.
     * Completes when: the lease is no more, in one of these ways.
     * Errors: always one. `lost`: final; `not_held`: released, dropped, assigned over or handed
     * over, or nothing was held; `closed`; `operation_aborted`; `not_enough_memory`.
     * Cancellation: terminal, partial and total complete at once.
     * Lifetimes: the lock is read when the operation is begun; it may be moved before the end, and
     * destroyed, which ends it. Of an empty lock, that knows no client, the handler runs through
     * its associated executor, by default the system executor.
     */
    template <boost::asio::completion_token_for<void(error_code)> Token = boost::asio::deferred_t>
    auto async_wait_lost(Token&& token = Token{});

    /**
     * Leaves the lease to somebody else, to be taken up with `client::async_adopt` in this or
     * another process: returns the owner token, holds nothing afterwards, and gives nothing back.
     * Other holds of it, by its owner, own nothing from then on.
     * Empty when nothing was held, or another hold was handed over before.
     */
    [[nodiscard]] REDLOCK_API std::string hand_over() &&;

private:
    friend struct detail::operations;

    detail::held_lease held_;
};

}  // namespace redlock
