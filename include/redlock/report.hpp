#pragma once

#include <redlock/detail/built_with.hpp>

#include <chrono>
#include <cstddef>
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

/// Answer of one node to one request.
enum class node_outcome {
    /// The operation was decided before this node answered.
    undecided,
    /// The client sent the node no request: it made no attempt, or it had never asked this node for
    /// the key that it releases.
    not_asked,
    /// The node did what the client asked: it set, extended or deleted the key. For an inspect, the
    /// node has a key.
    granted,
    /// The node answered that the key is another owner's, or is not there. For a release also: the
    /// client did not ask, because the key must have expired on this node. For an inspect, the node
    /// has no key.
    refused,
    /// The node did not answer within the node timeout.
    timed_out,
    /// There was no usable connection, or it was lost before the answer.
    disconnected,
    /// The client did not ask, because the node has left earlier requests unanswered.
    stalled,
    /// The node answered with an error; `node_report::error` has its text. Also if a key is in the
    /// way that this client may have set itself, because the node refused to release it.
    failed,
    /// The node may have forgotten locks, so the restart guard does not count its vote.
    quarantined,
};

/// Returns the English name of an outcome, for logs and messages.
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

/// Part of one node in the last attempt of an operation.
struct node_report {
    /// URL of the node as configured, without user and password.
    std::string node;
    /// Answer of the node.
    node_outcome outcome = node_outcome::undecided;
    /// Time from the start of the request to the node's answer, or to the moment when the client
    /// gave up.
    std::chrono::microseconds elapsed{0};
    /// Text of the server's error, shortened and freed of secrets. For a node that is disconnected,
    /// stalled or in quarantine, the reason. For a node that timed out, the node timeout. For a
    /// node that granted an acquire, why it brought no fencing token. After an inspect also set if
    /// the key of the holder's label holds something else. Otherwise empty.
    std::string error;
    /// Remaining ttl of the holder's key on this node, if the node reported it. Set where the node
    /// refused an acquire, and where an inspect found a key with a ttl.
    std::optional<std::chrono::milliseconds> holder_ttl;
    /// Whether the holder's key on this node has no ttl, so that it never ends by itself. Set only
    /// where the node would otherwise report `holder_ttl`.
    bool never_ends = false;
    /// Name of the resource that the node refused, for an acquire, extend or adopt of several
    /// resources. If the node refused several, the first of them in the order in which they were
    /// given. Otherwise empty.
    std::string refused_resource;
    /// Number that shows which nodes have keys of one owner. Set for an inspect where the node has
    /// a key; otherwise empty. The number does not identify the owner:
    /// - Nodes with the same number have keys of one owner, as far as the first 64 bytes of the
    ///   value show.
    /// - Numbers count from zero in the order of the nodes. Each report starts again.
    /// - All keys of another type count as keys of one owner.
    std::optional<unsigned> key_group;
    /// Remaining time of the quarantine. Empty if the node is not in quarantine. The quarantine
    /// ends sooner if another client admits the node. It lasts longer if the node loses its keys
    /// again.
    std::optional<std::chrono::milliseconds> quarantine;
};

/**
 * Answer of each node to one operation. Pass the address of a report in the options of an
 * operation. The client fills the report before the completion handler runs. The report must live
 * until then.
 *
 * The report is empty when the operation was cancelled, or ended before it asked a node. The same
 * holds if it ended with the client, unless an acquire had made an attempt. An acquire with a
 * report also asks every node for the holder's remaining ttl and label. That costs two more
 * commands a node.
 *
 * An acquire fills the report after each attempt. So your program can say why an acquire waits.
 * Read the report of an acquire that waits only on the client's executor, and not with
 * `config::thread_safe`. Until the first attempt has ended, the report is empty.
 */
struct report {
    /// The nodes in the order of `config::nodes`, as of the last attempt.
    std::vector<node_report> nodes;
    /// Number of attempts. It is 1 for every operation other than an acquire. It is 0 for an
    /// acquire that found no majority in time for an attempt, or that stayed in the wait queue
    /// until its end.
    std::uint32_t attempts = 0;
    /// Position of an acquire in the wait queue of its client when it began to wait: the number of
    /// waiters before it. The leader of the queue does not count.
    std::size_t queue_position = 0;
    /// Number of other clients that were before this client in the queue of clients, by the last
    /// answer of the queue node. Only for an acquire. Empty: unknown, for example because the
    /// acquire took no ticket. See `config::fair_queue`.
    std::optional<std::size_t> clients_before;
    /// Time for which the holder may keep the resource without an extend, if known. Only for an
    /// acquire that did not get the lock:
    /// - After an attempt, it is the smallest ttl that the nodes reported in the last attempt.
    /// - For an acquire in the wait queue, it is the validity of this client's own lock, or what
    ///   the leader of the queue learned.
    std::optional<std::chrono::milliseconds> holder_ttl;
    /// The `acquire_options::label` of the holder, as one node that refused reported it. Only for
    /// an acquire that did not get the lock. Printable. Empty: the holder has no label, or no node
    /// reported it. The label is a hint: unlike `inspection::holder_label` it is not compared with
    /// the owner.
    std::string holder_label;
};

}  // namespace redlock
