#pragma once

#include "base/instant.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::sim {

/// What can go wrong. Each play has some of them, each as often as its seed says.
enum class fault : std::uint8_t {
    delay,           ///< bytes that take longer, in one direction, beyond the node timeout too
    split,           ///< bytes that come in pieces
    cut,             ///< a connection is lost, with some of what is on its way
    black_hole,      ///< nothing gets through in one direction for a while
    half_open,       ///< connections whose end nobody is told of
    slow_write,      ///< a socket that takes its time to take bytes
    slow_dial,       ///< connections that take long to be made, or are refused
    node_pause,      ///< a node stands still, and does everything afterwards
    node_block,      ///< a node does nothing that writes, and answers what only reads
    restart,         ///< a node dies and comes back with its keys
    restart_empty,   ///< without them, once every key it had would be gone
    full,            ///< a node without memory
    loading,         ///< a node that has not read its data
    script_flush,    ///< a node forgets the scripts; what it may be asked besides them changes
    old_server,      ///< nodes before RESP3, with a release of their own, or without digests
    clock_rate,      ///< clocks that run apart as far as the drift allows
    clock_offset,    ///< clocks that are off
    client_pause,    ///< a client stands still, for longer than its leases at times
    client_kill,     ///< a client is gone from one moment to the next
    client_destroy,  ///< a client is destroyed, and another one begun
    client_close,    ///< a client is closed, and ends when nothing goes out any more
    cancel,          ///< operations are cancelled
    drop,            ///< locks are dropped instead of released
    hand_over,       ///< locks are handed to another client
    forget,          ///< nodes lose keys that live, one or all of them; under the restart guard
    push,            ///< what a node tells by itself is lost, doubled, much later, or for nothing
    raise,           ///< a raise of fencing counters, or its answer, comes late or never
    demoted,         ///< a node is a replica for a while, which takes writes or does not
};
inline constexpr std::size_t fault_kinds = 28;

/// What is outside of the algorithm's assumptions.
enum class beyond : std::uint8_t {
    nothing,
    clock_step,        ///< a node's clock jumps ahead by more than a ttl
    amnesia,           ///< a node comes back at once, without its keys
    ignores_owns,      ///< the application never asks whether its lease still is
    rollback,          ///< a node comes back with fencing counters of an earlier time
    date_back,         ///< a node's date is set back, and it comes back without its keys
    swapped,           ///< a node's database is swapped with an empty one
    liar,              ///< a node grants every lock, and keeps none
    liar_of_counters,  ///< a node answers increments, and does not count
    unequal_nodes,     ///< every second client is given two of the nodes less, and one at least
    // With the restart guard or without it:
    counter_deleted,      ///< somebody deletes fencing counters
    expired_date_back,    ///< a node's date is set back by twice the life of counters that expired
    used_date_back,       ///< the same of counters that are used once more, and expire then
    expiring_date_back,   ///< by no more than counters that expire bear, at any time
    unequal_counter_ttl,  ///< by what bear those that only some clients use, when they expired
    // Though all clients have the restart guard, or all but one:
    date_back_borne,    ///< as date_back, by no more than tokens bear; or with keys of before
    guarded_date_back,  ///< the same, by more than the time that the node is out of votes for
    date_back_before,   ///< a node's date is set back, and later it comes back without its keys
    admitted_at_once,   ///< a node loses its keys, and a client that begins takes it for a new one
    one_unguarded,      ///< a node loses its keys, and one client has no guard
    restored,           ///< a node's keys of an earlier time are there again, within one run
    false_durable,      ///< a node that is given as durable loses its keys
    unequal_max_ttl,    ///< all nodes lose their keys, and one client has a larger `max_ttl`
};

[[nodiscard]] constexpr bool is_guarded(beyond b) noexcept
{
    return b == beyond::date_back_borne || b == beyond::guarded_date_back ||
           b == beyond::date_back_before || b == beyond::admitted_at_once ||
           b == beyond::one_unguarded || b == beyond::restored || b == beyond::false_durable ||
           b == beyond::unequal_max_ttl;
}

/// The seed says whether clients have the restart guard.
[[nodiscard]] constexpr bool may_be_guarded(beyond b) noexcept
{
    return b == beyond::nothing || b == beyond::counter_deleted || b == beyond::expired_date_back ||
           b == beyond::used_date_back || b == beyond::expiring_date_back ||
           b == beyond::unequal_counter_ttl;
}

using fault_set = std::uint32_t;

[[nodiscard]] constexpr fault_set only(fault f) noexcept
{
    return fault_set{1} << static_cast<unsigned>(f);
}
inline constexpr fault_set all_faults = (fault_set{1} << fault_kinds) - 1;

[[nodiscard]] std::string_view name_of(fault f) noexcept;
[[nodiscard]] std::optional<fault> fault_named(std::string_view name) noexcept;
/// As in "delay,cut"; "none".
[[nodiscard]] std::string names_of(fault_set faults);

/// What one play consists of; the seed says what is left open.
struct options {
    std::uint64_t seed = 0;
    /// No other faults than these.
    fault_set allowed = all_faults;
    beyond outside = beyond::nothing;
    /// Exclusion may break: what is looked at are the fencing tokens, which every lock has.
    bool only_tokens = false;
    /// How many acquires are begun, if not as many as the seed says.
    std::optional<unsigned> acquires;
};

/// A play before it begins.
struct plan {
    std::uint64_t seed = 0;
    beyond outside = beyond::nothing;
    unsigned nodes = 3;
    unsigned clients = 2;
    unsigned tasks = 2;  ///< of each client
    unsigned resources = 1;
    unsigned acquires = 20;
    fault_set faults = 0;
    bool only_tokens = false;
    /// The mean time between two faults of a kind, of those that come by themselves.
    std::array<base::nanos, fault_kinds> every{};
    /// One message, connection or operation in so many, of those that come with them.
    std::array<std::uint32_t, fault_kinds> one_in{};
    /// The same of delays, by direction: of bytes to a node, and of bytes to a client.
    std::uint32_t delay_up_one_in = 0;
    std::uint32_t delay_down_one_in = 0;
    /// What acquires and extends ask for.
    std::vector<std::chrono::milliseconds> ttls;
    double drift_factor = 0.01;
    /// A message's way, when nothing is wrong.
    base::nanos least_way{};
    base::nanos longest_way{};
    /// What a step of a task takes, on average.
    base::nanos pace{};
    bool pings = true;
    bool fencing = false;
    /// How far a fencing counter may be beyond a node's own time, and how long it lives; every
    /// second client may say longer.
    base::nanos counter_slack{};
    base::nanos counter_ttl{};
    base::nanos longest_counter_ttl{};
    // What a client may keep, and how it waits.
    std::size_t max_pending_releases = 1000;
    std::size_t max_buffered_bytes = 1024 * 1024;
    std::size_t max_in_flight = 1000;
    std::size_t max_waiters = 1000;
    std::size_t max_waiters_per_resource = 1000;
    std::chrono::milliseconds backoff_min{5};
    std::chrono::milliseconds backoff_max{250};
    bool release_notifications = true;
    std::chrono::milliseconds max_poll_interval{1000};
    std::string key_prefix;
    /// Clients have the restart guard: all, but for `one_unguarded`.
    bool guard = false;
    /// Nodes begin without a marker.
    bool new_masters = false;
    /// One lock in so many is of several resources; zero: none.
    std::uint32_t groups_one_in = 0;
    /// One lock in so many is taken on behalf of an owner; zero: none.
    std::uint32_t owns_one_in = 0;
    /// One lock in so many is kept alive; zero: none.
    std::uint32_t keeps_one_in = 0;

    [[nodiscard]] bool has(fault f) const noexcept { return (faults & only(f)) != 0; }
    [[nodiscard]] std::chrono::milliseconds longest_ttl() const noexcept;
    /// How many a client is given, the first ones.
    [[nodiscard]] unsigned nodes_of(unsigned client) const noexcept;
    /// The longest that a client may ask for.
    [[nodiscard]] std::chrono::milliseconds longest_ttl_of(unsigned client) const noexcept;
    [[nodiscard]] base::nanos counter_ttl_of(unsigned client) const noexcept
    {
        return client % 2 == 0 ? counter_ttl : longest_counter_ttl;
    }
    /// A node can be full of what one client has to say.
    [[nodiscard]] bool is_tight() const noexcept { return max_buffered_bytes < 100'000; }
};

[[nodiscard]] plan make_plan(const options& o);

}  // namespace redlock::sim
