#include "contention/play.hpp"

#include <redlock/config.hpp>

#include <CLI/CLI.hpp>

#include <array>
#include <cstdio>
#include <string_view>
#include <vector>

// How the time to hand a lock over grows with the number of clients that want it.

namespace {

using namespace redlock::contention;

struct named {
    manner how;
    std::string_view name;
};
constexpr std::array manners{
    named{manner::told_one_first, "told, one node first"},
    named{manner::told_all, "told, all nodes at once"},
    named{manner::by_chance, "not told: by chance"},
};

/// Of those who are told: some turns of all, and what others are let in for; of those who are not
/// told now and then what they look after too.
double longest_wait_ms(const plan& p, const outcome& o)
{
    const double turn_ms = 1000.0 * p.clients * p.workers / o.grants;
    const double look_ms = static_cast<double>(redlock::config{}.poll_max.count());
    const double rest_ms = static_cast<double>(redlock::config{}.retry_max.count());
    return rest_ms + 20 * turn_ms + (p.lost_one_in > 0 ? 3 * look_ms : 0);
}

/// While one client has it all the time: it lets them in every fifteen seconds.
constexpr double longest_untold_ms = 16'000;

}  // namespace

int main(int argc, char** argv)
{
    CLI::App app(
        "Virtual time: how the time to hand a lock over grows with the clients that want it");
    std::vector<unsigned> clients{1, 2, 4, 8, 16, 32, 64, 128, 256};
    plan p;
    std::uint64_t hold_us = 1000;
    std::uint64_t span_ms = 0;
    bool checks = false;
    app.add_option("--clients", clients, "How many, separated by commas")->delimiter(',');
    app.add_option("--nodes", p.nodes, "Masters")->check(CLI::Range(1, 32))->capture_default_str();
    app.add_option("--workers", p.workers, "Of each client")->capture_default_str();
    app.add_option("--untold", p.untold, "Clients besides, of one worker, that no server tells")
        ->capture_default_str();
    app.add_option("--span", span_ms,
                   "Milliseconds for which all want it again and again; 0: each wants it once")
        ->capture_default_str();
    app.add_option("--lose-one-in", p.lost_one_in,
                   "Of what servers tell one in so many is lost; 0: none")
        ->capture_default_str();
    app.add_option("--seed", p.seed, "Of the chances")->capture_default_str();
    app.add_option("--hold", hold_us, "Microseconds that each holds it")->capture_default_str();
    app.add_flag(
        "--check", checks,
        "Fail where somebody is not served, too late, as late as by chance, or less often than "
        "others");
    CLI11_PARSE(app, argc, argv);
    p.hold = std::chrono::microseconds{hold_us};
    p.span = std::chrono::milliseconds{span_ms};

    bool is_well = true;
    std::printf("%-24s %7s %9s %11s %11s %11s %11s %9s %9s %7s %7s%s\n", "refused clients are",
                "clients", "grants/s", "handover us", "wait p50 ms", "wait p99 ms", "wait max ms",
                "commands", "attempts", "least", "most", p.untold > 0 ? "  untold max ms" : "");
    for (const unsigned n : clients) {
        double first = 0;
        for (const named& m : manners) {
            p.how = m.how;
            p.clients = n;
            const outcome o = run(p);
            std::printf("%-24s %7u %9.0f %11.0f %11.2f %11.2f %11.2f %9.1f %9.1f %7llu %7llu",
                        m.name.data(), n, o.grants, o.handover_us, o.wait_p50_ms, o.wait_p99_ms,
                        o.wait_max_ms, o.commands, o.attempts,
                        static_cast<unsigned long long>(o.least),
                        static_cast<unsigned long long>(o.most));
            if (p.untold > 0) {
                std::printf("  %13.2f", o.untold_max_ms);
            }
            std::printf("%s%s\n", o.starved ? "  SOMEBODY WAS NOT SERVED" : "",
                        o.shared ? "  TWO HAD IT" : "");
            is_well = is_well && !o.shared && !o.starved;
            if (m.how == manner::told_one_first) {
                // Who is not told has to look by himself meanwhile.
                const bool is_fair =
                    p.span.count() == 0 || p.lost_one_in > 0 || o.least * 3 >= o.most;
                is_well = is_well && is_fair && o.wait_max_ms <= longest_wait_ms(p, o) &&
                          o.untold_max_ms <= longest_untold_ms;
            }
            first = m.how == manner::told_one_first ? o.handover_us : first;
            const bool is_quick = p.span.count() > 0 || first < o.handover_us;
            is_well = is_well && (is_quick || m.how != manner::by_chance);
        }
    }
    return checks && !is_well ? 1 : 0;
}
