#include "contention/play.hpp"

#include <redlock/config.hpp>

#include <CLI/CLI.hpp>

#include <array>
#include <cstdio>
#include <string>
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

const double look_ms = static_cast<double>(redlock::config{}.poll_max.count());
const double rest_ms = static_cast<double>(redlock::config{}.retry_max.count());

/// Who is not told has no turn, and finds it free by chance, or when others let him in. Nothing
/// bounds that; so long it took in none of thousands of plays.
constexpr double longest_by_chance_ms = 20'000;

/// Of those who are told: some turns of all, what others are let in for, and a pause or two of
/// whose key had gone when he was to watch it; where some of it is lost, some looks besides.
double longest_wait_ms(const plan& p, const outcome& o)
{
    if (p.how == manner::by_chance || p.lost_one_in == 1) {
        return longest_by_chance_ms;
    }
    const double turn_ms = 1000.0 * p.clients * p.workers / o.grants;
    return 3 * rest_ms + 20 * turn_ms + (p.lost_one_in > 0 ? 4 * look_ms : 0);
}

/// Each client lets the others in for long every fifteen seconds.
constexpr double between_longest_rests_ms = 16'000;

double longest_untold_ms(const plan& p)
{
    // Several that are told come first then too.
    return p.clients == 1 ? between_longest_rests_ms : longest_by_chance_ms * 2;
}

/// Who wants two has to find both free at a time, and is told when one of them is.
bool is_well_for_two(const plan& p, const outcome& o)
{
    return p.how == manner::by_chance || o.of_two_max_ms <= between_longest_rests_ms;
}

bool is_fair(const plan& p, const outcome& o)
{
    // Who is not told has to look by himself meanwhile.
    const bool is_told = p.how == manner::told_one_first && p.lost_one_in == 0;
    return p.span.count() == 0 || !is_told || o.least * 3 >= o.most;
}

bool is_well(const plan& p, const outcome& o)
{
    const bool is_judged = p.how != manner::told_all;
    return !o.shared && !o.starved &&
           (!is_judged || (is_fair(p, o) && o.wait_max_ms <= longest_wait_ms(p, o) &&
                           o.untold_max_ms <= longest_untold_ms(p) && is_well_for_two(p, o)));
}

void print_heading(const plan& p)
{
    std::printf("%-24s %7s %9s %11s %11s %11s %11s %9s %9s %7s %7s%s\n", "refused clients are",
                "clients", "grants/s", "handover us", "wait p50 ms", "wait p99 ms", "wait max ms",
                "commands", "attempts", "least", "most",
                (std::string(p.untold > 0 ? "  untold max ms" : "") +
                 (p.of_two > 0 ? "  of two max ms" : ""))
                    .c_str());
}

void print(const plan& p, std::string_view name, const outcome& o)
{
    std::printf("%-24s %7u %9.0f %11.0f %11.2f %11.2f %11.2f %9.1f %9.1f %7llu %7llu", name.data(),
                p.clients, o.grants, o.handover_us, o.wait_p50_ms, o.wait_p99_ms, o.wait_max_ms,
                o.commands, o.attempts, static_cast<unsigned long long>(o.least),
                static_cast<unsigned long long>(o.most));
    if (p.untold > 0) {
        std::printf("  %13.2f", o.untold_max_ms);
    }
    if (p.of_two > 0) {
        std::printf("  %13.2f", o.of_two_max_ms);
    }
    std::printf("%s%s\n", o.starved ? "  SOMEBODY WAS NOT SERVED" : "",
                o.shared ? "  TWO HAD IT" : "");
}

/// Than those who ask one node first, and are told; of many, twice as slow where they split votes.
bool is_slower(manner how, unsigned clients, double handover_us, double first)
{
    switch (how) {
        case manner::told_one_first: return true;
        case manner::told_all: return clients < 32 || handover_us > 2 * first;
        case manner::by_chance: return handover_us > first;
    }
    return false;
}

/// One seed. False: something is not as it is to be.
bool play_all(plan p, const std::vector<unsigned>& clients, bool checks)
{
    bool is_all_well = true;
    for (const unsigned n : clients) {
        double first = 0;
        for (const named& m : manners) {
            p.how = m.how;
            p.clients = n;
            const outcome o = run(p);
            print(p, m.name, o);
            first = m.how == manner::told_one_first ? o.handover_us : first;
            const bool is_good =
                is_well(p, o) && (p.span.count() > 0 || is_slower(m.how, n, o.handover_us, first));
            is_all_well = is_all_well && is_good;
            if (checks && !is_good) {
                std::printf("  THE ABOVE IS NOT AS IT IS TO BE\n");
            }
        }
    }
    return is_all_well;
}

}  // namespace

int main(int argc, char** argv)
{
    CLI::App app(
        "Virtual time: how the time to hand a lock over grows with the clients that want it");
    std::vector<unsigned> clients{1, 2, 4, 8, 16, 32, 64, 128, 256};
    plan p;
    std::uint64_t hold_us = 1000;
    std::uint64_t span_ms = 0;
    std::uint64_t seeds = 1;
    bool checks = false;
    app.add_option("--clients", clients, "How many, separated by commas")->delimiter(',');
    app.add_option("--nodes", p.nodes, "Masters")->check(CLI::Range(1, 32))->capture_default_str();
    app.add_option("--workers", p.workers, "Of each client")->capture_default_str();
    app.add_option("--untold", p.untold, "Clients besides, of one worker, that no server tells")
        ->capture_default_str();
    app.add_option("--of-two", p.of_two,
                   "Clients besides, of one worker, that want two resources at once; every second "
                   "worker of the others wants the other one")
        ->capture_default_str();
    app.add_option("--span", span_ms,
                   "Milliseconds for which all want it again and again; 0: each wants it once")
        ->capture_default_str();
    app.add_option("--lose-one-in", p.lost_one_in,
                   "Of what servers tell one in so many is lost; 0: none")
        ->capture_default_str();
    app.add_option("--seed", p.seed, "Of the chances, the first one")->capture_default_str();
    app.add_option("--seeds", seeds, "So many, one after the other")->capture_default_str();
    app.add_option("--hold", hold_us, "Microseconds that each holds it")->capture_default_str();
    app.add_flag(
        "--check", checks,
        "Fail where somebody is not served, too late, as late as by chance, or less often than "
        "others");
    CLI11_PARSE(app, argc, argv);
    p.hold = std::chrono::microseconds{hold_us};
    p.span = std::chrono::milliseconds{span_ms};

    print_heading(p);
    bool is_all_well = true;
    for (const std::uint64_t last = p.seed + seeds; p.seed < last; ++p.seed) {
        if (seeds > 1) {
            std::printf("seed %llu\n", static_cast<unsigned long long>(p.seed));
        }
        is_all_well = play_all(p, clients, checks) && is_all_well;
    }
    return checks && !is_all_well ? 1 : 0;
}
