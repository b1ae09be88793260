// What the redlock command has of these programs.

#include "cli/commands.hpp"
#include "redlock_bench/arguments.hpp"
#include "redlock_bench/commands.hpp"

#include <CLI/CLI.hpp>

#include <memory>

namespace redlock::cli {
namespace {

std::function<int()> add_bench(CLI::App& sub)
{
    const auto o = std::make_shared<bench::run_options>();
    bench::add_run(sub, *o);
    sub.footer("    redlock bench --local 5 --workers 1000");
    return [o] { return bench::run(*o); };
}

std::function<int()> add_demo(CLI::App& sub)
{
    const auto o = std::make_shared<bench::show_options>();
    bench::add_show(sub, *o);
    return [o] { return bench::show(*o); };
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
