#pragma once

#include "load/figures.hpp"

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace redlock::bench {

/// The expected outcome of a part of the show.
enum class expected { locks, no_locks, either };

/// One part of the show.
struct phase {
    std::string name;
    expected what = expected::locks;
    figures total;
    double seconds = 0;
    /// Acquires that gave a lock later than the first look at the phase. Before that look, grants
    /// of the phase before may still arrive.
    std::uint64_t late_acquires = 0;
};

/// A table with a line for each phase.
void print_phases(std::ostream& out, std::span<const phase> phases);

/**
 * The broken promises, one sentence each. Empty if every promise held.
 *
 * @param recovery The time from the start of the dead nodes to the first lock, or none if there was
 * no lock.
 */
[[nodiscard]] std::vector<std::string> broken_promises(
    std::span<const phase> phases, std::optional<bench_clock::duration> recovery);

/// A percentile in milliseconds, as "0.76", or "-" if there are no samples.
[[nodiscard]] std::string latency_text(const histogram& h, double share);

/// "12.3 ms".
[[nodiscard]] std::string milliseconds_text(bench_clock::duration d);

}  // namespace redlock::bench
