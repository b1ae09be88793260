#include "load/verdict.hpp"

#include <redlock/error.hpp>

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::bench;
using namespace std::chrono_literals;

namespace {

std::vector<std::string> verdict_on(const phase& p)
{
    return broken_promises(std::vector{p}, 10ms);
}

}  // namespace

TEST_CASE("a phase without a majority may have one slow failure in a hundred")
{
    phase p{"two of five alive", expected::no_locks, {}, 1.0};
    p.total.acquire_errors[errc::unavailable] = 1000;
    p.total.slow_failures = 10;
    p.total.slowest_failure = 900ms;
    CHECK(verdict_on(p).empty());
    p.total.slow_failures = 11;
    CHECK(verdict_on(p) ==
          std::vector<std::string>{"two of five alive: 11 acquires hung, one for 900.0 ms"});
}

TEST_CASE("a phase without a majority grants no lock and fails by unavailable alone")
{
    phase p{"two of five alive", expected::no_locks, {}, 1.0};
    CHECK(verdict_on(p) ==
          std::vector<std::string>{"two of five alive: no acquire failed with unavailable"});
    p.total.acquire_errors[errc::unavailable] = 10;
    p.total.acquire_errors[errc::timed_out] = 1;
    p.late_acquires = 1;
    CHECK(verdict_on(p).size() == 2);
}

TEST_CASE("a phase with a majority grants locks and fails in one acquire of a hundred at most")
{
    phase p{"all nodes", expected::locks, {}, 1.0};
    CHECK(verdict_on(p) == std::vector<std::string>{"all nodes: no lock could be acquired"});
    for (int i = 0; i < 99; ++i) {
        p.total.acquires.add(1ms);
    }
    p.total.acquire_errors[errc::unavailable] = 1;
    p.total.acquire_errors[errc::contended] = 50;
    CHECK(verdict_on(p).empty());
    p.total.acquire_errors[errc::unavailable] = 2;
    CHECK(verdict_on(p) == std::vector<std::string>{"all nodes: 2 acquires failed"});
}

TEST_CASE("a show without recovery or with two holders breaks its promise")
{
    phase p{"coming back", expected::either, {}, 1.0};
    p.total.violations = 1;
    CHECK(broken_promises(std::vector{p}, {}).size() == 2);
    CHECK(verdict_on(p) ==
          std::vector<std::string>{"coming back: one resource was held twice at a time, 1 times"});
}
