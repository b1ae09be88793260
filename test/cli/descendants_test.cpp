#include "cli/descendants.hpp"
#include "support/process.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>

using redlock::cli::descendants;

TEST_CASE("a process that has the pid of an earlier one is not excluded with it", "[run]")
{
    const redlock::test::process child("/bin/sleep", {"1000"});
    const auto all = descendants();
    const auto found = std::ranges::find(all, child.pid(), &redlock::cli::process_id::pid);
    REQUIRE(found != all.end());
    auto earlier = *found;
    CHECK(std::ranges::count(descendants({earlier}), *found) == 0);
    --earlier.begun;
    CHECK(std::ranges::count(descendants({earlier}), *found) == 1);
}
