#include "redlock_bench/arguments.hpp"

#include "load/arguments.hpp"
#include "load/options.hpp"

#include <CLI/CLI.hpp>

namespace redlock::bench {
namespace {

void add_contention(CLI::App& sub, contention_options& o)
{
    add_milliseconds(sub, "--ttl", o.ttl_ms, 200, a_day_ms,
                     "Time to live of a lock, at least 4 node timeouts (200ms)");
    sub.add_flag("--fencing,!--no-fencing", o.fencing, "Whether locks get fencing tokens [no]");
}

}  // namespace

void add_start(CLI::App& sub, start_options& o)
{
    add_client(sub, o);
    for (const char* unused : {"--seconds", "--warmup", "--server-pids"}) {
        sub.remove_option(sub.get_option(unused));
    }
    sub.add_option("--times", o.times, "New clients, one after the other")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
}

void add_compare(CLI::App& sub, compare_options& o)
{
    o.seconds = 3;
    add_options(sub, o);
    sub.add_option("--workers", o.workers, "Cycles in flight, one number or more")
        ->capture_default_str()
        ->check(CLI::Range(1, 1'000'000));
    sub.add_option("--rounds", o.rounds, "Runs of each, whose median counts")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    sub.add_option("--json", o.json, "A file to write all results to");
}

void add_contend(CLI::App& sub, contend_options& o)
{
    add_contention(sub, o);
    sub.add_option("--delay", o.delay_ms,
                   "Milliseconds that a client without notifications waits, give or take a half")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    sub.add_option("--node-count", o.node_counts, "Number of nodes, one number or more")
        ->capture_default_str()
        ->check(CLI::Range(1, 32));
    sub.add_option("--hold", o.hold_ms, "Milliseconds to hold the lock, one number or more")
        ->capture_default_str()
        ->check(CLI::NonNegativeNumber);
    sub.add_option("--case", o.cases, "Only this case; may be given again [all]")
        ->check(CLI::IsMember(case_names()));
    sub.add_option("--seconds", o.seconds, "Seconds to measure each")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    sub.add_option("--warmup", o.warm_up, "Seconds before the measurement")
        ->capture_default_str()
        ->check(CLI::NonNegativeNumber);
    sub.add_option("--server", o.local.program, "The program to start as a node")
        ->capture_default_str();
    sub.add_option("--node-redlock", o.node_redlock,
                   "The folder bench/peers/node_redlock, after npm install there: measured too")
        ->check(CLI::ExistingDirectory);
    sub.add_option("--json", o.json, "A file to write all results to");
}

void add_contender(CLI::App& sub, contender_options& o)
{
    sub.group("");  // not shown
    o.delay_ms = 0;
    add_contention(sub, o);
    sub.add_option("--nodes", o.nodes)->required();
    sub.add_option("--resource", o.resource)->required();
    sub.add_option("--workers", o.workers)->check(CLI::PositiveNumber);
    sub.add_option("--clients", o.clients)->check(CLI::PositiveNumber);
    sub.add_option("--hold", o.hold_ms)->check(CLI::NonNegativeNumber);
    sub.add_option("--delay", o.delay_ms)->check(CLI::PositiveNumber);
}

}  // namespace redlock::bench
