#pragma once

#include "base/instant.hpp"
#include "base/settings.hpp"
#include "core/contention/fair_queue.hpp"
#include "core/contention/leader_table.hpp"
#include "core/contention/turn.hpp"
#include "core/contention/wait_queue.hpp"
#include "core/lease.hpp"
#include "core/node/context.hpp"
#include "core/operation.hpp"
#include "core/pool.hpp"
#include "core/quorum/availability.hpp"
#include "core/scheduler.hpp"

#include <cstddef>
#include <cstdint>

namespace redlock::core {

/**
 * Decides which acquire of this client asks the nodes for a resource: the one that leads, while the
 * others wait in one queue for each resource. Between clients, the `fair_queue` decides.
 */
class contention {
public:
    /// All arguments must outlive the object.
    contention(node_context& shared, scheduler& operations, const availability& majority,
               leader_table& leaders, fair_queue& between_clients)
        : shared_(shared),
          settings_(shared.settings),
          scheduler_(operations),
          availability_(majority),
          leaders_(leaders),
          between_clients_(between_clients)
    {}

    // An acquire, in the order of its calls.

    enum class place : std::uint8_t {
        first,    ///< it need not wait
        queued,   ///< it waits there now
        no_room,  ///< it must wait, and the queue is full
    };
    /// Puts an acquire that has no coroutine into the queue, if it must wait there. May throw
    /// `std::bad_alloc`.
    [[nodiscard]] place enter(operation& op);
    /// May put the acquire into the queue. May throw `std::bad_alloc`.
    [[nodiscard]] turn next_turn(operation& op);
    /// The acquire goes on with `to`, another lease of the same resources.
    void on_new_lease(lease& from, lease& to, operation& op) noexcept;
    /// The lock is held until `end`.
    void on_granted(operation& op, base::instant end) noexcept;
    /// The acquire has ended with its present lease.
    void on_finished(operation& op) noexcept;

    /// An instant for which an acquire waits in the queue has come.
    void on_time(operation& waiter) noexcept;
    /// Takes the acquire out of the queue if it waits there.
    void leave_queue(operation& op) noexcept;
    /// The lease is over, or its acquire does without it: the next one in the queue goes on.
    void end_turn(lease& l) noexcept;
    /// The acquire goes on with a lease that its owner holds already.
    void abandon_turn(operation& op) noexcept;

    /// Acquires in queues.
    [[nodiscard]] std::size_t waiting() const noexcept { return waiting_; }
    /// Resources that this client holds or asks for, and queues for them.
    [[nodiscard]] std::size_t resources() const noexcept { return leaders_.size(); }
    [[nodiscard]] std::size_t queues() const noexcept { return queues_.in_use(); }

private:
    [[nodiscard]] bool lead_or_wait(operation& op);
    [[nodiscard]] lease& leader_for(lease& l) noexcept;
    [[nodiscard]] bool has_room_behind(const lease& first) const noexcept;
    void wait_behind(operation& op, lease& first);
    void set_timer_of_first(wait_queue& q) noexcept;
    void pass_lead(lease& from, lease& to, operation& op) noexcept;
    void resume(operation& op) noexcept;
    void resume_waiters_of_owner(const operation& had) noexcept;

    node_context& shared_;
    const base::settings& settings_;
    scheduler& scheduler_;
    const availability& availability_;
    leader_table& leaders_;
    fair_queue& between_clients_;

    pool<wait_queue> queues_;
    std::size_t waiting_ = 0;
};

}  // namespace redlock::core
