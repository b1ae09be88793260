#include "examples/program.hpp"
#include "support/masters.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace redlock::test;

TEST_CASE("the example of spdlog logs the client's lines at their levels", "[examples]")
{
    masters nodes(3, {.password = "a-secret"});
    nodes[1].kill();
    const auto [said, status] =
        run_in_time("spdlog", nodes.urls("default", "a-secret"), {"[error] no lock: "});
    CAPTURE(said);
    REQUIRE(status == 0);
    CHECK(said.find("[redlock] [info] orders/42 is ours, by 2 nodes\n") != std::string::npos);
    CHECK(said.find("[redlock] [warning] ") != std::string::npos);
    CHECK(said.find(nodes[1].url()) != std::string::npos);
    CHECK(said.find("a-secret") == std::string::npos);
}
