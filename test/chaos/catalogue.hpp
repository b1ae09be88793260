#pragma once

#include "chaos/dice.hpp"
#include "chaos/fault.hpp"
#include "chaos/fleet.hpp"
#include "chaos/packet_filter.hpp"
#include "chaos/site.hpp"

#include <chrono>
#include <memory>
#include <vector>

namespace redlock::chaos {

/// The targets of faults.
struct stage {
    std::vector<std::unique_ptr<site>>& sites;
    fleet& clients;
    dice& chance;
    const packet_filter* packets = nullptr;  ///< null: packets are not dropped
    std::chrono::milliseconds ttl;  ///< the shortest ttl in use; none is longer than twice this
};

// Within the assumptions of the algorithm.
[[nodiscard]] std::vector<fault> restarts(const stage& s);
[[nodiscard]] std::vector<fault> server_faults(const stage& s);
[[nodiscard]] std::vector<fault> network_faults(const stage& s);
[[nodiscard]] std::vector<fault> packet_faults(const stage& s);
/// `farthest`: the largest error of a date, or clock_dial::no_limit.
[[nodiscard]] std::vector<fault> clock_faults(const stage& s, std::chrono::nanoseconds farthest);
[[nodiscard]] std::vector<fault> client_faults(const stage& s);

// Within them too, and aimed at the fair queue.
[[nodiscard]] std::vector<fault> queue_faults(const stage& s);
[[nodiscard]] std::vector<fault> waiter_faults(const stage& s);

// Within its assumptions about nodes under the restart guard.
[[nodiscard]] std::vector<fault> guarded_losses(const stage& s);

// Beyond its assumptions.
[[nodiscard]] std::vector<fault> forgetful_restarts(const stage& s);
[[nodiscard]] std::vector<fault> steps_of_majorities(const stage& s);
[[nodiscard]] std::vector<fault> fast_majorities(const stage& s);
[[nodiscard]] std::vector<fault> pauses_past_validity(const stage& s);

}  // namespace redlock::chaos
