#include "examples/program.hpp"
#include "support/masters.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace redlock::test;

TEST_CASE("the pieces of code that stand in the pages do what is said of them", "[examples]")
{
    const masters nodes(3);
    program pieces("pieces", nodes.urls());
    CHECK(pieces.process().wait() == 0);
    CAPTURE(pieces.said());
    for (const auto* line : {"kept alive: orders/42\n", "over: ", "both: account/7 account/9\n",
                             "the caller still has the lock\n", "another client works\n",
                             "mistake: ", "read: completed\n", "read: locks/redis://"}) {
        CHECK(pieces.has_said(line));
    }
}
