#pragma once

#include "load/commands.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace redlock::bench {

// The further subcommands and their options. Each returns the exit status.

struct compare_options : measuring_options {
    std::vector<std::size_t> workers{64, 1000};
    std::size_t rounds = 3;
    std::string json;
};

struct start_options : library_options {
    std::size_t times = 100;
};

/// Measures how long a new client takes until it has its first lock.
[[nodiscard]] int start(const start_options& o);

/// Measures the library beside the reference programs.
[[nodiscard]] int compare(const compare_options& o);

/// Options of all cases of contention for one lock.
struct contention_options {
    std::int64_t ttl_ms = 10'000;
    /// The wait of a worker that is not notified when the lock is free, plus or minus a half.
    std::int64_t delay_ms = 200;
    bool fencing = false;
};

struct contend_options : contention_options {
    server_options local;
    double seconds = 10;
    double warm_up = 1;
    std::vector<std::size_t> node_counts{1, 3, 5};
    std::vector<std::int64_t> hold_ms{1, 0};
    std::vector<std::string> cases;  ///< by name; empty: all of them
    /// A folder with the peer and its dependencies. Empty: without the peer.
    std::string node_redlock;
    std::string json;
};

/// The names of the cases of `contend`.
[[nodiscard]] std::vector<std::string> case_names();

/// Measures workers that all want one lock: in one process, in several, with and without release
/// notifications, and with another client. Fails if two workers had the lock at the same time.
[[nodiscard]] int contend(const contend_options& o);

struct contender_options : contention_options {
    std::vector<std::string> nodes;
    std::string resource;
    std::size_t workers = 1;
    std::size_t clients = 1;
    std::int64_t hold_ms = 0;
};

/// One of the processes of `contend`. It begins and ends by its input, and prints its history.
[[nodiscard]] int contend_alone(const contender_options& o);

}  // namespace redlock::bench
