#pragma once

#include <cstddef>
#include <cstdint>

namespace redlock {

/// A snapshot of a client's counters. All of them start at zero; none ever wraps in practice.
struct stats {
    // What was asked for, by how it ended. An adopt counts as an acquire.
    std::uint64_t acquired = 0;     ///< acquires that gave a lock
    std::uint64_t contended = 0;    ///< acquires that ended `contended`
    std::uint64_t unavailable = 0;  ///< acquires that ended `unavailable`
    std::uint64_t expired = 0;      ///< acquires that ended `expired`
    std::uint64_t timed_out = 0;    ///< acquires that ended `timed_out`
    std::uint64_t cancelled = 0;    ///< acquires that their caller cancelled
    std::uint64_t attempts = 0;     ///< rounds of SET begun
    std::uint64_t handed_over =
        0;  ///< locks that ended with others in line, which the first of them then asked for
    std::uint64_t wake_ups_granted = 0;  ///< attempts begun as a server told that the lock is free,
                                         ///< or, to who wants several resources, this client gave
                                         ///< one of them back; which gave it
    std::uint64_t wake_ups_refused = 0;  ///< such attempts that did not
    std::uint64_t wake_ups_missed = 0;   ///< polls that found that a server should have told
    std::uint64_t polls = 0;             ///< further attempts begun since nothing was told
    std::uint64_t released = 0;          ///< releases that ended `released`
    std::uint64_t not_held =
        0;  ///< releases that found nothing to release; `nested` ones are neither
    std::uint64_t release_unknown = 0;  ///< releases no majority answered
    std::uint64_t dropped = 0;          ///< locks given back by their destructor
    std::uint64_t extended = 0;         ///< extends that ended renewed
    std::uint64_t lost = 0;             ///< extends that ended `lost`
    std::uint64_t extend_unknown = 0;   ///< extends no majority answered

    // Locks kept alive.
    std::uint64_t renewed = 0;          ///< renewals that gave new validity
    std::uint64_t renewal_unknown = 0;  ///< renewals no majority answered
    std::uint64_t renewals_late = 0;    ///< renewals begun a node timeout too late, or later
    std::uint64_t kept_lost = 0;        ///< kept locks that were lost, in whichever way
    std::uint64_t limits_reached = 0;   ///< kept locks that were held as long as they might be

    // What happened on the wire.
    std::uint64_t commands = 0;         ///< commands queued, on all nodes
    std::uint64_t node_timeouts = 0;    ///< commands a node did not answer within `node_timeout`
    std::uint64_t node_errors = 0;      ///< commands answered with an error
    std::uint64_t late_replies = 0;     ///< replies that came after their command's deadline
    std::uint64_t late_grants = 0;      ///< of those, grants of a lock nobody waited for any more
    std::uint64_t give_backs = 0;       ///< releases for nobody, a node each, queued or owed
    std::uint64_t debts_dropped = 0;    ///< owed releases given up: too many, or no memory
    std::uint64_t raises = 0;           ///< rounds that raised fencing counters
    std::uint64_t script_reloads = 0;   ///< scripts a node had forgotten
    std::uint64_t connects = 0;         ///< connections that became usable
    std::uint64_t disconnects = 0;      ///< usable connections that were lost or closed
    std::uint64_t protocol_errors = 0;  ///< connections closed because of what the node sent

    // How things stand now.
    std::size_t nodes_ready = 0;        ///< nodes that can be asked now
    std::size_t nodes_connecting = 0;   ///< nodes whose first attempt to connect has not ended
    std::size_t nodes_quarantined = 0;  ///< of those, nodes whose votes do not count yet
    std::size_t in_flight = 0;          ///< operations begun and not completed
    std::size_t waiting = 0;            ///< of those, acquires in line behind others of the client
    std::size_t kept = 0;               ///< locks being kept alive
    std::size_t leases = 0;             ///< locks held, being taken or not wholly given back yet,
                                        ///< or whose counter is owed a ttl
    std::size_t unanswered = 0;         ///< commands without a reply yet, on all nodes
    std::size_t debts = 0;              ///< releases, and ttls of counters, that are owed to nodes
    std::size_t buffered_bytes = 0;     ///< bytes queued and not yet written, on all nodes
};

}  // namespace redlock
