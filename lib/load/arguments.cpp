#include "load/arguments.hpp"

#include "load/options.hpp"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <map>
#include <string>

namespace redlock::bench {
namespace {

void add_nodes(CLI::App& sub, run_options& o)
{
    add_client(sub, o);
    auto* stop = sub.add_option("--stop-node", o.stop_node,
                                "Local node (from 0) to stop midway by SIGSTOP; measures before "
                                "the stop and from 0.1 s after it");
    sub.add_option("--stop-after", o.stop_after,
                   "Seconds measured before the stop; the rest of --seconds comes after it "
                   "[half of --seconds]")
        ->check(CLI::PositiveNumber)
        ->needs(stop);
    sub.add_option("--stop-with", o.stop_with, "How to stop it: by SIGSTOP, or for good by SIGKILL")
        ->capture_default_str()
        ->check(CLI::IsMember({"stop", "kill"}))
        ->needs(stop);
    sub.get_option("--nodes")->excludes(stop);
}

void add_work(CLI::App& sub, run_options& o)
{
    sub.add_option("--workers", o.work.workers, "Cycles in flight")
        ->capture_default_str()
        ->check(CLI::Range(1, 1'000'000));
    sub.add_option("--resources", o.resources,
                   "Number of resources to lock; fewer than workers contend [one a worker]")
        ->check(CLI::PositiveNumber);
    auto* names = sub.add_option("--names", o.work.names,
                                 "Beginning of the names of resources, for several programs that "
                                 "contend for the same ones [names of this run alone]");
    sub.add_option("--threads", o.threads,
                   "Threads that share the workers, each with a client of its own")
        ->capture_default_str()
        ->check(CLI::Range(1, 64))
        ->excludes(names)
        ->excludes(sub.get_option("--resources"));
    sub.add_option("--held", o.work.held, "Further locks that each client holds during the run")
        ->capture_default_str()
        ->check(CLI::Range(0, 1'000'000));
    sub.add_flag("--release-notifications,!--no-release-notifications", o.release_notifications,
                 "Whether nodes send notifications when a lock is free [yes]");
    sub.add_flag("--fair-queue,!--no-fair-queue", o.fair_queue,
                 "Whether waiting clients form a queue [yes]");
    add_milliseconds(sub, "--hold", o.hold_ms, 0, a_day_ms, "Time that each lock is held");
    add_milliseconds(sub, "--ttl", o.ttl_ms, 4, a_day_ms,
                     "Time to live of a lock, at least 4 node timeouts");
    add_milliseconds(sub, "--timeout", o.timeout_ms, 0, a_day_ms,
                     "Maximum time to acquire a lock; 0: one attempt");
    sub.add_flag("--fencing,!--no-fencing", o.fencing, "Whether locks get fencing tokens [yes]");
    sub.add_option("--label", o.label, "Name of the holder of each lock [no label]");
    sub.add_option("--api", o.api, "How the workers call the library")
        ->capture_default_str()
        ->check(CLI::IsMember({"callback", "await"}));
}

}  // namespace

void add_milliseconds(CLI::App& app, const std::string& name, std::int64_t& out, std::int64_t least,
                      std::int64_t most, const std::string& description)
{
    const std::map<std::string, std::int64_t> units{
        {"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}};
    app.add_option(name, out, description)
        ->type_name("DURATION")
        ->default_str(std::to_string(out) + "ms")
        ->transform(CLI::AsNumberWithUnit(units).description(""))
        ->check(CLI::Validator(
            [least, most](const std::string& given) {
                std::int64_t ms = 0;
                const bool fits = CLI::detail::lexical_cast(given, ms) && ms >= least && ms <= most;
                return fits ? std::string()
                            : "must be from " + std::to_string(least) + "ms to " +
                                  std::to_string(most) + "ms";
            },
            "", ""));
}

void add_client(CLI::App& sub, library_options& o)
{
    add_options(sub, o);
    sub.add_option("--ca-file", o.ca_file,
                   "Certificates to trust, PEM, if nodes are given as rediss://")
        ->check(CLI::ExistingFile);
    add_milliseconds(sub, "--node-timeout", o.node_timeout_ms, 1, 2000,
                     "Time that a node has to answer, 2s at most: more than the nodes need for all "
                     "cycles in flight");
    sub.add_flag("--thread-safe", o.thread_safe, "Runs the client in a strand");
}

void add_run(CLI::App& sub, run_options& o)
{
    add_nodes(sub, o);
    add_work(sub, o);
    sub.add_option("--output", o.output, "How to print the result")
        ->capture_default_str()
        ->check(CLI::IsMember({"table", "json"}));
}

void add_show(CLI::App& sub, show_options& o)
{
    sub.add_option("--local", o.local.count, "Number of nodes to start here")
        ->capture_default_str()
        ->check(CLI::Range(3, 32));
    sub.add_option("--server", o.local.program, "The program to start as a node")
        ->capture_default_str();
    sub.add_option("--workers", o.workers, "Cycles in flight")
        ->capture_default_str()
        ->check(CLI::Range(1, 100'000));
    sub.add_option("--seconds", o.seconds, "Length of each of the four parts")
        ->capture_default_str()
        ->check(CLI::Range(0.5, 3600.0));
}

}  // namespace redlock::bench
