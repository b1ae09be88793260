#include "base/owner_token.hpp"
#include "client_sim/timed_clients.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::test;
using namespace std::chrono_literals;

namespace {

/// The requests for entropy for this many locks in one turn.
sim_world::asked asked_for(timed_clients& s, unsigned locks)
{
    const sim_world::asked before = s.world->asked_for_entropy();
    std::vector<lock> taken;
    for (unsigned i = 0; i < locks; ++i) {
        s.locks->async_acquire(std::to_string(i), {.fencing = false}, [&](error_code ec, lock l) {
            REQUIRE_FALSE(ec);
            taken.push_back(std::move(l));
        });
    }
    REQUIRE(s.run_for(10s, [&] { return taken.size() == locks; }));
    const sim_world::asked& all = s.world->asked_for_entropy();
    return {all.times - before.times, all.bytes - before.bytes};
}

}  // namespace

TEST_CASE("a client draws the owner tokens of each turn at once", "[client_sim][entropy]")
{
    constexpr sim_world::asked one{1, base::owner_token::raw_size};
    timed_clients s;
    CHECK(asked_for(s, 1) == one);
    CHECK(asked_for(s, 64).times <= 7);
    CHECK(asked_for(s, 1) == sim_world::asked{1, 64 * one.bytes});
    for (int i = 0; i < 3; ++i) {
        INFO(i);
        CHECK(asked_for(s, 1) == one);
    }
}

TEST_CASE("a turn ends for owner tokens even if a handler throws", "[client_sim][entropy]")
{
    constexpr sim_world::asked one{1, base::owner_token::raw_size};
    timed_clients s;
    REQUIRE(asked_for(s, 64).times <= 7);

    constexpr acquire_options o{.fencing = false};
    const auto ignored = [](error_code, lock) {};
    s.locks->async_acquire("first", o, [&](error_code, lock) {
        s.locks->async_acquire("second", o, ignored);
        throw std::runtime_error("of the user's");
    });
    REQUIRE_THROWS_AS(s.run_for(10s, [] { return false; }), std::runtime_error);

    const sim_world::asked before = s.world->asked_for_entropy();
    s.locks->async_acquire("third", o, ignored);
    const sim_world::asked& all = s.world->asked_for_entropy();
    CHECK(sim_world::asked{all.times - before.times, all.bytes - before.bytes} == one);
}
