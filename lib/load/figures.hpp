#pragma once

#include "load/histogram.hpp"

#include <redlock/clock.hpp>
#include <redlock/config.hpp>
#include <redlock/error.hpp>
#include <redlock/lock.hpp>
#include <redlock/result.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace redlock::bench {

using bench_clock = std::chrono::steady_clock;

/// The limit of a quick failure. An acquire that fails in less time did not wait for nodes to come
/// back.
inline const std::chrono::milliseconds slow = 4 * config{}.node_timeout;

/// The results of the workers in a span of time.
struct figures {
    histogram acquires;  ///< acquires that gave a lock
    histogram releases;  ///< releases that were answered
    std::uint64_t cycles = 0;
    std::vector<std::uint64_t> cycles_of;  ///< of each worker
    std::map<error_code, std::uint64_t> acquire_errors;
    std::map<error_code, std::uint64_t> release_errors;
    std::uint64_t not_held = 0;  ///< releases that found nothing
    /// Locks that were granted while another worker's lock on the same resource was valid.
    std::uint64_t violations = 0;
    bench_clock::duration slowest_failure{};  ///< of the acquires
    std::uint64_t slow_failures = 0;          ///< acquires that failed after more than `slow`
    std::optional<bench_clock::time_point> first_acquired;

    void merge(const figures& later);

    [[nodiscard]] std::uint64_t failures() const noexcept;
    /// The number of acquires that failed with this error.
    [[nodiscard]] std::uint64_t failed_by(errc e) const;
    /// The number of acquires that failed for any reason except that another worker held the
    /// resource.
    [[nodiscard]] std::uint64_t failed_otherwise() const;
};

/// All failures by name: "contended", "release: unavailable".
[[nodiscard]] std::map<std::string, std::uint64_t> failures_by_name(const figures& f);

/// Keeps the figures, and checks that no two workers hold a resource at the same time.
class scorer {
public:
    scorer(std::size_t resources, std::size_t workers) : held_until_(resources)
    {
        now_.cycles_of.resize(workers);
    }

    void acquired(std::size_t resource, const lock& l, bench_clock::time_point began);
    void not_acquired(error_code why, bench_clock::time_point began);
    /// From now on no worker holds the resource, whatever the release finds.
    void gives_back(std::size_t resource) { held_until_[resource] = {}; }
    void released(std::size_t worker, error_code why, release_result found,
                  bench_clock::time_point began);

    /// The figures since the last call.
    [[nodiscard]] figures take();

private:
    figures now_;
    std::vector<boot_clock::time_point> held_until_;  ///< the epoch: not held
};

}  // namespace redlock::bench
