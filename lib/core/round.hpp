#pragma once

#include <redlock/report.hpp>

#include "base/instant.hpp"
#include "core/fencing.hpp"
#include "core/lease.hpp"
#include "core/list.hpp"
#include "core/votes.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace redlock::core {

struct operation;
struct in_deadline_order;

/// The answer of each node, for a report or an inspection. Kept only if the caller wants one.
struct round_details {
    /// The reply of PTTL for a key without a ttl.
    static constexpr std::chrono::milliseconds no_ttl{-1};

    struct of_node {
        /// The vote of the node; `error` is the reason if it has failed.
        node_outcome outcome = node_outcome::undecided;
        base::nanos elapsed{};
        std::string error;
        /// The key's value as read by an inspect.
        std::string owner;
        /// The value of the key beside it that holds the holder's label.
        std::string label;
        /// The remaining ttl that an inspect, or a command after a refused SET, has read; or
        /// `no_ttl`. Any other negative value: there is no key.
        std::optional<std::chrono::milliseconds> ttl;
        bool foreign_kind = false;
        /// The key beside it holds something else than a label.
        bool foreign_label = false;
        /// Among several resources, the number of the one that the node refused, from one.
        unsigned member = 0;
    };
    std::array<of_node, max_nodes> nodes;
    /// For an inspect: the tickets of waiting clients, and the age of the first one.
    std::optional<std::size_t> clients_waiting;
    std::optional<std::chrono::milliseconds> first_waits_for;
};

/// The kinds of rounds.
enum class round_kind : std::uint8_t {
    set,      ///< one resource
    take,     ///< several resources
    extend,   ///< a lease
    release,  ///< of a lease
    inspect,  ///< the state of a resource
    align,    ///< the fencing counters of an attempt
};

/// Whether such a round is an attempt of an acquire.
[[nodiscard]] constexpr bool is_attempt(round_kind what) noexcept
{
    return what == round_kind::set || what == round_kind::take;
}

/**
 * One command to all nodes, and their votes.
 *
 * A round outlives its operation until each node has answered or its connection was lost. So a late
 * reply finds its round.
 */
struct round : list_hook<in_deadline_order> {
    lease* of = nullptr;
    base::instant t0{};
    base::instant deadline{};
    votes tally;

    round_kind what = round_kind::set;
    /// For an attempt for one resource: each node that refuses also returns the holder's ttl.
    bool asks_ttl = false;
    /// The round was decided, or its operation does not wait for it. A late vote changes only what
    /// is known of its node.
    bool closed = false;
    /// For an inspect: there is no verdict before the last vote.
    bool every_node = false;
    /// An attempt asks each node that refuses for the holder's label. An extend asks for the label
    /// of an adopted lock.
    bool asks_label = false;
    /// Commands without an answer, pending releases, and the operation.
    std::uint32_t references = 0;

    /// Nodes that the client is connecting to. It asks them if they become ready before the
    /// deadline.
    node_mask parked = 0;

    /// For an inspect: the node that is also asked for the queue of waiters.
    node_mask asks_queue = 0;

    /// Nodes that granted, and must still prove that they are admitted.
    node_mask awaits_proof = 0;

    /// Nodes that set the key. Their vote may still wait for the counter.
    node_mask keyed = 0;

    /// Among several resources, the number of the one that was refused last, from one.
    unsigned member = 0;

    /// The fencing counters of the nodes; null for an attempt without a token, and for an
    /// alignment.
    fencing_votes* fencing = nullptr;
    /// For an attempt, the alignment under way, which late grants join. For an alignment, its
    /// attempt, counted.
    round* partner = nullptr;
    /// The value of an alignment; 0 while there is none.
    std::int64_t target = 0;

    /// The operation that waits for the verdict; null: none does.
    operation* waiter = nullptr;
    round_details* details = nullptr;
    /// The ttl that an extend sends.
    base::nanos ttl{};
    /// The shortest remaining ttl that a node returned.
    std::optional<std::chrono::milliseconds> holder_ttl;

    /// Whether the node has answered the attempt without setting the key, and has not voted. It has
    /// refused, and only the holder's ttl or label has not come.
    [[nodiscard]] bool refused_itself(unsigned index) const noexcept
    {
        return (asks_ttl || what == round_kind::take) && (of->answered & bit(index)) != 0 &&
               (keyed & bit(index)) == 0 && !tally.has_voted(index);
    }
};

}  // namespace redlock::core
