#pragma once

#include "base/instant.hpp"

#include <chrono>
#include <cstdint>

namespace redlock::contention {

/// How clients that were refused go on.
enum class manner {
    told_one_first,  ///< as they do: woken by a server, and then one node first
    told_all,        ///< woken, and then all nodes at once
    by_chance,       ///< not told: full jitter
};

struct plan {
    manner how = manner::told_one_first;
    unsigned clients = 1;
    /// Of each client.
    unsigned workers = 1;
    /// Clients besides, of one worker each, that no server tells anything.
    unsigned untold = 0;
    /// A client besides, of one worker, to which each node is so far, there and back; zero: none.
    base::nanos far{};
    /// Clients besides, of one worker each, that want two resources at once; of the workers of the
    /// others every second one wants the other one of the two then.
    unsigned of_two = 0;
    /// For so long everybody who has given the lock back wants it again; zero: each wants it once.
    base::nanos span{};
    /// Of what servers tell unasked one in so many is lost; zero: none.
    std::uint64_t lost_one_in = 0;
    unsigned nodes = 5;
    std::uint64_t seed = 1;
    /// One way between a client and a node, each time another one in between.
    base::nanos least_way = std::chrono::microseconds{80};
    base::nanos longest_way = std::chrono::microseconds{120};
    /// What a node needs for a command.
    base::nanos command = std::chrono::microseconds{3};
    base::nanos hold = std::chrono::milliseconds{1};
};

struct outcome {
    /// From the release of one to the next one's grant, on the average.
    double handover_us = 0;
    double wait_p50_ms = 0;
    double wait_p99_ms = 0;
    double wait_max_ms = 0;
    double untold_max_ms = 0;  ///< of those whom no server tells
    double of_two_max_ms = 0;  ///< of those who want two resources
    double far_max_ms = 0;     ///< of the one that is far away
    double grants = 0;         ///< a second
    /// Of the workers those that had it least and most often.
    std::uint64_t least = 0;
    std::uint64_t most = 0;
    /// By each node, for one grant.
    double commands = 0;
    double attempts = 0;  ///< of all clients, for one grant
    /// Somebody was not served within his deadline.
    bool starved = false;
    /// Two had the lock at a time, or one of them.
    bool shared = false;
};

/**
 * Virtual time: somebody has the lock, all workers of all clients want it, each client with a
 * connection of its own to every node, and each takes it, holds it and gives it back, once or
 * again and again. The compiled core against model masters; a node does one command after the
 * other.
 */
[[nodiscard]] outcome run(const plan& p);

}  // namespace redlock::contention
