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

/// The kinds of faults. Each play has some of them, each as often as its seed says.
enum class fault : std::uint8_t {
    delay,           ///< bytes take longer in one direction, also longer than the node timeout
    split,           ///< bytes come in pieces
    cut,             ///< a connection is lost with some of the bytes on their way
    black_hole,      ///< nothing passes in one direction for a while
    half_open,       ///< a connection ends and one side does not hear of it
    slow_write,      ///< a socket takes bytes slowly
    slow_dial,       ///< a connect takes long or is refused
    node_pause,      ///< a node is suspended and executes everything afterwards
    node_block,      ///< a node executes reads and delays all writes
    restart,         ///< a node restarts with its keys
    restart_empty,   ///< a node restarts without keys, once every key would have expired
    full,            ///< a node is out of memory
    loading,         ///< a node is loading its data
    script_flush,    ///< a node forgets its scripts, and its permissions for other commands change
    old_server,      ///< nodes before RESP3, with their own compare-and-delete, or without digests
    clock_rate,      ///< clocks run apart as far as the drift allows
    clock_offset,    ///< clocks show a wrong time
    client_pause,    ///< a client is suspended, sometimes for longer than its leases
    client_kill,     ///< a client is killed
    client_destroy,  ///< a client is destroyed, and another one begins
    client_close,    ///< a client is closed, and ends once no output is left
    cancel,          ///< operations are cancelled
    drop,            ///< locks are dropped instead of released
    hand_over,       ///< a lock passes to another client
    forget,          ///< nodes lose live keys, one or all of them; under the restart guard
    push,            ///< a notification is lost, doubled, much later, or without a cause
    raise,           ///< an alignment of fencing counters or its answer comes late or never
    demoted,         ///< a node is a replica for a while, and takes writes or refuses them
};
inline constexpr std::size_t fault_kinds = 28;

/// The assumptions that a play can break.
enum class beyond : std::uint8_t {
    nothing,
    clock_step,        ///< a node's clock jumps ahead by more than a ttl
    amnesia,           ///< a node comes back at once, without its keys
    ignores_owns,      ///< the application never asks `owns()`
    rollback,          ///< a node comes back with fencing counters of an earlier time
    date_back,         ///< a node's date is set back, and it comes back without its keys
    swapped,           ///< a node's database is swapped with an empty one
    liar,              ///< a node grants every lock and keeps none
    liar_of_counters,  ///< a node answers increments and does not count
    unequal_nodes,     ///< every second client gets two nodes less, but at least one
    // With the restart guard or without it:
    counter_deleted,      ///< an operator deletes fencing counters
    expired_date_back,    ///< a node's date is set back by twice the life of counters that expired
    used_date_back,       ///< the same, while the counters are used once more and expire later
    expiring_date_back,   ///< by no more than counters with a ttl allow, at any time
    unequal_counter_ttl,  ///< by as much as counters of the longer life allow, after they expired
    // Although all clients have the restart guard, or all except one:
    date_back_borne,    ///< as date_back, by no more than tokens allow; or with earlier keys
    guarded_date_back,  ///< the same, by more than the time that the node is out of votes for
    date_back_before,   ///< a node's date is set back, and later it comes back without its keys
    admitted_at_once,   ///< a node loses its keys, and a client that begins admits it as new
    one_unguarded,      ///< a node loses its keys, and one client has no guard
    restored,           ///< a node gets back keys of an earlier time within one run
    false_durable,      ///< a node that is configured as durable loses its keys
    unequal_max_ttl,    ///< all nodes lose their keys, and one client has a larger `max_ttl`
};

[[nodiscard]] constexpr bool is_guarded(beyond b) noexcept
{
    return b == beyond::date_back_borne || b == beyond::guarded_date_back ||
           b == beyond::date_back_before || b == beyond::admitted_at_once ||
           b == beyond::one_unguarded || b == beyond::restored || b == beyond::false_durable ||
           b == beyond::unequal_max_ttl;
}

/// Whether the seed decides if clients have the restart guard.
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
/// As in "delay,cut", or "none".
[[nodiscard]] std::string names_of(fault_set faults);

/// The options of a play. The seed decides the rest.
struct options {
    std::uint64_t seed = 0;
    /// The only faults that may occur.
    fault_set allowed = all_faults;
    beyond outside = beyond::nothing;
    /// Exclusion may break. The checker looks only at fencing tokens, which every lock has.
    bool only_tokens = false;
    /// How many acquires begin. The seed decides if this is empty.
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
    /// The mean time between two faults of a kind, for kinds that strike by themselves.
    std::array<base::nanos, fault_kinds> every{};
    /// One in this many messages, connections or operations has a fault of the kind, for kinds that
    /// come with them.
    std::array<std::uint32_t, fault_kinds> one_in{};
    /// The same for delays by direction: of bytes to a node and of bytes to a client.
    std::uint32_t delay_up_one_in = 0;
    std::uint32_t delay_down_one_in = 0;
    /// The ttls of acquires and extends.
    std::vector<std::chrono::milliseconds> ttls;
    double drift_factor = 0.01;
    /// How long a message takes when nothing is wrong.
    base::nanos least_way{};
    base::nanos longest_way{};
    /// The average time between two steps of a task.
    base::nanos pace{};
    bool pings = true;
    bool fencing = false;
    /// How far a fencing counter may be ahead of a node's own time, and its ttl. Every second
    /// client may use a longer ttl.
    base::nanos counter_slack{};
    base::nanos counter_ttl{};
    base::nanos longest_counter_ttl{};
    // The limits of a client, and how it waits.
    std::size_t max_pending_releases = 1000;
    std::size_t max_buffered_bytes = 1024 * 1024;
    std::size_t max_in_flight = 1000;
    std::size_t max_waiters = 1000;
    std::size_t max_waiters_per_resource = 1000;
    std::chrono::milliseconds backoff_min{5};
    std::chrono::milliseconds backoff_max{250};
    bool release_notifications = true;
    bool fair_queue = true;
    std::chrono::milliseconds max_poll_interval{1000};
    std::string key_prefix;
    /// Clients have the restart guard: all, or with `one_unguarded` all except one.
    bool guard = false;
    /// Nodes begin without a marker.
    bool new_masters = false;
    /// One lock in this many has several resources. Zero: none.
    std::uint32_t groups_one_in = 0;
    /// One lock in this many has a reentrant owner. Zero: none.
    std::uint32_t owns_one_in = 0;
    /// One lock in this many is kept alive. Zero: none.
    std::uint32_t keeps_one_in = 0;

    [[nodiscard]] bool has(fault f) const noexcept { return (faults & only(f)) != 0; }
    [[nodiscard]] std::chrono::milliseconds longest_ttl() const noexcept;
    /// How many nodes a client gets. They are the first ones.
    [[nodiscard]] unsigned nodes_of(unsigned client) const noexcept;
    /// The longest ttl that a client may ask for.
    [[nodiscard]] std::chrono::milliseconds longest_ttl_of(unsigned client) const noexcept;
    [[nodiscard]] base::nanos counter_ttl_of(unsigned client) const noexcept
    {
        return client % 2 == 0 ? counter_ttl : longest_counter_ttl;
    }
    /// The commands of one client can fill the buffer for a node.
    [[nodiscard]] bool is_tight() const noexcept { return max_buffered_bytes < 100'000; }
};

[[nodiscard]] plan make_plan(const options& o);

}  // namespace redlock::sim
