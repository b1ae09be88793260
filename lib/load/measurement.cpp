#include "load/measurement.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <iomanip>
#include <ostream>
#include <utility>
#include <vector>

namespace redlock::bench {
namespace {

/// The grants of the workers with the fewest and the most.
std::pair<std::uint64_t, std::uint64_t> extremes(const figures& f)
{
    const auto [least, most] = std::minmax_element(f.cycles_of.begin(), f.cycles_of.end());
    return least == f.cycles_of.end() ? std::pair<std::uint64_t, std::uint64_t>{}
                                      : std::pair{*least, *most};
}

/// Commands that each node executed for one cycle.
double commands_per_cycle(const measurement& m)
{
    const auto commands = static_cast<double>(m.after.commands - m.before.commands);
    const double all = static_cast<double>(m.common.cycles) * static_cast<double>(m.common.nodes);
    return all > 0 ? commands / all : 0;
}

/// The acquires that had to wait.
void print_waiting(std::ostream& out, const measurement& m)
{
    const auto [least, most] = extremes(m.more);
    const auto done = [&](std::uint64_t stats::*what) { return m.after.*what - m.before.*what; };
    out << m.common.name << ": cycles a worker " << least << " to " << most
        << ", commands a node and cycle " << std::setprecision(2) << commands_per_cycle(m)
        << std::setprecision(0) << ", notified attempts " << done(&stats::notified_attempts_granted)
        << " granted and " << done(&stats::notified_attempts_refused) << " refused, polls "
        << done(&stats::polls) << ", tickets " << done(&stats::tickets) << ", tickets skipped "
        << done(&stats::tickets_skipped) << '\n';
}

void print_details(std::ostream& out, const measurement& m)
{
    out << m.common.name << ": release p50 " << m.more.releases.percentile_us(0.5) << " us, p99 "
        << m.more.releases.percentile_us(0.99) << " us, p99.9 "
        << m.more.releases.percentile_us(0.999) << " us";
    for (const auto& [name, count] : failures_by_name(m.more)) {
        out << "; " << name << ' ' << count;
    }
    if (m.more.violations != 0) {
        out << "; EXCLUSION VIOLATED " << m.more.violations << " times";
    }
    out << '\n';
}

}  // namespace

void to_json(nlohmann::json& to, const measurement& from)
{
    to = from.common;
    to["release_p50_us"] = from.more.releases.percentile_us(0.5);
    to["release_p99_us"] = from.more.releases.percentile_us(0.99);
    to["release_p999_us"] = from.more.releases.percentile_us(0.999);
    to["failures_by_name"] = failures_by_name(from.more);
    to["violations"] = from.more.violations;
    to["acquire_max_us"] = from.more.acquires.percentile_us(1);
    const auto [least, most] = extremes(from.more);
    to["least_cycles_of_a_worker"] = least;
    to["most_cycles_of_a_worker"] = most;
    to["commands_per_node_and_cycle"] = commands_per_cycle(from);
    to["notified_attempts_granted"] =
        from.after.notified_attempts_granted - from.before.notified_attempts_granted;
    to["notified_attempts_refused"] =
        from.after.notified_attempts_refused - from.before.notified_attempts_refused;
    to["polls"] = from.after.polls - from.before.polls;
    to["tickets"] = from.after.tickets - from.before.tickets;
    to["ticket_positions"] = from.after.ticket_positions - from.before.ticket_positions;
    to["tickets_skipped"] = from.after.tickets_skipped - from.before.tickets_skipped;
}

void print(std::ostream& out, std::span<const measurement> all)
{
    std::vector<result> table;
    for (const auto& m : all) {
        table.push_back(m.common);
    }
    print_table(out, table);
    out << std::fixed << std::setprecision(0);
    for (const auto& m : all) {
        print_details(out, m);
        if (m.common.resources < m.common.workers || m.after.polls > 0) {
            print_waiting(out, m);
        }
    }
}

}  // namespace redlock::bench
