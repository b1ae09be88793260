#include "engine/abandoned_leases.hpp"

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <set>
#include <thread>
#include <vector>

using namespace redlock;

TEST_CASE("a client takes each abandoned lease exactly once", "[engine][abandoned_leases]")
{
    std::array<core::lease, 5> some;
    engine::abandoned_leases left;
    std::vector<core::lease*> taken;
    const auto take = [&](core::lease& l) {
        l.left_before = nullptr;  // as its record may serve another lease by now
        taken.push_back(&l);
    };
    left.take_all(take);
    CHECK(taken.empty());
    for (core::lease& l : some) {
        left.push(l);
    }
    left.take_all(take);
    CHECK(std::set(taken.begin(), taken.end()).size() == some.size());
    CHECK(taken.size() == some.size());
    left.push(some[2]);
    taken.clear();
    left.take_all(take);
    CHECK(taken == std::vector{&some[2]});
}

TEST_CASE("threads may abandon leases at the same time", "[engine][abandoned_leases]")
{
    constexpr std::size_t each = 1000;
    std::vector<core::lease> some(2 * each);
    engine::abandoned_leases left;
    std::size_t taken = 0;
    const auto leave = [&](std::size_t first) {
        for (std::size_t i = first; i < first + each; ++i) {
            left.push(some[i]);
        }
    };
    std::thread one(leave, 0);
    std::thread other(leave, each);
    while (taken < each) {
        left.take_all([&](core::lease&) { ++taken; });
    }
    one.join();
    other.join();
    left.take_all([&](core::lease&) { ++taken; });
    CHECK(taken == some.size());
}
