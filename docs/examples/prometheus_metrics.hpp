// Names and help texts for all statistics of a client: the tables of prometheus.cpp. The compiler
// compares them with `redlock::stats`: a field that is missing here is an error.
//
// Include it in an exporter of your own. It needs nothing but the library.

#pragma once

#include <redlock/stats.hpp>

#include <cstddef>
#include <cstdint>

template <class T>
struct metric {
    T redlock::stats::*value;
    const char* name;
    const char* help;
};

constexpr metric<std::uint64_t> counters[] = {
    {&redlock::stats::acquired, "acquired", "Acquires that gave a lock"},
    {&redlock::stats::contended, "contended", "Acquires that ended contended"},
    {&redlock::stats::unavailable, "unavailable", "Acquires that ended unavailable"},
    {&redlock::stats::expired, "expired", "Acquires that ended expired"},
    {&redlock::stats::timed_out, "timed_out", "Acquires that ended timed_out"},
    {&redlock::stats::cancelled, "cancelled", "Acquires that their caller cancelled"},
    {&redlock::stats::attempts, "attempts", "Attempts begun: rounds of SET"},
    {&redlock::stats::hand_overs, "hand_overs",
     "Locks that ended while other acquires of the client waited for them"},
    {&redlock::stats::notified_attempts_granted, "notified_attempts_granted",
     "Attempts after a notification that got the lock"},
    {&redlock::stats::notified_attempts_refused, "notified_attempts_refused",
     "Attempts after a notification that did not get the lock"},
    {&redlock::stats::notifications_missed, "notifications_missed",
     "Polls that found a change without a notification"},
    {&redlock::stats::tickets, "tickets", "Tickets taken in the queues of clients"},
    {&redlock::stats::ticket_positions, "ticket_positions",
     "Sum of the tickets before the client's own ones when it took them"},
    {&redlock::stats::tickets_skipped, "tickets_skipped",
     "Tickets of other clients that the client removed from a queue"},
    {&redlock::stats::polls, "polls", "Further attempts without a notification"},
    {&redlock::stats::released, "released", "Releases that ended released"},
    {&redlock::stats::not_held, "not_held", "Releases that found nothing to release"},
    {&redlock::stats::release_unknown, "release_unknown", "Releases that no majority answered"},
    {&redlock::stats::dropped, "dropped", "Locks that their destructor released"},
    {&redlock::stats::extended, "extended", "Extends that extended the lease"},
    {&redlock::stats::lost, "lost", "Extends that ended lost"},
    {&redlock::stats::extend_unknown, "extend_unknown", "Extends that no majority answered"},
    {&redlock::stats::renewed, "renewed", "Renewals that gave new validity"},
    {&redlock::stats::renewal_unknown, "renewal_unknown", "Renewals that no majority answered"},
    {&redlock::stats::late_renewals, "late_renewals",
     "Renewals that began a node timeout late, or later"},
    {&redlock::stats::kept_alive_lost, "kept_alive_lost", "Kept-alive locks that were lost"},
    {&redlock::stats::limits_reached, "limits_reached", "Kept-alive locks that reached a limit"},
    {&redlock::stats::commands, "commands", "Commands queued, on all nodes"},
    {&redlock::stats::node_timeouts, "node_timeouts",
     "Commands that a node did not answer within node_timeout"},
    {&redlock::stats::node_errors, "node_errors", "Commands answered with an error"},
    {&redlock::stats::late_replies, "late_replies",
     "Replies that came after their command had counted as failed"},
    {&redlock::stats::late_grants, "late_grants", "Grants for which no acquire waited any more"},
    {&redlock::stats::background_releases, "background_releases",
     "Releases for which no caller waits, a node each"},
    {&redlock::stats::pending_releases_dropped, "pending_releases_dropped",
     "Pending releases dropped: too many, or no memory"},
    {&redlock::stats::counter_alignments, "counter_alignments",
     "Rounds that aligned fencing counters"},
    {&redlock::stats::script_reloads, "script_reloads", "Scripts that a node no longer knew"},
    {&redlock::stats::connects, "connects", "Connections that became usable"},
    {&redlock::stats::disconnects, "disconnects", "Usable connections that were lost or closed"},
    {&redlock::stats::protocol_errors, "protocol_errors",
     "Connections closed because of what the node sent"},
};

constexpr metric<std::size_t> gauges[] = {
    {&redlock::stats::nodes_ready, "nodes_ready", "Nodes that can be asked now"},
    {&redlock::stats::nodes_connecting, "nodes_connecting",
     "Nodes whose first attempt to connect has not ended"},
    {&redlock::stats::nodes_quarantined, "nodes_quarantined", "Nodes whose votes do not count yet"},
    {&redlock::stats::in_flight, "in_flight",
     "Operations begun and not completed, waiters included"},
    {&redlock::stats::waiters, "waiters", "Waiters in the wait queues of the client"},
    {&redlock::stats::kept_alive, "kept_alive", "Locks that the client keeps alive"},
    {&redlock::stats::leases, "leases",
     "Leases that are held, acquired or not completely released"},
    {&redlock::stats::unanswered, "unanswered", "Commands without a reply yet, on all nodes"},
    {&redlock::stats::pending_releases, "pending_releases",
     "Pending releases and expiry repairs, on all nodes"},
    {&redlock::stats::buffered_bytes, "buffered_bytes",
     "Bytes queued and not yet written, on all nodes"},
};

static_assert(sizeof counters / sizeof *counters * sizeof(std::uint64_t) +
                      sizeof gauges / sizeof *gauges * sizeof(std::size_t) ==
                  sizeof(redlock::stats),
              "a field of stats is not in the tables, or twice");
