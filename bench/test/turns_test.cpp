#include "redlock_bench/turns.hpp"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include <vector>

using namespace redlock::bench;

namespace {

constexpr std::int64_t ms = 1'000'000;

/// Two processes of two workers. The third worker is never served.
contention counted(window when)
{
    history one;
    one.turns = {{0, 0, 1 * ms, 2 * ms}, {1, 0, 5 * ms, 6 * ms}};
    one.commands = 9;
    one.failures = 1;
    history other;
    other.turns = {{1, 1 * ms, 3 * ms, 4 * ms}};
    other.commands = 9;
    contention c;
    c.nodes = 3;
    c.processes = 2;
    c.workers = 4;
    count(c, std::vector{one, other}, when);
    return c;
}

}  // namespace

TEST_CASE("turns of several processes are sorted by their grants")
{
    const contention c = counted({0, 10 * ms});
    CHECK(c.grants == 3);
    CHECK(c.grants_per_second == 300);
    CHECK(c.wait_p50_us == 2000);
    CHECK(c.wait_max_us == 5000);
    CHECK(c.hand_over_p50_us == 1000);
    CHECK(c.least_of_a_worker == 0);
    CHECK(c.most_of_a_worker == 1);
    CHECK(c.commands_per_node_and_grant == 2);
    CHECK(c.failures == 1);
    CHECK(c.violations == 0);
}

TEST_CASE("grants outside of the measured time do not count")
{
    const contention c = counted({2 * ms, 4 * ms});
    CHECK(c.grants == 1);
    CHECK(c.wait_max_us == 2000);
    CHECK(c.hand_over_p99_us == 1000);  // of the turn before, which is outside
}

TEST_CASE("a waiter that still waits at the end has waited until then")
{
    history h;
    h.turns = {{0, 0, 1 * ms, 3 * ms}};
    h.waiting = {2 * ms, 11 * ms};
    contention c;
    c.nodes = c.processes = 1;
    c.workers = 3;
    count(c, std::vector{h}, {0, 10 * ms});
    CHECK(c.grants == 1);
    CHECK(c.wait_max_us == 8000);
}

TEST_CASE("a grant before the previous release violates exclusion")
{
    history h;
    h.turns = {{0, 0, 1 * ms, 3 * ms}, {1, 0, 2 * ms, 4 * ms}};
    contention c;
    c.nodes = c.processes = 1;
    c.workers = 2;
    count(c, std::vector{h}, {0, 10 * ms});
    CHECK(c.violations == 1);
    CHECK_FALSE(is_exclusive(std::vector{contention{}, c}));
    CHECK(is_exclusive(std::vector{contention{}, contention{}}));
}

TEST_CASE("a history is unchanged after it was written and read")
{
    history h;
    h.turns = {{7, 1, 2, 3}, {8, 4, 5, 6}};
    h.waiting = {9};
    h.commands = 11;
    h.failures = 12;
    const auto read = nlohmann::json::parse(nlohmann::json(h).dump()).get<history>();
    REQUIRE(read.turns.size() == 2);
    CHECK(read.turns[1].worker == 8);
    CHECK(read.turns[1].called == 4);
    CHECK(read.turns[1].granted == 5);
    CHECK(read.turns[1].released == 6);
    CHECK(read.waiting == std::vector<std::int64_t>{9});
    CHECK(read.commands == 11);
    CHECK(read.failures == 12);
}
