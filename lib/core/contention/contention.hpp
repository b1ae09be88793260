#pragma once

#include "base/instant.hpp"
#include "base/settings.hpp"
#include "core/contention/fair_queue.hpp"
#include "core/contention/leader_table.hpp"
#include "core/contention/turn.hpp"
#include "core/contention/wait_queue.hpp"
#include "core/lease.hpp"
#include "core/node/context.hpp"
#include "core/node/events.hpp"
#include "core/node/node.hpp"
#include "core/operation.hpp"
#include "core/pool.hpp"
#include "core/quorum/availability.hpp"
#include "core/round.hpp"
#include "core/scheduler.hpp"
#include "core/votes.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace redlock::core {

/**
 * Decides when an acquire asks the nodes for a resource that others hold or want: others of this
 * client, which wait in one queue for each resource, and other clients, whose order is the
 * `fair_queue`.
 */
class contention final : public key_events {
public:
    /// All arguments must outlive the object.
    contention(node_context& shared, const node_list& nodes, scheduler& operations,
               const availability& majority)
        : shared_(shared),
          settings_(shared.settings),
          scheduler_(operations),
          availability_(majority),
          between_clients_(shared, nodes, operations, majority, leaders_)
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
    /// An attempt begins.
    void on_attempt(operation& op) noexcept { between_clients_.on_attempt(op); }
    /// All that the attempt waits for has been answered.
    void on_answers(operation& op, const round& attempt) noexcept
    {
        between_clients_.on_answers(op, attempt);
    }
    /// The lock is held until `end`.
    void on_granted(operation& op, base::instant end) noexcept;
    /// An attempt has failed, and the acquire goes on. Returns the end of its pause, unless a
    /// notification comes. May throw `std::bad_alloc`.
    [[nodiscard]] base::instant begin_pause(operation& op, const round& attempt, verdict v,
                                            base::nanos backoff)
    {
        return between_clients_.begin_pause(op, attempt, v, backoff);
    }
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

    // Reports of nodes.
    void on_watched(const lease& l, unsigned index, std::int64_t ttl_ms) noexcept override
    {
        between_clients_.on_watched(l, index, ttl_ms);
    }
    void on_notification(unsigned index, notification what, std::string_view key) noexcept override
    {
        between_clients_.on_notification(index, what, key);
    }
    void on_place(const lease& l, unsigned index, place_answer what,
                  const queue_place& found) noexcept override
    {
        between_clients_.on_place(l, index, what, found);
    }
    void on_extended(const lease& l) noexcept override { between_clients_.on_extended(l); }
    void on_left(const lease& l, unsigned held, bool others_wait) noexcept override
    {
        between_clients_.on_left(l, held, others_wait);
    }

    [[nodiscard]] base::nanos round_trip() const noexcept { return between_clients_.round_trip(); }
    /// The node with the queue of clients for the resource; empty: there is none.
    [[nodiscard]] std::optional<unsigned> queue_node(std::string_view resource) const
    {
        return between_clients_.queue_node(resource);
    }
    /// Acquires in queues.
    [[nodiscard]] std::size_t waiting() const noexcept { return waiting_; }
    /// Acquires that wait at a node.
    [[nodiscard]] std::size_t watching() const noexcept { return between_clients_.size(); }
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
    void forget_owner(operation& op) noexcept;

    node_context& shared_;
    const base::settings& settings_;
    scheduler& scheduler_;
    const availability& availability_;

    pool<wait_queue> queues_;
    leader_table leaders_;
    std::size_t waiting_ = 0;
    /// Acquires in queues that have an owner, by owner and resource.
    std::unordered_map<std::uint64_t, company> of_owners_;
    fair_queue between_clients_;
};

}  // namespace redlock::core
