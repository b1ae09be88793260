#include "load/options.hpp"

#include <CLI/CLI.hpp>

#include <cstdlib>

namespace redlock::bench {

void add_options(CLI::App& app, measuring_options& o)
{
    auto* nodes = app.add_option("--nodes,--node", o.nodes,
                                 "URLs of nodes, as redis://host:port or unix:///path");
    auto* own = app.add_option("--local", o.local.count, "Number of nodes to start here")
                    ->capture_default_str()
                    ->check(CLI::Range(1, 32));
    nodes->excludes(own);
    app.add_option("--server-pids", o.server_pids,
                   "Process ids of the named nodes that run on this machine, to measure their "
                   "processor time")
        ->needs(nodes);
    app.add_option("--server", o.local.program, "The program to start for --local")
        ->capture_default_str();
    app.add_flag("--unix", o.local.unix_sockets, "Unix sockets for --local");
    app.add_option("--seconds", o.seconds, "Seconds to measure in a run")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    app.add_option("--warmup", o.warm_up, "Seconds before the measurement")
        ->capture_default_str()
        ->check(CLI::NonNegativeNumber);
}

void parse_or_exit(CLI::App& app, int argc, char** argv)
{
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        std::exit(app.exit(e));
    }
}

floor_options read_floor_options(int argc, char** argv, const std::string& name)
{
    CLI::App app(name +
                 ": the least a client must do to acquire and release quorum locks, measured");
    floor_options o;
    add_options(app, o);
    app.add_option("--workers", o.workers, "Cycles in flight")
        ->capture_default_str()
        ->check(CLI::Range(1, 1'000'000));
    app.add_flag("--json", o.json, "JSON instead of a table");
    parse_or_exit(app, argc, argv);
    return o;
}

}  // namespace redlock::bench
