#pragma once

#include "load/options.hpp"
#include "load/plan.hpp"

#include <redlock/config.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace redlock::bench {

// The commands that load nodes, and their options. Each returns the exit status.

/// Options for making the library's client.
struct library_options : measuring_options {
    config base;               ///< the settings without an option here
    std::string ca_file;       ///< for nodes with TLS; empty: the file of `base`
    bool thread_safe = false;  ///< with a strand of its own
    bool release_notifications = true;
    bool fair_queue = true;
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

struct show_options {
    server_options local;
    std::size_t workers = 64;
    double seconds = 3;
};

/// Shows that locks still work while nodes die and return.
[[nodiscard]] int show(const show_options& o);

}  // namespace redlock::bench
