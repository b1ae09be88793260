#pragma once

#include "base/instant.hpp"

#include <chrono>
#include <cstdint>

namespace redlock::contention {

/// How refused clients go on.
enum class wait_mode {
    fair_queue,     ///< as clients do: a queue at one node decides which client asks next
    notifications,  ///< without the queue: a notification wakes them all
    backoff,        ///< without the queue and without notifications: full jitter
};

/// A fault that recurs in a play. The queue node is the node with the clients' queue.
enum class fault {
    none,
    first_client_killed,  ///< The first client in the queue ends. Later a new client replaces it.
    queue_keys_spoiled,   ///< Another program changes the queue and the keys of its tickets.
    queue_node_killed,    ///< The node is down for a time, and comes back with its keys.
    queue_node_frozen,    ///< The node executes nothing for a time. Its connections stay.
    queue_node_flushed,   ///< FLUSHALL deletes all keys of the node.
    /// The node loses all keys without a notification: by SWAPDB, or by FLUSHALL whose notification
    /// is lost.
    queue_node_flushed_silently,
    queue_node_emptied,  ///< The node restarts at once, without its keys.
};

struct plan {
    wait_mode mode = wait_mode::fair_queue;
    unsigned clients = 1;
    /// For each client.
    unsigned workers = 1;
    /// Additional clients with one worker each, without notifications.
    unsigned unnotified = 0;
    /// Round trip of an additional client with one worker. Zero: no such client.
    base::nanos far{};
    /// Additional clients with one worker each that want two resources at once. Every second worker
    /// of the other clients then wants the other resource.
    unsigned of_both = 0;
    /// For this time, each client that has released the lock wants it again. Zero: each wants it
    /// once.
    base::nanos span{};
    /// One notification in this many is lost. Zero: none.
    std::uint64_t lost_one_in = 0;
    fault what_fails = fault::none;
    /// The mean time between two faults. Also the longest time for which a node is away.
    base::nanos every = std::chrono::seconds{3};
    unsigned nodes = 5;
    std::uint64_t seed = 1;
    /// Limits of the time from a client to a node. Each message draws another one.
    base::nanos least_way = std::chrono::microseconds{80};
    base::nanos longest_way = std::chrono::microseconds{120};
    /// The time of a node for a command.
    base::nanos command = std::chrono::microseconds{3};
    base::nanos hold = std::chrono::milliseconds{1};

    [[nodiscard]] base::nanos way() const { return (least_way + longest_way) / 2; }
    /// All clients: client 0, which holds the lock at first, then the `clients`, `unnotified` and
    /// `of_both`, and at last the far one.
    [[nodiscard]] unsigned all_clients() const
    {
        return 1 + clients + unnotified + of_both + (far > base::nanos{} ? 1 : 0);
    }
    [[nodiscard]] bool is_far(unsigned client) const
    {
        return client > clients + unnotified + of_both;
    }
};

struct outcome {
    /// The average time from a release to the next grant.
    double handover_us = 0;
    double wait_p50_ms = 0;
    double wait_p99_ms = 0;
    double wait_max_ms = 0;
    double unnotified_max_ms = 0;  ///< of clients without notifications
    double of_both_max_ms = 0;     ///< of clients that want two resources
    double far_max_ms = 0;         ///< of the far client
    double grants = 0;             ///< for each second
    /// The longest time without a holder.
    double gap_max_ms = 0;
    std::uint64_t faults = 0;
    /// The fewest and the most grants of a worker.
    std::uint64_t least = 0;
    std::uint64_t most = 0;
    /// Each node's commands for one grant.
    double commands = 0;
    double attempts = 0;  ///< of all clients, for one grant
    /// A client did not get the lock before its deadline.
    bool timed_out = false;
    /// Two clients held the lock, or one resource of it, at one time.
    bool double_holder = false;
};

/**
 * A play in virtual time. At first an extra client holds the lock and all workers of all clients
 * want it. Each client has its own connection to every node. Each worker takes the lock, holds it
 * and releases it, once or repeatedly. The compiled core runs against model nodes, and a node
 * executes one command after the other. Faults begin with the first release.
 */
[[nodiscard]] outcome run(const plan& p);

}  // namespace redlock::contention
