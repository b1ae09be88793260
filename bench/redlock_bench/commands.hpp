#pragma once

#include "common/options.hpp"
#include "redlock_bench/plan.hpp"

#include <redlock/config.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace redlock::bench {

// The subcommands, and what each can be told. Each gives the exit status.

/// How the library's client is made.
struct library_options : measuring_options {
    config base;               ///< what the others leave as it is
    std::string ca_file;       ///< of masters that speak TLS; empty: that of `base`
    bool thread_safe = false;  ///< with a strand of its own
    bool release_notifications = true;
    std::int64_t node_timeout_ms = 50;

    [[nodiscard]] config config_for(std::vector<std::string> urls) const;
};

struct run_options : library_options {
    plan work;
    std::size_t resources = 0;  ///< 0: one a worker
    std::int64_t hold_ms = 0;
    std::int64_t ttl_ms = 10'000;
    std::int64_t timeout_ms = 10'000;
    std::size_t threads = 1;
    std::optional<std::size_t> stop_node;
    std::string stop_with = "stop";
    double stop_after = 0;  ///< 0: half of the seconds
    bool fencing = true;
    std::string label;
    std::string api = "callback";
    std::string output = "table";
    bool live = false;  ///< with a line on stderr that tells how things stand, for a terminal
};

/// Measures the library.
[[nodiscard]] int run(run_options o);

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

/// What is common to all who contend for one lock.
struct contention_options {
    std::int64_t ttl_ms = 10'000;
    /// Of those that do not know when a lock is free: how long they wait, give or take a half.
    std::int64_t delay_ms = 200;
    bool fencing = false;
};

struct contend_options : contention_options {
    server_options local;
    double seconds = 10;
    double warm_up = 1;
    std::vector<std::size_t> node_counts{1, 3, 5};
    std::vector<std::int64_t> hold_ms{1, 0};
    std::vector<std::string> parties;  ///< by name; empty: all of them
    /// A folder with the peer and what it needs; empty: without it.
    std::string node_redlock;
    std::string json;
};

/// Those who want the lock in `contend`.
[[nodiscard]] std::vector<std::string> party_names();

/// Measures how workers fare that all want one lock: in one process, in several, with and without
/// being told when it is free, and with another client. Fails where two had it at a time.
[[nodiscard]] int contend(const contend_options& o);

struct contender_options : contention_options {
    std::vector<std::string> nodes;
    std::string resource;
    std::size_t workers = 1;
    std::size_t clients = 1;
    std::int64_t hold_ms = 0;
};

/// One of the processes of `contend`, which begins and ends by its input and tells its history.
[[nodiscard]] int contend_alone(const contender_options& o);

struct show_options {
    server_options local;
    std::size_t workers = 64;
    double seconds = 3;
};

/// Shows that locks go on while nodes die and come back.
[[nodiscard]] int show(const show_options& o);

}  // namespace redlock::bench
