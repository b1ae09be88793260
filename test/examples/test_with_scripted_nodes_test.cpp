#include "examples/program.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace redlock::test;

TEST_CASE("the example of a test passes", "[examples]")
{
    const auto example =
        run_in_time("test_with_scripted_nodes", {},
                    {"all is well: lost\n", "all is well: not acquired\n",
                     "one node is frozen: lost\n", "one node is frozen: not acquired\n"});
    CAPTURE(example.said);
    CHECK(example.status == 0);
    for (const auto* line : {"all is well: completed\n", "one node is frozen: completed\n",
                             "another holder has it: not acquired\n", "no majority: not acquired\n",
                             "lost during the work: lost\n"}) {
        CHECK(example.has_said(line));
    }
}
