#include "chaos/clock_dial.hpp"
#include "examples/program.hpp"
#include "support/masters.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cstddef>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;
using namespace std::chrono_literals;

namespace {

/// The output of the programs about one tick.
struct tick_record {
    int run = 0;
    /// Programs that got no answer in time, as on a busy machine. One of them may have hindered the
    /// others.
    int undecided = 0;
};

std::map<std::string, tick_record> records(const std::vector<std::unique_ptr<program>>& machines)
{
    std::map<std::string, tick_record> result;
    for (const auto& one : machines) {
        std::istringstream lines(one->said());
        for (std::string line; std::getline(lines, line);) {
            tick_record& tick = result[line.substr(0, line.find(':'))];
            tick.run += line.ends_with(": run here") ? 1 : 0;
            tick.undecided += line.find(": not run here: ") != std::string::npos ? 1 : 0;
        }
    }
    return result;
}

}  // namespace

TEST_CASE("one machine runs each tick even if another machine is late", "[examples]")
{
    const masters nodes(3);
    const temp_dir folder;
    chaos::clock_dial dial(folder / "clock");
    dial.step(-1500ms);

    const auto arguments = with({"500", "6"}, nodes.urls());
    const auto clock = "REDLOCK_CHAOS_CLOCK=" + (folder / "clock").string();
    const auto most_ticks_are_run = [&] {
        std::vector<std::unique_ptr<program>> machines;
        for (int i = 0; i < 3; ++i) {
            machines.push_back(std::make_unique<program>("cron_leader", arguments));
        }
        machines.push_back(std::make_unique<program>(
            "cron_leader", arguments, std::vector<std::string>{"LD_PRELOAD=" CLOCK_SHIM, clock}));
        for (const auto& one : machines) {
            CHECK(one->process().wait() == 0);
        }
        const auto ticks = records(machines);
        CHECK(ticks.size() >= 6);
        std::size_t runs = 0;
        for (const auto& [name, tick] : ticks) {
            CAPTURE(name, tick.undecided);
            CHECK(tick.run <= 1);
            CHECK((tick.run == 1 || tick.undecided > 0));
            CHECK((tick.run == 0 || nodes.count("cron/report/" + name) >= 2));
            CHECK(nodes.count("cron/report/" + name + ":fencing") == 0);
            runs += tick.run == 1 ? 1 : 0;
        }
        return 2 * runs > ticks.size() && machines.back()->has_said(": run elsewhere\n");
    };
    // A program gives up a tick after half a second. On a busy machine the test runs the programs
    // again until most ticks are run.
    CHECK(wait_for(most_ticks_are_run));
}

TEST_CASE("a tick without a majority is skipped and the program says so", "[examples]")
{
    masters nodes(3);
    nodes[0].kill();
    nodes[1].kill();
    program example("cron_leader", with({"100", "1"}, nodes.urls()));
    CHECK(example.process().wait() == 0);
    CHECK(example.has_said(": not run here: "));
}
