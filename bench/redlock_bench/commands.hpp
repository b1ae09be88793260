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

// The subcommands and their options. Each returns the exit status.

/// Options for making the library's client.
struct library_options : measuring_options {
    config base;               ///< the settings without an option here
    std::string ca_file;       ///< for nodes with TLS; empty: the file of `base`
    bool thread_safe = false;  ///< with a strand of its own
    bool release_notifications = true;
    std::int64_t node_timeout_ms = 50;

    [[nodiscard]] config config_for(std::vector<std::string> urls) const;
};

struct run_options : library_options {
    plan work;
    std::size_t resources = 0;  ///< 0: one for each worker
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
    bool live = false;  ///< with a line of progress on stderr, for a terminal
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

struct show_options {
    server_options local;
    std::size_t workers = 64;
    double seconds = 3;
};

/// Shows that locks still work while nodes die and return.
[[nodiscard]] int show(const show_options& o);

}  // namespace redlock::bench
