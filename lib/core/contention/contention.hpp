#pragma once

#include "base/instant.hpp"
#include "base/settings.hpp"
#include "core/contention/leading.hpp"
#include "core/contention/line.hpp"
#include "core/contention/sought_after.hpp"
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
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace redlock::core {

/// What an acquire must wait for before its next attempt.
struct turn {
    enum class kind : std::uint8_t {
        now,    ///< nothing
        queue,  ///< its turn among the waiters of this client
        rest,   ///< `until`, so that other clients come first
        pause,  ///< `until`, or a notification
    };

    kind what = kind::now;
    base::instant until{};
};

/**
 * Decides when an acquire asks the nodes for a resource that others hold or want: others of this
 * client, which wait in one queue for each resource, and other clients, of whose releases nodes
 * send notifications.
 */
class contention final : public contention_events {
public:
    /// All arguments must outlive the object.
    contention(node_context& shared, const node_list& nodes, scheduler& operations,
               const availability& majority)
        : shared_(shared),
          settings_(shared.settings),
          nodes_(nodes),
          scheduler_(operations),
          availability_(majority)
    {}

    // An acquire, in the order of its calls.

    enum class place : std::uint8_t {
        first,    ///< it need not
        queued,   ///< it waits there now
        no_room,  ///< it must, and the queue is full
    };
    /// Puts an acquire that has no coroutine into the queue, if it must wait there. May throw
    /// `std::bad_alloc`.
    [[nodiscard]] place enter(operation& op);
    /// May put the acquire into the queue. May throw `std::bad_alloc`.
    [[nodiscard]] turn next_turn(operation& op);
    /// The node to be asked before all others; empty: all are asked at once.
    [[nodiscard]] std::optional<unsigned> first_node(const operation& op) const noexcept;
    /// The acquire goes on with `to`, another lease of the same resources.
    void on_new_lease(lease& from, lease& to, operation& op) noexcept;
    /// An attempt begins.
    void on_attempt(operation& op) noexcept;
    /// The nodes that were asked at first have answered, as `v` says.
    void on_first_answers(const round& attempt, verdict v) noexcept;
    /// All that the attempt waits for has been answered.
    void on_answers(operation& op, const round& attempt) noexcept;
    /// The lock is held until `end`.
    void on_granted(operation& op, const round& attempt, base::instant end) noexcept;
    /// Neither was the lock granted, nor will the keys of the attempt stay.
    void on_not_granted(operation& op, const round& attempt, verdict v) noexcept;
    /// Asks a node for a notification when the key that is in the way goes.
    void watch(operation& op, const round& attempt, verdict v);
    /// Until when a refused acquire waits, unless a notification comes or its time is over.
    [[nodiscard]] base::instant begin_pause(operation& op, base::nanos backoff) noexcept;
    /// The acquire has ended with its present lease.
    void on_finished(operation& op) noexcept;

    /// An instant for which an acquire waits in the queue has come.
    void on_time(operation& waiter) noexcept;
    /// Takes the acquire out of the queue if it waits there.
    void leave_queue(operation& op) noexcept
    {
        if (op.in_line != nullptr) {
            leave_line(op);
        }
    }
    /// The lease is over, or its acquire does without it: the next one in the queue goes on.
    void end_turn(lease& l) noexcept;
    /// The acquire goes on with a lease that its owner holds already.
    void abandon_turn(operation& op) noexcept;

    // Reports of nodes and rounds.
    void on_refused(const round& attempt) noexcept override;
    void on_extended(const lease& l) noexcept override;
    void on_watched(const lease& l, unsigned index, unsigned held,
                    reported_ttl told) noexcept override;
    void on_notification(unsigned index, notification what,
                         std::string_view resource) noexcept override;

    /// The time that a majority, or the node that is asked first, takes to answer, smoothed.
    [[nodiscard]] base::nanos round_trip() const noexcept { return round_trip_; }
    /// Acquires in queues.
    [[nodiscard]] std::size_t waiting() const noexcept { return waiting_; }
    /// Acquires that rely on a node for a notification.
    [[nodiscard]] std::size_t watching() const noexcept
    {
        return std::accumulate(shared_.watchers.begin(), shared_.watchers.end(), std::size_t{0});
    }
    /// Resources that this client holds or asks for, and queues for them.
    [[nodiscard]] std::size_t resources() const noexcept { return leading_.size(); }
    [[nodiscard]] std::size_t queues() const noexcept { return lines_.in_use(); }

private:
    // The queues of this client.
    void resume(operation& op) noexcept;
    [[nodiscard]] bool lead_or_wait(operation& op);
    [[nodiscard]] lease& who_leads(lease& l) noexcept;
    [[nodiscard]] bool has_room_behind(const lease& first) const noexcept;
    void stand_in_line(operation& op, lease& first);
    void leave_company(std::unordered_map<std::uint64_t, company>& from, std::uint64_t key,
                       operation& op) noexcept;
    void leave_line(operation& op) noexcept;
    void watch_over(line& q) noexcept;
    void pass_lead(lease& from, lease& to, operation& op) noexcept;
    void rouse_seekers(const lease& l) noexcept;
    void rouse(const lease& first) noexcept;
    void count_hand_over(stint& s, bool is_alone) noexcept;
    [[nodiscard]] base::nanos long_rest(stint& s, bool is_met) noexcept;
    [[nodiscard]] base::nanos longest_rest() const noexcept;
    void count_gap(const operation& op) noexcept;
    [[nodiscard]] stint* stint_of(const lease& l) noexcept;
    [[nodiscard]] base::instant end_of_rest(const operation& op) noexcept;
    [[nodiscard]] bool is_told() const noexcept;
    void bequeath_pause(operation& op) noexcept;
    [[nodiscard]] base::instant end_of_inherited(const operation& op) const noexcept;
    void call_in(const operation& had) noexcept;
    void note_contention(const lease& l) noexcept;
    void note_key_in_the_way(const lease& l, node_mask refused) noexcept;
    void count_turn(lease& l) noexcept;
    void keep_stint(const lease& l) noexcept;
    [[nodiscard]] const stint* remembered(const lease& l) const noexcept;
    [[nodiscard]] bool is_contended(const lease& l) const noexcept;
    [[nodiscard]] base::nanos spread_of(std::uint32_t crowd) const noexcept;
    void wake_groups(const lease& l) noexcept;
    template <class Do>
    void for_groups(std::string_view resource, Do each) noexcept;

    // Notifications.
    [[nodiscard]] std::optional<unsigned> first_for(const lease& l, node_mask these) const noexcept;
    [[nodiscard]] std::optional<unsigned> gate_of(const lease& l) const noexcept;
    void watch_no_more(operation& op) noexcept;
    void stop_being_told(operation& op) noexcept;
    void turn_to(operation& op, unsigned held) noexcept;
    bool compare_with_last_answer(operation& op, unsigned index, base::instant until,
                                  base::nanos within) noexcept;
    void note_silence(operation& op, unsigned index) noexcept;
    [[nodiscard]] static const std::string& in_the_way(const operation& op) noexcept;
    [[nodiscard]] bool is_doubtful(const operation& op) const noexcept;
    [[nodiscard]] static base::nanos time_between_looks(std::size_t watchers) noexcept;
    [[nodiscard]] base::nanos least_change(const operation& op) const noexcept;
    [[nodiscard]] base::instant end_of_watch(const operation& op) noexcept;
    [[nodiscard]] base::instant end_of_doubt(const operation& op, base::nanos backoff) noexcept;
    [[nodiscard]] static bool is_asleep(const operation& op) noexcept;
    void wake(operation& op, base::nanos later = {}) noexcept;
    void look_by(operation& op, base::instant when) noexcept;
    [[nodiscard]] base::nanos wake_up_delay(const operation& op) noexcept;
    [[nodiscard]] base::instant end_of_pause(const operation& op, base::nanos backoff) noexcept;
    void on_key_gone(unsigned index, std::string_view resource) noexcept;
    template <class Do>
    void for_watchers(unsigned index, Do each) noexcept;
    void on_keys_gone(unsigned index) noexcept;
    void on_watch_lost(unsigned index) noexcept;

    node_context& shared_;
    const base::settings& settings_;
    const node_list& nodes_;
    scheduler& scheduler_;
    const availability& availability_;

    pool<line> lines_;
    leading leading_;
    std::size_t waiting_ = 0;
    /// Acquires in queues that have an owner, by owner and resource.
    std::unordered_map<std::uint64_t, company> waiting_for_;
    sought_after sought_after_;
    /// Acquires of several resources, by the resource that is in their way.
    std::unordered_map<std::uint64_t, company> groups_watching_;
    base::nanos round_trip_{};
};

}  // namespace redlock::core
