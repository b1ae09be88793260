#pragma once

#include <cstddef>
#include <cstdint>

namespace redlock {

/// Snapshot of a client's counters. Each counter starts at zero, and none wraps in practice.
struct stats {
    // Operations by their result. An adopt counts as an acquire.

    /// Acquires that got the lock.
    std::uint64_t acquired = 0;
    /// Acquires that ended `contended`.
    std::uint64_t contended = 0;
    /// Acquires that ended `unavailable`.
    std::uint64_t unavailable = 0;
    /// Acquires that ended `expired`.
    std::uint64_t expired = 0;
    /// Acquires that ended `timed_out`.
    std::uint64_t timed_out = 0;
    /// Acquires that their caller cancelled.
    std::uint64_t cancelled = 0;
    /// Attempts begun: rounds of SET.
    std::uint64_t attempts = 0;
    /// Locks that ended while acquires of this client waited for the same resource. The first
    /// waiter then asked for the lock.
    std::uint64_t hand_overs = 0;
    /// Attempts that a notification started and that got the lock. For an acquire of several
    /// resources a release of one of them by this client counts as a notification, too.
    std::uint64_t notified_attempts_granted = 0;
    /// Attempts that a notification started and that did not get the lock.
    std::uint64_t notified_attempts_refused = 0;
    /// Polls that found a change for which a node should have sent a notification.
    std::uint64_t notifications_missed = 0;
    /// Tickets that the client took in the queues of clients. An acquire that takes further tickets
    /// counts once. See `config::fair_queue`.
    std::uint64_t tickets = 0;
    /// Sum of the tickets that were before the client's own ones when it took them. Divided by
    /// `tickets` it is the average place of a new ticket.
    std::uint64_t ticket_positions = 0;
    /// Tickets of other clients that this client removed from a queue, because their clients had
    /// not renewed them.
    std::uint64_t tickets_skipped = 0;
    /// Polls: further attempts, and questions for a place in a queue, that begin without a
    /// notification. If an acquire takes over the wait of another acquire, its first attempt counts
    /// too.
    std::uint64_t polls = 0;
    /// Releases that ended `released`.
    std::uint64_t released = 0;
    /// Releases that found no key to delete. `still_held` releases count neither here nor in
    /// `released`.
    std::uint64_t not_held = 0;
    /// Releases that no majority answered.
    std::uint64_t release_unknown = 0;
    /// Locks that their destructor or an assignment released.
    std::uint64_t dropped = 0;
    /// Extends that extended the lease.
    std::uint64_t extended = 0;
    /// Extends that ended `lost`.
    std::uint64_t lost = 0;
    /// Extends that no majority answered.
    std::uint64_t extend_unknown = 0;

    // Locks that are kept alive.

    /// Renewals that gave new validity.
    std::uint64_t renewed = 0;
    /// Renewals that no majority answered.
    std::uint64_t renewal_unknown = 0;
    /// Renewals that began at least one node timeout late.
    std::uint64_t late_renewals = 0;
    /// Kept-alive locks that were lost, for whatever reason.
    std::uint64_t kept_alive_lost = 0;
    /// Kept-alive locks that reached `max_hold` or `max_renewals`.
    std::uint64_t limits_reached = 0;

    // Traffic with the nodes.

    /// Commands queued, on all nodes.
    std::uint64_t commands = 0;
    /// Commands that a node did not answer within `node_timeout`.
    std::uint64_t node_timeouts = 0;
    /// Commands that a node answered with an error. The handshake, labels and the set-up of
    /// notifications do not count.
    std::uint64_t node_errors = 0;
    /// Replies that came after the client had counted the command as failed.
    std::uint64_t late_replies = 0;
    /// Grants of a lock for which no acquire waited any more.
    std::uint64_t late_grants = 0;
    /// Releases for which no caller waits, counted once per node. They were queued or are pending.
    std::uint64_t background_releases = 0;
    /// Pending releases that the client dropped because of `max_pending_releases` or for lack of
    /// memory.
    std::uint64_t pending_releases_dropped = 0;
    /// Rounds that aligned fencing counters.
    std::uint64_t counter_alignments = 0;
    /// Scripts that a node no longer knew and got again.
    std::uint64_t script_reloads = 0;
    /// Connections that became usable.
    std::uint64_t connects = 0;
    /// Usable connections that were lost or closed.
    std::uint64_t disconnects = 0;
    /// Connections that the client closed because of what the node sent.
    std::uint64_t protocol_errors = 0;

    // The present state.

    /// Nodes that the client can ask now.
    std::size_t nodes_ready = 0;
    /// Ready nodes in quarantine: their votes do not count now.
    std::size_t nodes_quarantined = 0;
    /// Nodes whose first attempt to connect has not ended. Two other kinds of nodes count too:
    /// - a node that closed the connection at the greeting, until the client has tried the greeting
    ///   without HELLO
    /// - a node that last refused for a reason that passes by itself, such as LOADING or too many
    ///   clients, until another attempt ends otherwise
    std::size_t nodes_connecting = 0;
    /// Operations of every kind that have begun and not completed, waiters included. Renewals and
    /// background releases do not count. `config::max_in_flight` bounds only some of these
    /// operations, so this number may be greater.
    std::size_t in_flight = 0;
    /// Waiters: the part of `in_flight` that is in a wait queue of this client.
    /// `config::max_waiters` bounds it.
    std::size_t waiters = 0;
    /// Locks that the client keeps alive.
    std::size_t kept_alive = 0;
    /// Leases that the client has a record for: leases that are held, that an operation works on,
    /// or that have a pending release or expiry repair.
    std::size_t leases = 0;
    /// Commands without a reply so far, on all nodes. Releases and extends that share a script
    /// count one by one.
    std::size_t unanswered = 0;
    /// Pending releases and expiry repairs, on all nodes.
    std::size_t pending_releases = 0;
    /// Bytes queued and not yet written, on all nodes.
    std::size_t buffered_bytes = 0;
};

}  // namespace redlock
