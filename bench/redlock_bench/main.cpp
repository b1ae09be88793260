// Takes and releases locks through the library, to measure it or to show it.

#include "load/arguments.hpp"
#include "redlock_bench/arguments.hpp"
#include "redlock_bench/commands.hpp"

#include <redlock/version.hpp>

#include <CLI/CLI.hpp>

#include <exception>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace redlock::bench;

/// The arguments in the order that CLI11 takes them from a vector: the last one first.
std::vector<std::string> arguments(int argc, char** argv)
{
    std::vector<std::string> all(argv + 1, argv + argc);
    const bool for_all = !all.empty() && (all[0] == "--help" || all[0] == "-h" ||
                                          all[0] == "--version" || !all[0].starts_with('-'));
    if (!for_all) {
        all.insert(all.begin(), "run");
    }
    return {all.rbegin(), all.rend()};
}

}  // namespace

int main(int argc, char** argv)
{
    CLI::App app("Quorum locks on independent Redis nodes: measured, compared and shown");
    app.name("redlock-bench");
    app.set_version_flag("--version", std::string(redlock::version()));
    app.require_subcommand(0, 1);
    run_options to_run;
    start_options to_start;
    compare_options to_compare;
    contend_options to_contend;
    contender_options to_contend_alone;
    show_options to_show;
    add_run(*app.add_subcommand("run", "Measure acquire and release cycles"), to_run);
    add_start(*app.add_subcommand(
                  "start", "Measure how long a new client takes until it has its first lock"),
              to_start);
    add_compare(*app.add_subcommand("compare",
                                    "Measure the library and the reference programs beside it in "
                                    "turn, on the same nodes"),
                to_compare);
    add_contend(*app.add_subcommand("contend",
                                    "Measure workers that all want one lock: one worker, 64 in "
                                    "one process, 64 in eight processes"),
                to_contend);
    add_contender(*app.add_subcommand("contender", "One process of contend"), to_contend_alone);
    add_show(*app.add_subcommand("show", "Show that locks go on while nodes die and come back"),
             to_show);
    // Before the subcommands are added, because they would inherit it.
    app.footer("Without a subcommand: run. More of each: redlock-bench run --help");
    try {
        app.parse(arguments(argc, argv));
        if (app.got_subcommand("start")) {
            return start(to_start);
        }
        if (app.got_subcommand("compare")) {
            return compare(to_compare);
        }
        if (app.got_subcommand("contend")) {
            return contend(to_contend);
        }
        if (app.got_subcommand("contender")) {
            return contend_alone(to_contend_alone);
        }
        if (app.got_subcommand("show")) {
            return show(to_show);
        }
        return run(std::move(to_run));
    } catch (const CLI::ParseError& e) {
        return app.exit(e);
    } catch (const std::exception& e) {
        std::cerr << "redlock-bench: " << e.what() << '\n';
        return 1;
    }
}
