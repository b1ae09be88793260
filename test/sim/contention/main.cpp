#include "sim/contention/play.hpp"

#include <redlock/config.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cmath>
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
    named{manner::in_queue, "in a queue"},
    named{manner::told, "notified, no queue"},
    named{manner::by_chance, "not notified: by chance"},
};

const double look_ms = static_cast<double>(redlock::config{}.max_poll_interval.count());
const double rest_ms = static_cast<double>(redlock::config{}.backoff_max.count());

/// A waiter without notifications has no turn. It finds the lock free by chance, or when others
/// yield. Nothing limits its wait, but none of thousands of plays took this long.
constexpr double longest_by_chance_ms = 20'000;

/// A client that has met no competitor yields for long every fifteen seconds. Without notifications
/// it yields every eight seconds. It does not yield if it leaves the lock free itself.
constexpr double between_longest_rests_ms = 16'000;

/// A client that missed a notification polls as often as one without notifications. A client
/// without a queue leaves the lock free more often than one with a queue.
double longest_of_silent_ms(const plan& p)
{
    return p.workers > 1 ? between_longest_rests_ms : between_longest_rests_ms / 2;
}

/// Each lost notification costs a poll. The bound allows as many losses in a row as happen once in
/// a play.
double lost_ms(const plan& p, const outcome& o)
{
    const double words = o.grants * std::chrono::duration<double>(p.span).count() * p.clients;
    const double in_a_row = std::log(words) / std::log(static_cast<double>(p.lost_one_in));
    return std::min(std::ceil(in_a_row) * look_ms, longest_of_silent_ms(p));
}

/// The bound for waiters with notifications is some turns of all clients and some back-offs. A
/// back-off passes when clients yield to one waiter, or when a key is gone before a waiter tracks
/// it. Lost notifications add some polls. In 300 plays of 4 s with two clients, the longest wait
/// took 4.6 back-offs.
double longest_wait_ms(const plan& p, const outcome& o)
{
    if (p.how == manner::by_chance) {
        return longest_by_chance_ms;
    }
    const double turn_ms = 1000.0 * p.clients * p.workers / o.grants;
    const double told_ms = 6 * rest_ms + 20 * turn_ms;
    switch (p.lost_one_in) {
        case 0: return told_ms;
        case 1: return told_ms + longest_of_silent_ms(p);
        default: return told_ms + lost_ms(p, o);
    }
}

double longest_untold_ms(const plan& p)
{
    // Even then, several clients with notifications come first.
    return p.clients == 1 ? between_longest_rests_ms : longest_by_chance_ms * 2;
}

/// A waiter for two resources must find both free at one time, and is notified when one of them is
/// free.
bool is_well_for_two(const plan& p, const outcome& o)
{
    return p.how == manner::by_chance || o.of_two_max_ms <= between_longest_rests_ms;
}

/// A client that is farther away finds the lock held until others leave it free for long.
bool is_well_for_far(const plan& p, const outcome& o)
{
    return o.far_max_ms <=
           (p.how == manner::by_chance ? longest_by_chance_ms : between_longest_rests_ms);
}

/// A worker that never got the lock waited as long as the play, which is no bound.
bool had_all(const plan& p, const outcome& o)
{
    return p.span.count() == 0 || o.least > 0;
}

/// If only a constant bounds the wait, the play must be longer than this constant.
bool can_be_judged(const plan& p)
{
    const bool is_by_constant =
        p.untold > 0 || p.of_two > 0 || p.lost_one_in > 0 || p.far.count() > 0;
    const double longest =
        p.untold > 0 && p.clients > 1 ? 2 * longest_by_chance_ms : longest_by_chance_ms;
    return !is_by_constant || std::chrono::duration<double, std::milli>(p.span).count() > longest;
}

bool is_fair(const plan& p, const outcome& o)
{
    // A waiter without notifications must poll meanwhile.
    const bool is_told = p.how == manner::in_queue && p.lost_one_in == 0;
    return p.span.count() == 0 || !is_told || o.least * 3 >= o.most;
}

bool is_well(const plan& p, const outcome& o)
{
    const bool is_judged = p.how != manner::told;
    return !o.shared && !o.starved &&
           (!is_judged ||
            (had_all(p, o) && is_fair(p, o) && o.wait_max_ms <= longest_wait_ms(p, o) &&
             o.untold_max_ms <= longest_untold_ms(p) && is_well_for_two(p, o) &&
             is_well_for_far(p, o)));
}

void print_heading(const plan& p)
{
    std::printf(
        "%-24s %7s %9s %11s %11s %11s %11s %9s %9s %7s %7s%s\n", "refused clients are", "clients",
        "grants/s", "handover us", "wait p50 ms", "wait p99 ms", "wait max ms", "commands",
        "attempts", "least", "most",
        (std::string(p.untold > 0 ? "  untold max ms" : "") +
         (p.of_two > 0 ? "  of two max ms" : "") + (p.far.count() > 0 ? "  far max ms" : ""))
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
    if (p.far.count() > 0) {
        std::printf("  %10.2f", o.far_max_ms);
    }
    std::printf("%s%s\n", o.starved ? "  SOMEBODY WAS NOT SERVED" : "",
                o.shared ? "  TWO HAD IT" : "");
}

/// Whether this is slower than clients in a queue, if it must be.
bool is_slower(manner how, double handover_us, double in_queue)
{
    switch (how) {
        case manner::in_queue:
        case manner::told: return true;
        case manner::by_chance: return handover_us > in_queue;
    }
    return false;
}

/// Plays one seed. False if a result breaks a bound.
bool play_all(plan p, const std::vector<unsigned>& clients, bool checks)
{
    bool is_all_well = true;
    for (const unsigned n : clients) {
        double in_queue = 0;
        for (const named& m : manners) {
            p.how = m.how;
            p.clients = n;
            const outcome o = run(p);
            print(p, m.name, o);
            in_queue = m.how == manner::in_queue ? o.handover_us : in_queue;
            const bool is_good =
                is_well(p, o) && (p.span.count() > 0 || is_slower(m.how, o.handover_us, in_queue));
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
    std::uint64_t far_ms = 0;
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
    app.add_option("--far", far_ms,
                   "A client besides, of one worker, whose round trip takes so many milliseconds "
                   "more; 0: none")
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
    p.far = std::chrono::milliseconds{far_ms};
    p.clients = clients.empty() ? 1 : *std::max_element(clients.begin(), clients.end());
    if (checks && !can_be_judged(p)) {
        std::fprintf(stderr, "--span is not longer than those may wait who are to be checked\n");
        return 2;
    }

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
