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

/// The results of a run.
struct findings {
    std::vector<std::string> complaints;
    tally counts;
    std::size_t leases = 0;
    std::vector<std::pair<stretch, stretch>> double_leases;
    std::size_t tokens = 0;
    bool tokens_hold = true;  ///< no node forgets its counters and votes on
    std::vector<std::pair<granted, granted>> disordered;
    std::size_t steps_at_once = 0;
    std::uint64_t lost_updates = 0;
    std::uint64_t updates_judged = 0;  ///< written updates that must still be there
    nanos longest_operation = 0;
    nanos most_overdue = 0;               ///< the largest delay of an operation after its limit
    watch_record watched;                 ///< progress during the faults
    nanos time = 0;                       ///< the time of the faults
    std::vector<std::string> never_done;  ///< kinds of faults
    std::string packets_kept;             ///< why no packets were dropped although they should be;
                                          ///< empty: they were
};

/// Prints one line of progress: the change of `counts` since `before`.
void print_line(std::ostream& out, std::int64_t second, const tally& counts, const tally& before,
                const std::string& in_force);

/// Prints the findings. Returns whether they meet the demand.
[[nodiscard]] bool print_verdict(std::ostream& out, demand wanted, const findings& f);

}  // namespace redlock::chaos
