#include "core/counters.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>

using namespace redlock;
using namespace std::chrono_literals;
using base::instant;
using core::counters;

namespace {

constexpr std::uint64_t resource = 12'345;
/// One that has the same place in the table.
constexpr std::uint64_t neighbour = resource + (std::uint64_t{1} << 40);
constexpr instant begin = instant{} + 1000s;
constexpr auto life = 1min;

counters ready()
{
    counters c;
    c.reserve();
    return c;
}

/// Of the first three nodes, those on which the counter is known to every connection.
core::node_mask known(const counters& c, std::uint64_t of, instant at)
{
    core::node_mask nodes = 0;
    for (unsigned i = 0; i < 3; ++i) {
        nodes |= c.knows(of, i, instant{}, at) ? core::bit(i) : 0;
    }
    return nodes;
}

}  // namespace

TEST_CASE("nothing is known before memory was taken, nor before it was seen", "[core][fencing]")
{
    counters c;
    c.note(resource, 0, begin, life);
    CHECK_FALSE(c.knows(resource, 0, instant{}, begin));
    c.reserve();
    CHECK_FALSE(c.knows(resource, 0, instant{}, begin));
    CHECK_FALSE(c.knows(0, 0, instant{}, begin));
    c.note(resource, 0, begin, life);
    CHECK(c.knows(resource, 0, instant{}, begin));
    c.reserve();
    CHECK(c.knows(resource, 0, instant{}, begin));
}

TEST_CASE("a counter is known on the node it was seen on", "[core][fencing]")
{
    counters c = ready();
    c.note(resource, 0, begin, life);
    c.note(resource, 2, begin, life);
    CHECK(known(c, resource, begin) == 0b101);
    CHECK(known(c, resource + 1, begin) == 0);
}

TEST_CASE("a counter is known for three quarters of its life", "[core][fencing]")
{
    counters c = ready();
    c.note(resource, 0, begin, life);
    CHECK(c.knows(resource, 0, instant{}, begin + 45s - 1ns));
    CHECK_FALSE(c.knows(resource, 0, instant{}, begin + 45s));
    c.note(resource, 0, begin + 45s, life);
    CHECK(c.knows(resource, 0, instant{}, begin + 90s - 1ns));
}

TEST_CASE("a counter is unknown to the connections made since", "[core][fencing]")
{
    counters c = ready();
    c.note(resource, 0, begin, life);
    CHECK(c.knows(resource, 0, begin, begin + 1s));
    CHECK_FALSE(c.knows(resource, 0, begin + 1ns, begin + 1s));
    c.note(resource, 0, begin + 1s, life);
    CHECK(c.knows(resource, 0, begin + 1ns, begin + 1s));
}

TEST_CASE("nodes that share a place never make a counter known for longer", "[core][fencing]")
{
    counters c = ready();
    c.note(resource, 0, begin, life);
    c.note(resource, 1, begin + 10s, life);
    CHECK(known(c, resource, begin + 45s - 1ns) == 0b011);
    CHECK(known(c, resource, begin + 45s) == 0);
    // Nor since later: what was seen of the first is no older for the second.
    CHECK(c.knows(resource, 0, begin, begin + 20s));
    CHECK_FALSE(c.knows(resource, 1, begin + 1ns, begin + 20s));
    // Behind the end of the first, the second has the place to itself.
    c.note(resource, 2, begin + 45s, life);
    CHECK(known(c, resource, begin + 45s) == 0b100);
}

TEST_CASE("a shorter life is everybody's", "[core][fencing]")
{
    counters c = ready();
    c.note(resource, 0, begin, 1h);
    c.note(resource, 1, begin, life);
    CHECK(known(c, resource, begin + 45s) == 0);
}

TEST_CASE("two resources in one place put each other out", "[core][fencing]")
{
    counters c = ready();
    c.note(resource, 0, begin, life);
    c.note(neighbour, 1, begin, life);
    CHECK(known(c, resource, begin) == 0);
    CHECK(known(c, neighbour, begin) == 0b010);
}
