#include "sim/contention/play.hpp"

#include <redlock/config.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// How the time from a release to the next grant grows with the number of clients.

namespace {

using namespace redlock::contention;

struct named {
    wait_mode mode;
    std::string_view name;
};
constexpr std::array modes{
    named{wait_mode::fair_queue, "fair queue"},
    named{wait_mode::notifications, "notifications"},
    named{wait_mode::backoff, "back-off"},
};

const std::map<std::string, fault> faults{
    {"first-client-killed", fault::first_client_killed},
    {"queue-keys-spoiled", fault::queue_keys_spoiled},
    {"queue-node-killed", fault::queue_node_killed},
    {"queue-node-frozen", fault::queue_node_frozen},
    {"queue-node-flushed", fault::queue_node_flushed},
    {"queue-node-flushed-silently", fault::queue_node_flushed_silently},
    {"queue-node-emptied", fault::queue_node_emptied},
};

/// The longest standstill of the queue: a client waits for a poll, and then until it is sure that
/// the waiters before it do not go on.
constexpr double standstill_ms = 1500;

/// Whether nothing disturbs the queue.
bool is_plain(const plan& p)
{
    return p.lost_one_in == 0 && p.unnotified == 0 && p.of_both == 0 && p.far.count() == 0;
}

/// Whether clients take turns, at the cost and the pace of a queue.
bool takes_turns(const plan& p, const outcome& o)
{
    const bool is_even = static_cast<double>(o.most) <= 1.2 * static_cast<double>(o.least) + 1;
    const bool waits_evenly = p.clients == 1 || o.wait_p99_ms <= 1.3 * o.wait_p50_ms;
    // Each client begins with an attempt in vain, and polls while it waits for long.
    constexpr double least_poll_ms = 375;
    const bool costs_little = o.commands * p.nodes <= 1.1 * (3 * p.nodes + 8) +
                                                          20.0 / static_cast<double>(o.least) +
                                                          o.wait_p50_ms / least_poll_ms;
    // Two round trips, and what the nodes take. During a shorter hold the next client can't yet be
    // the first one, and then it takes three.
    const double ways = p.hold < 2 * p.way() ? 7 : 5;
    const bool is_quick = o.handover_us * 1000 <= ways * static_cast<double>(p.way().count());
    return is_even && waits_evenly && costs_little && is_quick;
}

/// Whether each worker had the lock, and none had it much less often than others.
bool has_share(const plan& p, const outcome& o)
{
    return p.span.count() == 0 || (o.least > 0 && o.least * 3 >= o.most);
}

/// A client whose notifications are lost may lose its ticket several times. In a spoiled queue the
/// clients have no order, so a client may wait for more turns. After the queue node was down, there
/// are two queues until all clients are connected to it again.
double longest_wait_ms(const plan& p, const outcome& o)
{
    const double turns = p.clients * p.workers + p.unnotified + p.of_both;
    const double rounds = p.what_fails == fault::queue_keys_spoiled ? 20 : 2;
    const double standstills = p.lost_one_in > 0 ? 6 : 3;
    const auto reconnected = static_cast<double>(
        p.what_fails == fault::queue_node_killed ? redlock::config{}.reconnect_backoff_max.count()
                                                 : 0);
    return reconnected + standstills * standstill_ms + rounds * turns * 1000.0 / o.grants;
}

/// The longest time without a holder after a fault.
double longest_gap_ms(const plan& p)
{
    if (p.what_fails == fault::queue_keys_spoiled) {
        // A change can begin another standstill before the last one has ended, but seldom three in
        // a row.
        return 3 * standstill_ms;
    }
    // A poll finds what no notification reports. If the first client is dead, the second one polls
    // after half of this interval and again a quarter of it later, which is earlier.
    return static_cast<double>(redlock::config{}.max_poll_interval.count());
}

/// Whether the lock and each client went on soon after each fault.
bool goes_on(const plan& p, const outcome& o)
{
    return o.faults > 0 && o.gap_max_ms <= longest_gap_ms(p) &&
           o.wait_max_ms <= longest_wait_ms(p, o);
}

bool is_well(const plan& p, const outcome& o)
{
    if (o.double_holder || o.timed_out) {
        return false;
    }
    if (p.what_fails != fault::none) {
        return goes_on(p, o);
    }
    if (p.mode != wait_mode::fair_queue) {
        return true;
    }
    if (is_plain(p) && p.span.count() > 0 && p.hold >= std::chrono::milliseconds{1}) {
        return takes_turns(p, o);
    }
    const double longest = longest_wait_ms(p, o);
    return has_share(p, o) && std::max({o.wait_max_ms, o.unnotified_max_ms, o.of_both_max_ms,
                                        o.far_max_ms}) <= longest;
}

void print_heading(const plan& p)
{
    std::printf(
        "%-14s %7s %9s %11s %11s %11s %11s %9s %9s %7s %7s%s\n", "waiting by", "clients",
        "grants/s", "handover us", "wait p50 ms", "wait p99 ms", "wait max ms", "commands",
        "attempts", "least", "most",
        (std::string(p.unnotified > 0 ? "  unnotified max ms" : "") +
         (p.of_both > 0 ? "  of both max ms" : "") + (p.far.count() > 0 ? "  far max ms" : "") +
         (p.what_fails != fault::none ? "  faults  gap max ms" : ""))
            .c_str());
}

void print(const plan& p, std::string_view name, const outcome& o)
{
    std::printf("%-14s %7u %9.0f %11.0f %11.2f %11.2f %11.2f %9.1f %9.1f %7llu %7llu", name.data(),
                p.clients, o.grants, o.handover_us, o.wait_p50_ms, o.wait_p99_ms, o.wait_max_ms,
                o.commands, o.attempts, static_cast<unsigned long long>(o.least),
                static_cast<unsigned long long>(o.most));
    if (p.unnotified > 0) {
        std::printf("  %17.2f", o.unnotified_max_ms);
    }
    if (p.of_both > 0) {
        std::printf("  %14.2f", o.of_both_max_ms);
    }
    if (p.far.count() > 0) {
        std::printf("  %10.2f", o.far_max_ms);
    }
    if (p.what_fails != fault::none) {
        std::printf("  %6llu  %10.2f", static_cast<unsigned long long>(o.faults), o.gap_max_ms);
    }
    std::printf("%s%s\n", o.timed_out ? "  an acquire timed out" : "",
                o.double_holder ? "  two clients held the lock" : "");
}

/// Plays one seed. False if a result breaks a bound.
bool play_all(plan p, const std::vector<unsigned>& clients, bool checks)
{
    bool is_all_well = true;
    for (const unsigned n : clients) {
        // The faults are faults of the queue.
        const std::size_t plays = p.what_fails == fault::none ? modes.size() : 1;
        for (const named& m : std::span(modes).first(plays)) {
            p.mode = m.mode;
            p.clients = n;
            const outcome o = run(p);
            print(p, m.name, o);
            const bool is_good = is_well(p, o);
            is_all_well = is_all_well && is_good;
            if (checks && !is_good) {
                std::printf("  a figure of this line is out of its bound\n");
            }
        }
    }
    return is_all_well;
}

}  // namespace

int main(int argc, char** argv)
{
    CLI::App app("Clients that contend for a lock, in virtual time");
    std::vector<unsigned> clients{1, 2, 4, 8, 16, 32, 64, 128, 256};
    plan p;
    std::uint64_t hold_us = 1000;
    std::uint64_t span_ms = 0;
    std::uint64_t far_ms = 0;
    std::uint64_t way_us = 100;
    std::uint64_t every_ms = 3000;
    std::uint64_t seeds = 1;
    bool checks = false;
    app.add_option("--clients", clients,
                   "Numbers of clients, one play for each, separated by commas")
        ->delimiter(',');
    app.add_option("--nodes", p.nodes, "Number of nodes")
        ->check(CLI::Range(1, 32))
        ->capture_default_str();
    app.add_option("--workers", p.workers, "Workers of each client")->capture_default_str();
    app.add_option("--unnotified", p.unnotified,
                   "Additional clients with one worker each, without notifications")
        ->capture_default_str();
    app.add_option("--of-both", p.of_both,
                   "Additional clients with one worker each that want two resources at once; every "
                   "second worker of the others then wants the other resource")
        ->capture_default_str();
    app.add_option(
           "--far", far_ms,
           "Milliseconds that the round trip of one additional client is longer; 0: no such "
           "client")
        ->capture_default_str();
    app.add_option("--way", way_us,
                   "Mean microseconds from a client to a node; each message differs by a fifth at "
                   "most")
        ->capture_default_str();
    app.add_option("--span", span_ms,
                   "Milliseconds for which each worker wants the lock again and again; 0: once")
        ->capture_default_str();
    app.add_option("--lose-one-in", p.lost_one_in, "One notification in this many is lost; 0: none")
        ->capture_default_str();
    app.add_option("--fault", p.what_fails, "What fails again and again, with the fair queue only")
        ->transform(CLI::CheckedTransformer(faults))
        ->needs("--span")
        ->excludes("--of-both");
    app.add_option("--every", every_ms, "Mean milliseconds between two faults")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--seed", p.seed, "First seed")->capture_default_str();
    app.add_option("--seeds", seeds, "Number of seeds")->capture_default_str();
    app.add_option("--hold", hold_us, "Microseconds from a grant to the release")
        ->capture_default_str();
    app.add_flag("--check", checks,
                 "Fail if an acquire times out or a figure of the fair queue is out of its bound");
    CLI11_PARSE(app, argc, argv);
    p.hold = std::chrono::microseconds{hold_us};
    p.span = std::chrono::milliseconds{span_ms};
    p.every = std::chrono::milliseconds{every_ms};
    p.far = std::chrono::milliseconds{far_ms};
    p.least_way = std::chrono::microseconds{way_us * 4 / 5};
    p.longest_way = std::chrono::microseconds{way_us * 6 / 5};
    p.clients = clients.empty() ? 1 : *std::max_element(clients.begin(), clients.end());
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
