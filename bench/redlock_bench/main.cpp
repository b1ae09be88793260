// Takes and gives back locks through the library, to measure it or to show it.

#include "redlock_bench/commands.hpp"

#include <redlock/version.hpp>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <exception>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace redlock::bench;

/// The arguments in the order that CLI11 takes them from a vector: the last one first.
std::vector<std::string> arguments(int argc, char** argv)
{
    std::vector<std::string> all(argv + 1, argv + argc);
    const bool for_all = !all.empty() && (all[0] == "--help" || all[0] == "-h" ||
                                          all[0] == "--version" || !all[0].starts_with('-'));
    if (!for_all)
        all.insert(all.begin(), "run");
    return {all.rbegin(), all.rend()};
}

}  // namespace

int main(int argc, char** argv)
{
    CLI::App app("Quorum locks on independent Redis masters: measured, compared and shown");
    app.name("redlock-bench");
    app.set_version_flag("--version", std::string(redlock::version()));
    app.require_subcommand(0, 1);
    const std::map<std::string, action> actions{
        {"run", add_run(app)},
        {"compare", add_compare(app)},
        {"show", add_show(app)},
    };
    // Now, or the subcommands would take it over.
    app.footer("Without a subcommand: run. More of each: redlock-bench run --help");
    try {
        app.parse(arguments(argc, argv));
        return actions.at(app.get_subcommands().front()->get_name())();
    } catch (const CLI::ParseError& e) {
        return app.exit(e);
    } catch (const std::exception& e) {
        std::cerr << "redlock-bench: " << e.what() << '\n';
        return 1;
    }
}
