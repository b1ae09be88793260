#pragma once

#include "chaos/shared.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace redlock::chaos {

/// The options of one client process. The same words are its command line.
struct client_options {
    workplace place;
    std::vector<std::string> nodes;
    /// Unique among all processes of the run, for its files and elements.
    unsigned process = 0;
    /// The resources that all workers of all processes contend for, from 0 on.
    unsigned shared = 3;
    /// A resource that only its first worker wants.
    unsigned own = 100;
    unsigned workers = 8;
    /// With more than one, the client is thread-safe and each thread calls it.
    unsigned threads = 1;
    std::chrono::milliseconds ttl{1'000};
    std::chrono::milliseconds node_timeout{200};
    double drift_factor = 0.1;
    /// The longest time between reading the set and writing it.
    std::chrono::milliseconds hold{20};
    /// The timeout of an acquire of a shared resource.
    std::chrono::milliseconds wait{2'000};
    /// Writes without asking whether it still owns the lock.
    bool heedless = false;
    /// Has the restart guard.
    bool guarded = false;
    std::uint64_t seed = 0;
};

[[nodiscard]] std::string resource_name(unsigned resource);

/// Runs until SIGTERM. Returns the exit code of the process.
int run_client(const client_options& options);

}  // namespace redlock::chaos
