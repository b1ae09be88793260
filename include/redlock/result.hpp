#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace redlock {

/// Result of a release.
enum class release_result : std::uint8_t {
    /// The nodes deleted the key wherever they found it, and a majority may have had it until then.
    released,
    /// No majority can have had the key: the lease had expired, or was released before.
    not_held,
    /// The reentrant owner has further holds. The lock stays with those holds.
    still_held,
};

/// State of a resource, as a majority of the nodes shows it.
enum class lock_state : std::uint8_t {
    /// No owner has a majority, and the nodes that did not answer could not give one a majority.
    free,
    /// One owner has a majority.
    held,
    /// Too few nodes answered to decide.
    unknown,
};

/// Result of an inspect. It describes the past by the time you read it: to hold a lock, acquire it.
struct inspection {
    /// State of the resource.
    lock_state state = lock_state::unknown;

    /// The `node_report::key_group` of the holder: nodes of the report with this number are a
    /// majority of all nodes. Empty unless the resource is held.
    std::optional<unsigned> holder_group;

    /// The `node_report::key_group` that has the keys of `inspect_options::owner_token`. Empty: no
    /// node reported such a key.
    std::optional<unsigned> own_group;

    /// Whether the holder's key is of the type that this library writes. False for a key of another
    /// type, for example a lock of Redisson.
    bool owner_known = false;

    /// The holder's `acquire_options::label`, printable. Empty: the holder has no label, or the
    /// client read none.
    std::string holder_label;

    /**
     * Minimum time for which the holder keeps a majority. Empty unless the resource is held with a
     * ttl. It is the quorum-th largest remaining ttl of the answers that agree on one owner, less
     * the time since the question and the clock drift.
     */
    std::optional<std::chrono::milliseconds> remaining;

    /// Number of clients in the queue for the resource, as the queue node reported it. Tickets of
    /// clients that died or lost their connection count too, until they expire. Empty: unknown. See
    /// `config::fair_queue`.
    std::optional<std::size_t> clients_waiting;

    /// Time for which the first client in the queue has waited. Empty: unknown, or no client waits.
    std::optional<std::chrono::milliseconds> first_waits_for;

    /// Number of nodes that agree on the owner, as far as the first 64 bytes of the value show.
    /// These bytes contain a whole token of this library, but perhaps not another client's.
    unsigned agreeing = 0;
    unsigned empty = 0;   ///< Number of nodes that have no key.
    unsigned silent = 0;  ///< Number of nodes that did not answer, or answered with an error.
};

}  // namespace redlock
