#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace redlock {

/// What a release found.
enum class release_result : std::uint8_t {
    released,  ///< the key was deleted wherever it was found, and no majority was without it
    not_held,  ///< a majority had no such key: the lease had expired, or was given back before
    nested,  ///< it was one of several holds of one owner: what is left of the lock is the others'
};

/// How a resource stands, seen from a majority of the nodes.
enum class holding : std::uint8_t {
    free,     ///< no owner has a majority, or can have one among the nodes that did not answer
    held,     ///< one owner has a majority
    unknown,  ///< too few nodes answered to tell
};

/// What an inspect found. A fact of the past by the time it is read: to hold a lock, acquire it.
struct inspection {
    /// How the resource stands.
    holding state = holding::unknown;

    /// Which party holds it: the `node_report::party` of those nodes of the report that are a
    /// majority of all nodes. Empty unless held.
    std::optional<unsigned> majority;

    /// Held by a lock of this library's kind; false for a key of another type, as Redisson writes
    /// them.
    bool owner_known = false;

    /// The holder's `acquire_options::label`, printable. Empty: it has none, or none was read.
    std::string holder_label;

    /**
     * How long the holder keeps a majority at least: the quorum-th largest remaining ttl of the
     * answers that agree on one owner, less the time since the question and the clock drift. Empty
     * unless held with a ttl.
     */
    std::optional<std::chrono::milliseconds> remaining;

    /// Nodes that agree on the owner, as far as its first 64 bytes tell: all of a token of this
    /// library, but perhaps not of another client's.
    unsigned agreeing = 0;
    unsigned empty = 0;   ///< nodes that have no key
    unsigned silent = 0;  ///< nodes that did not answer, or with an error
};

}  // namespace redlock
