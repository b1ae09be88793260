#include "chaos/clock_dial.hpp"
#include "examples/program.hpp"
#include "support/masters.hpp"

#include <catch2/catch_test_macros.hpp>

#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;
using namespace std::chrono_literals;

namespace {

/// How often each tick was run, of those that a machine came to and asked about.
std::map<std::string, int> runs(const std::vector<std::unique_ptr<program>>& machines)
{
    std::map<std::string, int> result;
    for (const auto& one : machines) {
        std::istringstream lines(one->said());
        for (std::string line; std::getline(lines, line);) {
            // Who got no answer in time, on a machine that is busy, knows nothing.
            if (line.find(": not run here: ") == std::string::npos) {
                result[line.substr(0, line.find(':'))] += line.ends_with(": run here") ? 1 : 0;
            }
        }
    }
    return result;
}

}  // namespace

TEST_CASE("each tick is run on one machine, also when another one is late", "[examples]")
{
    const masters nodes(3);
    const temp_dir folder;
    chaos::clock_dial dial(folder / "clock");
    dial.step(-1500ms);

    std::vector<std::unique_ptr<program>> machines;
    const auto arguments = with({"500", "6"}, nodes.urls());
    for (int i = 0; i < 3; ++i) {
        machines.push_back(std::make_unique<program>("cron_leader", arguments));
    }
    const auto clock = "REDLOCK_CHAOS_CLOCK=" + (folder / "clock").string();
    machines.push_back(std::make_unique<program>(
        "cron_leader", arguments, std::vector<std::string>{"LD_PRELOAD=" CLOCK_SHIM, clock}));
    for (const auto& one : machines) {
        CHECK(one->process().wait() == 0);
    }
    const auto ticks = runs(machines);
    CHECK(ticks.size() >= 6);
    for (const auto& [tick, times] : ticks) {
        CAPTURE(tick);
        CHECK(times == 1);
        CHECK(nodes.count("cron/report/" + tick) >= 2);
        CHECK(nodes.count("cron/report/" + tick + ":fencing") == 0);
    }
    CHECK(machines.back()->has_said(": run elsewhere\n"));
}

TEST_CASE("a tick without a majority is not run, and that is said", "[examples]")
{
    masters nodes(3);
    nodes[0].kill();
    nodes[1].kill();
    program example("cron_leader", with({"100", "1"}, nodes.urls()));
    CHECK(example.process().wait() == 0);
    CHECK(example.has_said(": not run here: "));
}
