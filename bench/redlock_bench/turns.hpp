#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace redlock::bench {

/// One worker's turn at a resource that many want. Instants are of CLOCK_MONOTONIC, which all
/// processes of a machine share, in nanoseconds.
struct turn {
    std::size_t worker = 0;
    std::int64_t called = 0;    ///< when the worker asked for the lock
    std::int64_t granted = 0;   ///< when the worker got the lock
    std::int64_t released = 0;  ///< when the worker began the release
};

/// The turns of one process, in any language: the member names are the keys of the JSON form.
struct history {
    std::vector<turn> turns;
    /// The times at which workers asked for the lock that have not been granted it yet.
    std::vector<std::int64_t> waiting;
    std::uint64_t commands = 0;  ///< to all nodes together, from the first turn to the last
    std::uint64_t failures = 0;  ///< acquires that gave no lock, and releases that failed
};

/// Turns as arrays [worker, called, granted, released].
void to_json(nlohmann::json& to, const history& from);

/// Throws `nlohmann::json::exception` if a key is absent or of another type.
void from_json(const nlohmann::json& from, history& to);

/// The results of the workers that wanted one lock. The member names are the keys of the JSON form.
struct contention {
    std::string name;
    std::map<std::string, std::string> versions;  ///< of the parts of the measurement
    std::size_t nodes = 0;
    std::size_t processes = 0;
    std::size_t workers = 0;  ///< of all processes
    std::int64_t hold_ms = 0;
    double seconds = 0;
    std::uint64_t grants = 0;
    double grants_per_second = 0;
    /// The time from the call to the grant, or to the end if there was no grant.
    double wait_p50_us = 0;
    double wait_p99_us = 0;
    double wait_max_us = 0;
    /// The time from one holder's release to the next holder's grant.
    double hand_over_p50_us = 0;
    double hand_over_p99_us = 0;
    std::uint64_t least_of_a_worker = 0;  ///< grants
    std::uint64_t most_of_a_worker = 0;
    double commands_per_node_and_grant = 0;
    std::uint64_t failures = 0;
    /// Grants before the previous holder began its release.
    std::uint64_t violations = 0;
};

void to_json(nlohmann::json& to, const contention& from);

/// A span of time, as instants of CLOCK_MONOTONIC in nanoseconds.
struct window {
    std::int64_t begin = 0;
    std::int64_t end = 0;
};

/// Computes the figures of that time from the processes' histories. `to` has the numbers of workers
/// and nodes, and each process had the same number of workers.
void count(contention& to, std::span<const history> of_processes, window when);

/// Whether no worker was ever granted the lock while another worker had it.
[[nodiscard]] bool is_exclusive(std::span<const contention> all);

}  // namespace redlock::bench
