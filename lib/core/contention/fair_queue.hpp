#pragma once

#include "base/instant.hpp"
#include "base/settings.hpp"
#include "core/contention/leader_table.hpp"
#include "core/contention/recent_uses.hpp"
#include "core/contention/turn.hpp"
#include "core/lease.hpp"
#include "core/node/context.hpp"
#include "core/node/events.hpp"
#include "core/node/node.hpp"
#include "core/operation.hpp"
#include "core/quorum/availability.hpp"
#include "core/round.hpp"
#include "core/scheduler.hpp"
#include "core/votes.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace redlock::core {

/**
 * The order between clients. A waiter takes a ticket at one node, the same for all clients. It
 * waits for the end of the ticket before its own. The first waiter waits for the end of the lock.
 * See docs/design/fair_queue.md.
 *
 * Of the waiters of one client for one resource, only the leader takes a ticket. Without a queue, a
 * waiter waits for the end of the lock in no order.
 */
class fair_queue final : public key_events {
public:
    /// All arguments must outlive the object.
    fair_queue(node_context& shared, const node_list& nodes, scheduler& operations,
               const availability& majority, leader_table& leaders)
        : shared_(shared),
          settings_(shared.settings),
          nodes_(nodes),
          scheduler_(operations),
          availability_(majority),
          leaders_(leaders)
    {}

    // An acquire, in the order of its calls.
    /// May take a ticket. May throw `std::bad_alloc`.
    [[nodiscard]] turn next_turn(operation& op);
    void on_attempt(operation& op) noexcept;
    /// All that the attempt waits for has been answered.
    void on_answers(operation& op, const round& attempt) noexcept;
    /// The lock is held until `end`.
    void on_granted(operation& op, base::instant end) noexcept;
    /// An attempt has failed, and the acquire goes on. Returns the end of its pause, unless a
    /// notification comes. May throw `std::bad_alloc`.
    [[nodiscard]] base::instant begin_pause(operation& op, const round& attempt, verdict v,
                                            base::nanos backoff);
    /// The acquire ends, or needs no place any more.
    void leave(operation& op) noexcept;
    /// `next`, which leads after `op`, waits in its place.
    void pass_on(operation& op, operation& next) noexcept;

    /// Resumes acquires of the resource that have the owner of `had`, which has the lock now.
    void resume_waiters_of_owner(const operation& had, std::string_view resource) noexcept;
    /// The client has released the keys of the lease, or lost them.
    void on_released(const lease& l) noexcept;

    // Reports of nodes.
    void on_watched(const lease& l, unsigned index, std::int64_t ttl_ms) noexcept override;
    void on_notification(unsigned index, notification what, std::string_view key) noexcept override;
    void on_place(const lease& l, unsigned index, place_answer what,
                  const queue_place& found) noexcept override;
    void on_left(const lease& l, unsigned member, bool others_wait) noexcept override;

    /// The time that a majority takes to answer, smoothed.
    [[nodiscard]] base::nanos round_trip() const noexcept { return round_trip_; }
    /// The node with the queue for the resource; empty: there is none.
    [[nodiscard]] std::optional<unsigned> queue_node(std::string_view resource) const;
    /// Acquires that wait at a node.
    [[nodiscard]] std::size_t size() const noexcept
    {
        return std::accumulate(shared_.waiters_at.begin(), shared_.waiters_at.end(),
                               std::size_t{0});
    }

private:
    using stage = wait_state::stage;

    // Places.
    [[nodiscard]] static std::uint64_t key_of_use(const lease& l) noexcept;
    [[nodiscard]] static std::string_view name_of(const lease& l, unsigned member) noexcept;
    [[nodiscard]] static std::string_view awaited_resource(const operation& op) noexcept;
    [[nodiscard]] std::optional<unsigned> preferred(std::string_view resource,
                                                    bool (*may)(const node&)) const;
    [[nodiscard]] bool ask_place(operation& op);
    void ask_again(operation& op) noexcept;
    void on_placed(operation& op, const queue_place& found) noexcept;
    [[nodiscard]] bool note_place(operation& op, const queue_place& found) noexcept;
    void move_to_queue_of(operation& op, unsigned member);
    void give_ticket_back(operation& op) noexcept;
    void give_back(operation& op, unsigned member, unsigned node) noexcept;
    void ask_for_others(lease& l);
    void enter(operation& op, stage at, unsigned node);
    void end_wait(operation& op) noexcept;

    // Notifications and polls.
    void watch(operation& op) noexcept;
    void wait_without_notification(operation& op) noexcept;
    void watch_without_ticket(operation& op);
    void on_lock_free(operation& op) noexcept;
    void wake(operation& op, bool is_notified) noexcept;
    void go_on(operation& op) noexcept;
    void set_poll(operation& op, base::instant when) noexcept;
    [[nodiscard]] base::instant end_of_pause(const operation& op) const noexcept;
    void poll_within(operation& op, base::nanos longest) noexcept;
    [[nodiscard]] base::nanos poll_of_many() const noexcept;
    [[nodiscard]] base::nanos longest_poll() const noexcept;
    [[nodiscard]] base::instant end_of_watch(const operation& op) noexcept;
    [[nodiscard]] base::nanos idle_time(const operation& op) const noexcept;
    [[nodiscard]] bool is_idle(const operation& op) const noexcept;
    [[nodiscard]] static bool is_asleep(const operation& op) noexcept;
    [[nodiscard]] base::instant end_of_key(std::int64_t ttl_ms) const noexcept;
    void note_silence(operation& op) noexcept;
    [[nodiscard]] operation* waiter_of(const lease& l, unsigned index) const noexcept;
    template <class Do>
    void for_waiters(std::string_view resource, Do each) noexcept;
    template <class Do>
    void for_waiters_at(unsigned index, Do each) noexcept;
    void on_ticket_gone(std::string_view resource, const ticket& gone) noexcept;

    node_context& shared_;
    const base::settings& settings_;
    const node_list& nodes_;
    scheduler& scheduler_;
    const availability& availability_;
    leader_table& leaders_;
    recent_uses uses_;
    /// Waiting acquires of several resources, by the resource in their way.
    std::unordered_map<std::uint64_t, waiter_list> groups_;
    base::nanos round_trip_{};
};

}  // namespace redlock::core
