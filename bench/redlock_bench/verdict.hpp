#pragma once

#include "redlock_bench/figures.hpp"

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace redlock::bench {

/// What a part of the show should bring.
enum class expected { locks, no_locks, either };

/// One part of the show.
struct phase {
    std::string name;
    expected what = expected::locks;
    figures total;
    double seconds = 0;
    /// Acquires that gave a lock later than the first look at the phase: before it, those may still
    /// come that were granted in the phase before.
    std::uint64_t late_acquires = 0;
};

/// A table with a line a phase.
void print_phases(std::ostream& out, std::span<const phase> phases);

/**
 * What did not go as it should have, a sentence each; empty if everything held.
 *
 * @param recovery From the start of the masters that were dead to the first lock; none if there
 * was none.
 */
[[nodiscard]] std::vector<std::string> broken_promises(
    std::span<const phase> phases, std::optional<bench_clock::duration> recovery);

/// A percentile in milliseconds, as "0.76"; "-" if there are no samples.
[[nodiscard]] std::string latency_text(const histogram& h, double share);

/// "12.3 ms".
[[nodiscard]] std::string milliseconds_text(bench_clock::duration d);

}  // namespace redlock::bench
