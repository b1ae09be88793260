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
    std::int64_t called = 0;    ///< when it asked for the lock
    std::int64_t granted = 0;   ///< when it was told that it has it
    std::int64_t released = 0;  ///< when it began to give it back
};

/// What one process did, whatever it is written in: the member names are the keys of the JSON form.
struct history {
    std::vector<turn> turns;
    /// When those asked for the lock who have not been given it.
    std::vector<std::int64_t> waiting;
    std::uint64_t commands = 0;  ///< sent to all nodes together from its first turn to its last
    std::uint64_t failures = 0;  ///< acquires that gave no lock, and releases that failed
};

/// Turns as arrays [worker, called, granted, released].
void to_json(nlohmann::json& to, const history& from);

/// Throws `nlohmann::json::exception` where something is absent or of another type.
void from_json(const nlohmann::json& from, history& to);

/// How those who wanted one lock fared. The member names are the keys of the JSON form.
struct contention {
    std::string name;
    std::map<std::string, std::string> versions;  ///< of what took part
    std::size_t nodes = 0;
    std::size_t processes = 0;
    std::size_t workers = 0;  ///< of all processes
    std::int64_t hold_ms = 0;
    double seconds = 0;
    std::uint64_t grants = 0;
    double grants_per_second = 0;
    /// From the call to the grant, or to the end where none came.
    double wait_p50_us = 0;
    double wait_p99_us = 0;
    double wait_max_us = 0;
    /// From one holder's release to the next one's grant.
    double hand_over_p50_us = 0;
    double hand_over_p99_us = 0;
    std::uint64_t least_of_a_worker = 0;  ///< grants
    std::uint64_t most_of_a_worker = 0;
    double commands_per_node_and_grant = 0;
    std::uint64_t failures = 0;
    /// Grants while somebody else had not given the lock back.
    std::uint64_t violations = 0;
};

void to_json(nlohmann::json& to, const contention& from);

/// A stretch of time, as instants of CLOCK_MONOTONIC in nanoseconds.
struct window {
    std::int64_t begin = 0;
    std::int64_t end = 0;
};

/// Fills in what the processes' histories tell of that time. `to` says how many workers and nodes
/// there were; each process had the same number of workers.
void count(contention& to, std::span<const history> of_processes, window when);

/// Whether nobody was ever granted the lock while somebody else had it.
[[nodiscard]] bool is_exclusive(std::span<const contention> all);

}  // namespace redlock::bench
