#pragma once

#include "base/instant.hpp"
#include "core/ticket.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace redlock::core {

/// The end of a key that has no ttl, or whose ttl no node returned.
inline constexpr base::instant unknown_end = base::instant::max();

/// What an acquire waits for at a node between two attempts.
struct wait_state {
    enum class stage : std::uint8_t {
        none,    ///< nothing
        asked,   ///< the answer of the node, which was asked for a place in the queue
        behind,  ///< the end of the ticket before its own, or the moment to ask for its place
        first,   ///< the end of the lock; no ticket is before its own, or it has none
    };

    stage at = stage::none;
    /// The node that was asked.
    std::uint8_t node = 0;
    /// It has a ticket at the node for what is in the way.
    bool has_ticket = false;
    /// The node will send a notification of the end.
    bool is_watched = false;
    /// The lock may be free, so an attempt is due.
    bool attempt_due = false;
    /// The next attempt or question is no poll: a notification or an answer of the node led to it.
    bool is_notified = false;
    /// A notification has led to the present attempt.
    bool was_notified = false;
    /// The lock was found free, and no key of it was seen since.
    bool found_free = false;
    /// The present attempt or question is a poll, though the node would have notified the client.
    bool is_poll = false;
    /// Among several resources, the number of the one that is in the way, from one.
    unsigned member = 0;

    /// A ticket for a resource that is not in the way now.
    struct kept_ticket {
        unsigned member;
        std::uint8_t node;
    };
    /// Among several resources, the tickets for others than the one in the way.
    std::vector<kept_ticket> kept;

    ticket own;
    ticket predecessor;
    /// The number of tickets before its own, by the last answer; empty: none came.
    std::optional<std::size_t> before;
    /// The number of its tickets, which it keeps at another node and for another resource; 0: none.
    std::int64_t number = 0;

    /// Since when the lock is free while the queue before the ticket stays the same.
    std::optional<base::instant> idle_since;
    /// The instant at which the acquire asks for itself.
    base::instant poll_at{};
    /// The time between two polls where nothing better is known.
    base::nanos backoff{};
    /// Since when the acquire waits for the same end.
    base::instant watched_since{};
    /// The end of the key in the way by the last answer.
    base::instant refused_until = unknown_end;
};

}  // namespace redlock::core
