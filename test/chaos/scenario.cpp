#include "chaos/scenario.hpp"

#include <array>
#include <initializer_list>

namespace redlock::chaos {

using namespace std::chrono_literals;

namespace {

std::vector<fault> all_of(std::initializer_list<std::vector<fault>> parts)
{
    std::vector<fault> result;
    for (const auto& part : parts) {
        result.insert(result.end(), part.begin(), part.end());
    }
    return result;
}

/// How far dates may be off on nodes that must vote for a new fencing counter. A node lets a
/// counter exceed its own date by at most the slack: a second, or half of it under the guard of
/// these runs. If dates are off by at most half the slack, all nodes vote for the client's date.
/// The guard tolerates dates that are set back by max_ttl less two slacks, a second here.
constexpr auto half_a_slack = 500ms;
constexpr auto half_a_guarded_slack = 250ms;

std::vector<fault> all_but_clocks(const stage& s)
{
    return all_of(
        {restarts(s), server_faults(s), network_faults(s), packet_faults(s), client_faults(s)});
}

std::vector<fault> all_within_the_model(const stage& s)
{
    return all_of({all_but_clocks(s), clock_faults(s, half_a_slack)});
}

std::vector<fault> all_with_dates_far_apart(const stage& s)
{
    return all_of({all_but_clocks(s), clock_faults(s, clock_dial::no_limit)});
}

std::vector<fault> all_that_the_guard_bears(const stage& s)
{
    return all_of({guarded_losses(s), server_faults(s), network_faults(s), packet_faults(s),
                   clock_faults(s, half_a_guarded_slack), client_faults(s)});
}

std::vector<fault> all_that_queues_bear(const stage& s)
{
    return all_of({queue_faults(s), waiter_faults(s)});
}

/// More than the sum of the delays that may follow each other, 5.25 s. A key of a client that was
/// stopped or killed before it knew of its lock lives for two ttls of a second. A waiter polls
/// within a second if its queue node has stopped. If waiters before it never ask, it notices that
/// within 1.25 s, and their tickets end within another second. Measured: up to 2.6 s in four
/// minutes on a busy machine.
constexpr auto queue_patience = 6s;

constexpr std::array all{
    scenario{.name = "minority",
             .what = "every fault the algorithm allows for, to at most two masters of five at a "
                     "time, to their clocks and to clients: safety, and progress all the time",
             .wanted = demand::safety_and_progress,
             .most_impaired = 2,
             .packets = true,
             .faults = all_within_the_model},
    scenario{.name = "storm",
             .what = "the same to any number of masters at a time, whose dates drift apart without "
                     "bound: safety, and recovery once they have met again",
             .wanted = demand::safety_and_recovery,
             .most_impaired = 5,
             .pace = 2,
             .packets = true,
             .faults = all_with_dates_far_apart},
    scenario{.name = "guarded",
             .what = "masters that lose their keys, one after the other, among all faults of the "
                     "minority, under the restart guard: safety, and progress all the time",
             .wanted = demand::safety_and_progress,
             .most_impaired = 2,
             .remembers = false,
             .guarded = true,
             .packets = true,
             .faults = all_that_the_guard_bears},
    scenario{.name = "contend",
             .what =
                 "clients that wait for few locks and are killed or stopped meanwhile, and fair "
                 "queues whose keys are harmed and whose nodes break: safety, and progress all "
                 "the time",
             .wanted = demand::safety_and_progress,
             .most_impaired = 2,
             .hold = 40ms,
             .wait = 30s,
             .shared_patience = queue_patience,
             .clients = 8,
             .workers = 5,
             .resources = 2,
             .faults = all_that_queues_bear},
    scenario{.name = "heedless",
             .what = "clients that are stopped past the validity of their locks and do not ask: "
                     "updates must be lost",
             .wanted = demand::lost_update,
             .heedless = true,
             .hold = 100ms,
             .faults = pauses_past_validity},
    scenario{.name = "clock-steps",
             .what = "the clocks of a majority are set forward by more than a ttl: two must "
                     "believe in one lock",
             .wanted = demand::double_lease,
             .ttl = 2s,
             .hold = 1s,
             .faults = steps_of_majorities},
    scenario{.name = "fast-clocks",
             .what = "the clocks of a majority run faster than the drift allowed for: two must "
                     "believe in one lock",
             .wanted = demand::double_lease,
             .ttl = 2s,
             .hold = 2s,
             .faults = fast_majorities},
    scenario{.name = "amnesia",
             .what = "masters that restart without their keys, one after the other: two must "
                     "believe in one lock",
             .wanted = demand::double_lease,
             .most_impaired = 2,
             .remembers = false,
             .ttl = 6s,
             .hold = 4s,
             .faults = forgetful_restarts},
};

}  // namespace

std::span<const scenario> scenarios()
{
    return all;
}

}  // namespace redlock::chaos
