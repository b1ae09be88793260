#include "examples/program.hpp"
#include "support/masters.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace redlock::test;

TEST_CASE("the program of the README works under its lock and releases it", "[examples]")
{
    const masters nodes(3);
    const auto example =
        run_in_time("readme", nodes.urls(), {no_majority, timeout_passed, granted_too_late});
    CAPTURE(example.said);
    REQUIRE(example.status == 0);
    CHECK(example.said.starts_with("working under token "));
    CHECK(is_released(nodes, "invoices"));
}
