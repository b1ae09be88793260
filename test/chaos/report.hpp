#pragma once

#include "chaos/chronicle.hpp"
#include "chaos/scenario.hpp"
#include "chaos/watch.hpp"

#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace redlock::chaos {

/// What a run has shown.
struct findings {
    std::vector<std::string> complaints;
    tally counts;
    std::size_t leases = 0;
    std::vector<std::pair<stretch, stretch>> double_leases;
    std::size_t tokens = 0;
    bool tokens_hold = true;  ///< no master forgets its counters and votes on
    std::vector<std::pair<granted, granted>> disordered;
    std::size_t steps_at_once = 0;
    std::uint64_t lost_updates = 0;
    std::uint64_t updates_judged = 0;  ///< of those written, that have to be there
    nanos longest_operation = 0;
    nanos most_overdue = 0;  ///< of all operations, behind the longest that each may take
    watch_record watched;    ///< while things went wrong, for progress
    nanos time = 0;          ///< for which they did
    std::vector<std::string> never_done;  ///< kinds of faults
    std::string packets_kept;             ///< why none were lost that were to be; empty: they were
};

/// One line of progress: what has come to `counts` since `before`.
void print_line(std::ostream& out, std::int64_t second, const tally& counts, const tally& before,
                const std::string& in_force);

/// The findings, and whether they are what was demanded.
[[nodiscard]] bool print_verdict(std::ostream& out, demand wanted, const findings& f);

}  // namespace redlock::chaos
