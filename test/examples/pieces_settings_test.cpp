#include "examples/program.hpp"
#include "support/masters.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace redlock::test;

TEST_CASE("a client with the settings of the pages asks for passwords and gets a lock",
          "[examples]")
{
    const masters nodes(3);
    const auto pieces = run_in_time("pieces_settings", nodes.urls(),
                                    {no_majority, timeout_passed, granted_too_late});
    CAPTURE(pieces.said);
    CHECK(pieces.status == 0);
    CHECK(pieces.has_said("read: locks/redis://"));
    CHECK(pieces.has_said("acquired: orders/42\n"));
}
