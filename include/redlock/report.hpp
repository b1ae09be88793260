#pragma once

#include <redlock/detail/built_with.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace redlock {

/// @cond
namespace detail {
[[REDLOCK_KEPT]] static constexpr auto& required_by_reports =
    setting::in_containers::with<library_built_with>;
}
/// @endcond

/// What one node said to one request.
enum class node_outcome {
    undecided,     ///< the operation was decided before this node answered
    not_asked,     ///< it never was given the key: nothing to ask for, no attempt was made, or
                   ///< another node was asked first and did not grant
    granted,       ///< it did what was asked: set, extended, or deleted the key
    refused,       ///< it answered that the key is somebody else's, or is not there
    timed_out,     ///< no answer within the node timeout
    disconnected,  ///< there was no usable connection, or it was lost before the answer
    stalled,       ///< not asked, because it has left earlier requests unanswered
    failed,        ///< it answered with an error; `node_report::error` has its text
    quarantined,   ///< it may have forgotten locks, so that its vote does not count (restart guard)
};

/// The English name of an outcome, for logs and messages.
[[nodiscard]] constexpr const char* to_string(node_outcome o) noexcept
{
    switch (o) {
        case node_outcome::undecided: return "undecided";
        case node_outcome::not_asked: return "not asked";
        case node_outcome::granted: return "granted";
        case node_outcome::refused: return "refused";
        case node_outcome::timed_out: return "timed out";
        case node_outcome::disconnected: return "disconnected";
        case node_outcome::stalled: return "stalled";
        case node_outcome::failed: return "failed";
        case node_outcome::quarantined: return "quarantined";
    }
    return "?";
}

/// One node's part in the last attempt of an operation.
struct node_report {
    /// The node as configured, without user and password.
    std::string node;
    /// What it said to the request.
    node_outcome outcome = node_outcome::undecided;
    /// From the request's start to the node's answer, or to the moment it was given up.
    std::chrono::microseconds elapsed{0};
    /// The server's error text, cut and freed of secrets; why a node is disconnected or in
    /// quarantine; else empty.
    std::string error;
    /// How long the present holder's key lives on this node, when it refused and told.
    std::optional<std::chrono::milliseconds> holder_ttl;
    /// Of a lock of several resources the one that the node refused, the first of them in the order
    /// of their names as they were given; else empty.
    std::string held;
    /// Of an inspect, where the node has a key: which party it is of. Not who that is, but which
    /// nodes have keys of one owner, as far as the first 64 bytes tell: those are a party, counted
    /// from zero in the order of the nodes, in each report anew. All keys of another type count as
    /// of one owner. Else empty.
    std::optional<unsigned> party;
    /// How long the node stays in quarantine yet, when it is, unless another client admits it
    /// sooner or it loses its keys again.
    std::optional<std::chrono::milliseconds> quarantine;
};

/**
 * What an operation met, node by node. Pass its address in the options of an operation; it is
 * filled before the completion handler runs and must live until then. It is empty when the
 * operation was cancelled, or ended with the client or before it looked at a node. An acquire with
 * a report asks every node for the holder's remaining ttl and label as well, two more commands a
 * node.
 */
struct report {
    /// The nodes in the order of `config::nodes`, as of the last attempt.
    std::vector<node_report> nodes;
    /// Attempts made; 1 for everything but an acquire; 0 where no majority was there in time for
    /// one, or it waited behind other acquires of its client until its end.
    std::uint32_t attempts = 0;
    /// Of an acquire: how many others of its client stood in line in front of it when it began to
    /// wait for its turn, behind who had the resource or asked the nodes for it.
    std::size_t ahead = 0;
    /// Of an acquire that was not had: how long whoever has the resource may keep it without
    /// extending, where that was told: the least of what the nodes said in the last attempt; or for
    /// one that stood in line, the validity of this client's own lock, or what who stood in front
    /// was told.
    std::optional<std::chrono::milliseconds> holder_ttl;
    /// Of an acquire that was not had: the `acquire_options::label` of whoever has the resource, as
    /// a node that refused told it. A hint: unlike `inspection::holder_label` it is not compared
    /// with the owner. Printable. Empty: the holder has none, or no node told.
    std::string holder_label;
};

}  // namespace redlock
