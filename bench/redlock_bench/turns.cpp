#include "redlock_bench/turns.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace redlock::bench {
namespace {

/// The value that the share `p` (0 to 1) of all values does not exceed; 0 without values.
double percentile_us(std::vector<std::int64_t>& all, double p)
{
    if (all.empty()) {
        return 0;
    }
    const auto rank = static_cast<std::size_t>(std::ceil(p * static_cast<double>(all.size())));
    const std::size_t place = std::clamp<std::size_t>(rank, 1, all.size()) - 1;
    const auto at = all.begin() + static_cast<std::ptrdiff_t>(place);
    std::nth_element(all.begin(), at, all.end());
    return static_cast<double>(*at) / 1000.0;
}

/// The turns of all processes, in the order of their grants, with the workers numbered through.
std::vector<turn> merged(std::span<const history> of_processes, std::size_t workers_of_each)
{
    std::vector<turn> all;
    for (std::size_t i = 0; i < of_processes.size(); ++i) {
        for (turn t : of_processes[i].turns) {
            t.worker += i * workers_of_each;
            all.push_back(t);
        }
    }
    std::ranges::sort(all, {}, &turn::granted);
    return all;
}

}  // namespace

void to_json(nlohmann::json& to, const history& from)
{
    auto turns = nlohmann::json::array();
    for (const turn& t : from.turns) {
        turns.push_back(std::array<std::int64_t, 4>{static_cast<std::int64_t>(t.worker), t.called,
                                                    t.granted, t.released});
    }
    to = {{"turns", std::move(turns)},
          {"waiting", from.waiting},
          {"commands", from.commands},
          {"failures", from.failures}};
}

void from_json(const nlohmann::json& from, history& to)
{
    to = {};
    for (const auto& each : from.at("turns")) {
        to.turns.push_back({each.at(0).get<std::size_t>(), each.at(1).get<std::int64_t>(),
                            each.at(2).get<std::int64_t>(), each.at(3).get<std::int64_t>()});
    }
    from.at("waiting").get_to(to.waiting);
    from.at("commands").get_to(to.commands);
    from.at("failures").get_to(to.failures);
}

void to_json(nlohmann::json& to, const contention& from)
{
    to = {{"name", from.name},
          {"versions", from.versions},
          {"nodes", from.nodes},
          {"processes", from.processes},
          {"workers", from.workers},
          {"hold_ms", from.hold_ms},
          {"seconds", from.seconds},
          {"grants", from.grants},
          {"grants_per_second", from.grants_per_second},
          {"wait_p50_us", from.wait_p50_us},
          {"wait_p99_us", from.wait_p99_us},
          {"wait_max_us", from.wait_max_us},
          {"hand_over_p50_us", from.hand_over_p50_us},
          {"hand_over_p99_us", from.hand_over_p99_us},
          {"least_of_a_worker", from.least_of_a_worker},
          {"most_of_a_worker", from.most_of_a_worker},
          {"commands_per_node_and_grant", from.commands_per_node_and_grant},
          {"failures", from.failures},
          {"violations", from.violations}};
}

void count(contention& to, std::span<const history> of_processes, window when)
{
    const std::vector<turn> all = merged(of_processes, to.workers / to.processes);
    std::vector<std::int64_t> waits;
    std::vector<std::int64_t> hand_overs;
    std::vector<std::uint64_t> grants_of(to.workers);
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i].granted < when.begin || all[i].granted >= when.end) {
            continue;
        }
        waits.push_back(all[i].granted - all[i].called);
        ++grants_of.at(all[i].worker);
        if (i > 0) {
            hand_overs.push_back(all[i].granted - all[i - 1].released);
            to.violations += all[i].granted < all[i - 1].released ? 1u : 0u;
        }
    }
    to.seconds = static_cast<double>(when.end - when.begin) / 1e9;
    to.grants = waits.size();
    for (const history& h : of_processes) {
        for (const std::int64_t called : h.waiting) {
            if (called < when.end) {
                waits.push_back(when.end - called);
            }
        }
    }
    to.grants_per_second = static_cast<double>(to.grants) / to.seconds;
    to.wait_p50_us = percentile_us(waits, 0.5);
    to.wait_p99_us = percentile_us(waits, 0.99);
    to.wait_max_us = percentile_us(waits, 1);
    to.hand_over_p50_us = percentile_us(hand_overs, 0.5);
    to.hand_over_p99_us = percentile_us(hand_overs, 0.99);
    const auto [least, most] = std::ranges::minmax_element(grants_of);
    to.least_of_a_worker = *least;
    to.most_of_a_worker = *most;
    std::uint64_t commands = 0;
    for (const history& h : of_processes) {
        commands += h.commands;
        to.failures += h.failures;
    }
    if (!all.empty()) {
        to.commands_per_node_and_grant =
            static_cast<double>(commands) / static_cast<double>(all.size() * to.nodes);
    }
}

bool is_exclusive(std::span<const contention> all)
{
    return std::ranges::all_of(all, [](const contention& c) { return c.violations == 0; });
}

}  // namespace redlock::bench
