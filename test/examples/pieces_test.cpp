#include "examples/program.hpp"
#include "support/masters.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace redlock::test;

TEST_CASE("the pieces of code in the pages do what the pages say", "[examples]")
{
    const masters nodes(3);
    // One of the pieces makes a single attempt.
    const auto pieces =
        run_in_time("pieces", nodes.urls(),
                    {no_majority, timeout_passed, granted_too_late, "no lock just now\n"});
    CAPTURE(pieces.said);
    CHECK(pieces.status == 0);
    for (const auto* line : {"kept alive: orders/42\n", "over: ", "both: account/7 account/9\n",
                             "the caller still has the lock\n", "another client works\n",
                             "mistake: ", "read: completed\n"}) {
        CHECK(pieces.has_said(line));
    }
}
