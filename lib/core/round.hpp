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

/// What a report or an inspection wants to know of each node. Kept only when somebody asked.
struct round_details {
    /// As PTTL has it.
    static constexpr std::chrono::milliseconds no_ttl{-1};

    struct of_node {
        /// Its vote, and why it is none.
        node_outcome outcome = node_outcome::undecided;
        base::nanos elapsed{};
        std::string error;
        /// The key's value as read by an inspect.
        std::string owner;
        /// The value of the key beside it that holds the holder's label.
        std::string label;
        /// The remaining ttl as read behind a refused SET or by an inspect, or `no_ttl`; any other
        /// negative one: no key.
        std::optional<std::chrono::milliseconds> ttl;
        bool foreign_kind = false;
        /// The key beside it holds something else than a label.
        bool foreign_label = false;
        /// Of several resources the one that the node refused, counted from one.
        unsigned held = 0;
    };
    std::array<of_node, max_nodes> nodes;
};

/// What a round asks the nodes for.
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
 * One command to all nodes and what they said: the unit of voting.
 *
 * It outlives the operation that began it until the last node answered or its connection was lost,
 * so that a late reply finds its place.
 */
struct round : list_hook<in_deadline_order> {
    lease* of = nullptr;
    base::instant t0{};
    base::instant deadline{};
    votes tally;

    round_kind what = round_kind::set;
    /// Of an attempt for one resource: each node that refuses also returns the holder's ttl.
    bool asks_ttl = false;
    /// Decided, or given up by its operation: late votes change nothing but what is known of the
    /// nodes.
    bool closed = false;
    /// Of an inspect: there is no verdict before the last vote.
    bool every_node = false;
    /// Of an attempt: whoever refuses is asked for the holder's label. An extend asks
    /// for the label of an adopted lock.
    bool asks_label = false;
    /// Commands without an answer, pending releases, and the operation.
    std::uint32_t references = 0;

    /// Nodes that are being connected to; they are asked if they become ready before the deadline.
    node_mask parked = 0;

    /// The one node that is asked first, and the others only if it does not refuse; none: all are
    /// asked at once.
    node_mask gate = 0;

    /// Nodes that granted, and have yet to show that they are admitted.
    node_mask awaits_proof = 0;

    /// Nodes that set the key, whether their vote is in or waits for the counter behind it.
    node_mask keyed = 0;

    /// Nodes to which the script went a second time, without the command to watch the key.
    node_mask sent_again = 0;

    /// Of several resources the one that was refused last, counted from one.
    unsigned held = 0;

    /// What the nodes' counters say; null where no fencing token is asked for, and of a raise.
    fencing_votes* fencing = nullptr;
    /// Of an attempt: its raise under way, which its late grants join. Of a raise: its attempt,
    /// counted.
    round* partner = nullptr;
    /// Of a raise: where to; 0 while there is nothing to aim at.
    std::int64_t target = 0;

    /// Who waits for the verdict; null when nobody does (any more).
    operation* waiter = nullptr;
    round_details* details = nullptr;
    /// What an extend sends.
    base::nanos ttl{};
    /// The remaining ttl of the holder with the shortest one, as far as asked.
    std::optional<std::chrono::milliseconds> holder_ttl;

    /// A node that has answered the attempt, has not set the key and has not voted, has refused:
    /// only the holder's ttl or label is yet to come.
    [[nodiscard]] bool refused_itself(unsigned node) const noexcept
    {
        return (asks_ttl || what == round_kind::take) && (of->answered & bit(node)) != 0 &&
               (keyed & bit(node)) == 0 && !tally.has_voted(node);
    }
};

}  // namespace redlock::core
