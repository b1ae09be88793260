#include "examples/program.hpp"
#include "support/masters.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace redlock::test;

TEST_CASE("the example of futures waits for its locks", "[examples]")
{
    const masters nodes(3);
    const auto example =
        run_in_time("futures", nodes.urls(), {no_majority, timeout_passed, granted_too_late});
    CHECK(example.status == 0);
    CHECK(example.said ==
          "orders/42 is ours\n"
          "orders/43 was ours, and is dropped\n"
          "once more: The resource is locked by another owner\n"
          "working\n"
          "released\n");
    CHECK(is_released(nodes, "orders/42"));
    CHECK(is_released(nodes, "orders/43"));
}

TEST_CASE("the example of futures says why it has no lock", "[examples]")
{
    masters nodes(3);
    nodes[0].kill();
    nodes[1].kill();
    program example("futures", nodes.urls());
    CHECK(example.process().wait() == 1);
    CHECK(example.said() == "no lock: The timeout passed before the lock was acquired\n");
}
