#include "base/address.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/duration.hpp"
#include "cli/printing.hpp"
#include "load/arguments.hpp"
#include "load/commands.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <variant>

#include <unistd.h>

namespace redlock::cli {
namespace {

/// Whether the command must start nodes for the subcommand.
bool wants_its_own(const CLI::App& sub)
{
    constexpr const char* options[] = {"--local", "--server", "--unix", "--stop-node"};
    return std::any_of(std::begin(options), std::end(options),
                       [&sub](const char* name) { return sub.get_option(name)->count() != 0; });
}

/// The nodes that the benchmark will load, and the keys that it leaves there, because a user who
/// loads nodes with other work can't find out afterwards. Empty if a URL can't be read; then the
/// client says why.
std::string load_text(const bench::run_options& o, bool are_arguments)
{
    std::string out = "bench: loads ";
    for (const auto& url : o.nodes) {
        const auto read = base::parse_address(url);
        const auto* const address = std::get_if<base::address>(&read);
        if (address == nullptr) {
            return {};
        }
        out += (&url == &o.nodes.front() ? "" : ", ") + address->display;
    }
    const std::string names =
        base::printable(o.base.key_prefix + (o.work.names.empty() ? "bench:" : o.work.names));
    out += are_arguments ? "" : " (from REDLOCK_NODES or a file; --local starts nodes here)";
    out += " with " + std::to_string(o.work.workers) + " workers for " +
           cli::seconds_text(std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::duration<double>(o.warm_up + o.seconds))) +
           "; writes keys that begin with " + names;
    return out + (o.fencing ? ", and leaves its fencing counters there for a day" : "");
}

/// Translates the command's options before `bench` into its own options.
void settle(bench::run_options& o, const CLI::App& sub, const masters_options& masters)
{
    const bool own = wants_its_own(sub);
    if (own && masters.are_arguments) {
        throw std::invalid_argument(
            "bench: --local, --server, --unix and --stop-node are for nodes that bench starts, and "
            "--node names others");
    }
    const bool others = !own && !masters.nodes.empty();
    if (!others && !o.server_pids.empty()) {
        throw std::invalid_argument("bench: --server-pids is for nodes that --node names");
    }
    o.base = others ? config_of(masters) : config_without_nodes(masters);
    o.nodes = o.base.nodes;
    o.node_timeout_ms = o.base.node_timeout.count();
    o.fair_queue = o.base.fair_queue;
    o.output = masters.json ? "json" : o.output;
    o.live = ::isatty(STDERR_FILENO) == 1;
    if (const std::string text = load_text(o, masters.are_arguments); others && !text.empty()) {
        say(text, masters.json);
    }
}

/// Changes a duration to its milliseconds. Returns why the text is not a duration.
std::string in_milliseconds(std::string& text)
{
    std::string why = why_no_duration(text);
    if (why.empty()) {
        text = std::to_string(parse_duration(text)->count());
    }
    return why;
}

}  // namespace

std::function<int()> add_bench(CLI::App& sub, const masters_options& masters)
{
    const auto o = std::make_shared<bench::run_options>();
    bench::add_run(sub, *o);
    // The command has these options itself, as for every subcommand that talks to nodes.
    for (const char* known : {"--nodes", "--ca-file", "--node-timeout", "--fair-queue"}) {
        sub.remove_option(sub.get_option(known));
    }
    // Durations as everywhere in the command; `bench` itself reads milliseconds.
    for (const char* name : {"--hold", "--ttl", "--timeout"}) {
        sub.get_option(name)->transform(CLI::Validator(in_milliseconds, "", ""));
    }
    sub.fallthrough();
    sub.footer(
        "Without nodes from --node, REDLOCK_NODES or a file, bench starts nodes of its own. It\n"
        "makes nodes work as hard as they can: do not use nodes that other programs need. If you\n"
        "name nodes, the first line on stderr says which ones it loads. Its keys begin with\n"
        "--key-prefix and bench:, or with the text of --names. bench releases its locks. The\n"
        "counters of the fencing tokens stay for a day (--no-fencing makes none).\n"
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
    sub.footer("demo always starts its own nodes, whatever REDLOCK_NODES or a file names.");
    return [o, &masters] {
        if (masters.are_arguments) {
            throw std::invalid_argument(
                "demo: it starts nodes of its own and kills them, so it takes no --node");
        }
        if (masters.json) {
            throw std::invalid_argument("demo: it prints text for a reader, and has no --json");
        }
        return bench::show(*o);
    };
}

}  // namespace redlock::cli
