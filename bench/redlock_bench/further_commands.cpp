// What the redlock command has of these programs.

#include "cli/commands.hpp"
#include "cli/printing.hpp"
#include "redlock_bench/arguments.hpp"
#include "redlock_bench/commands.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <iterator>
#include <memory>
#include <stdexcept>

#include <unistd.h>

namespace redlock::cli {
namespace {

/// Whether masters are to be started for it.
bool wants_its_own(const CLI::App& sub)
{
    constexpr const char* options[] = {"--local", "--server", "--unix", "--stop-node"};
    return std::any_of(std::begin(options), std::end(options),
                       [&sub](const char* name) { return sub.get_option(name)->count() != 0; });
}

/// What the command can be told in front of `bench`, put into its own terms.
void settle(bench::run_options& o, const CLI::App& sub, const masters_options& masters)
{
    const bool own = wants_its_own(sub);
    if (own && masters.are_arguments) {
        throw std::invalid_argument(
            "bench: --local, --server, --unix and --stop-node are about masters of its own, and "
            "--node names others");
    }
    const bool others = !own && !masters.nodes.empty();
    if (!others && !o.server_pids.empty()) {
        throw std::invalid_argument("bench: --server-pids is about masters that --node names");
    }
    if (others && !masters.are_arguments) {
        say("bench: on the masters that REDLOCK_NODES or a file names; --local starts some here",
            masters.json);
    }
    o.base = others ? config_of(masters) : config_without_nodes(masters);
    o.nodes = o.base.nodes;
    o.node_timeout_ms = o.base.node_timeout.count();
    o.output = masters.json ? "json" : o.output;
    o.live = ::isatty(STDERR_FILENO) == 1;
}

std::function<int()> add_bench(CLI::App& sub, const masters_options& masters)
{
    const auto o = std::make_shared<bench::run_options>();
    bench::add_run(sub, *o);
    // These are told as to every command that speaks to masters.
    for (const char* known : {"--nodes", "--ca-file", "--node-timeout"}) {
        sub.remove_option(sub.get_option(known));
    }
    sub.fallthrough();
    sub.footer(
        "Where no masters are named it starts some. It makes them work as hard as they can, with\n"
        "keys that begin with bench:.\n"
        "    redlock bench --local 5 --workers 1000");
    return [o, &sub, &masters] {
        settle(*o, sub, masters);
        return bench::run(*o);
    };
}

std::function<int()> add_demo(CLI::App& sub, const masters_options& masters)
{
    const auto o = std::make_shared<bench::show_options>();
    bench::add_show(sub, *o);
    sub.footer("The masters are always its own, whatever REDLOCK_NODES or a file names.");
    return [o, &masters] {
        if (masters.are_arguments) {
            throw std::invalid_argument(
                "demo: it starts masters of its own, which it kills: there is no --node for it");
        }
        if (masters.json) {
            throw std::invalid_argument("demo: it is there to be looked at: it has no --json");
        }
        return bench::show(*o);
    };
}

}  // namespace

std::vector<further_command> further_commands()
{
    return {
        {"bench", "Measures acquire and release cycles, on masters of its own or on others",
         add_bench},
        {"demo", "Shows locks going on while masters die and come back", add_demo},
    };
}

}  // namespace redlock::cli
