#include "examples/program.hpp"
#include "support/masters.hpp"
#include "support/process.hpp"
#include "support/temp_dir.hpp"

#include <catch2/catch_test_macros.hpp>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

using namespace redlock::test;

TEST_CASE("the first example takes a lock and releases it", "[examples]")
{
    masters nodes(3);
    const auto [said, status] =
        run_in_time("first_lock", nodes.urls(), {no_majority, timeout_passed, granted_too_late});
    CAPTURE(said);
    CHECK(said.starts_with("orders/42 is ours for "));
    CHECK(status == 0);
    CHECK(is_released(nodes, "orders/42"));
}

TEST_CASE("the first example without nodes prints its usage", "[examples]")
{
    const temp_dir folder;
    process program(EXAMPLES "/first_lock", {}, {folder / "out", {}, {}});
    CHECK(program.wait() == 2);
    std::ifstream file(folder / "out");
    std::string line;
    std::getline(file, line);
    CHECK(line.starts_with("usage: first_lock redis://"));
}

TEST_CASE("the first example names the nodes that it could not reach", "[examples]")
{
    masters nodes(3);
    nodes[0].kill();
    nodes[2].kill();
    // Within its two seconds the program usually finds both ports closed.
    const auto [said, status] = run_in_time("first_lock", nodes.urls(), {"no connection yet"});
    CAPTURE(said);
    CHECK(status == 1);
    CHECK(said.starts_with("no lock: "));
    CHECK(said.find(nodes[0].url() + "/0: disconnected") != std::string::npos);
    CHECK(said.find(nodes[2].url() + "/0: disconnected") != std::string::npos);
}

TEST_CASE("an example with a wrong URL says what is wrong with it and ends with 1", "[examples]")
{
    const temp_dir folder;
    const std::pair<std::string, std::vector<std::string>> programs[] = {
        {"cron_leader", {"100", "1"}},
        {"first_lock", {}},
        {"futures", {}},
        {"handlers", {}},
        {"http_service", {"0"}},
        {"keep_alive", {}},
        {"pieces", {}},
        {"prometheus", {"0"}},
        {"spdlog", {}},
        {"transfer", {folder.path().string(), "a", "b", "1"}},
        {"tutorial", {"0"}},
        {"with_lock_loss", {}},
    };
    for (const auto& [name, arguments] : programs) {
        CAPTURE(name);
        if (!std::filesystem::exists(std::string(EXAMPLES "/") + name)) {
            CHECK(name ==
                  "spdlog");  // the only one of these that is left out if a library is missing
            continue;
        }
        program example(name, with(arguments, {"http://secret@h"}));
        const int status = example.process().wait();
        const auto said = example.said();
        CAPTURE(said);
        CHECK(status == 1);
        CHECK(said.starts_with(name + ": config::nodes[0]: scheme"));
        CHECK(said.find("secret") == std::string::npos);
    }
}
