#include "examples/program.hpp"
#include "support/masters.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace redlock::test;

TEST_CASE("the example of keeping a lock alive works for longer than its ttl", "[examples]")
{
    const masters nodes(3);
    // The program's lock ends when the program pauses for a second. Then the work has fewer steps,
    // or the program reports the loss.
    const auto example =
        run_in_time("keep_alive", nodes.urls(),
                    {"no lock: ", "the lock was lost on the way\n", "after 0 steps\n",
                     "after 1 steps\n", "after 2 steps\n", "after 3 steps\n", "after 4 steps\n"});
    CAPTURE(example.said);
    REQUIRE(example.status == 0);
    CHECK(example.has_said("done after 5 steps\n"));
    CHECK(example.has_said("orders/42: renewed\n"));
    CHECK(nodes.count("orders/42") == 0);
}
