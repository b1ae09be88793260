#include "core/node/counters.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

using namespace redlock;
using namespace std::chrono_literals;
using base::instant;
using core::counters;

namespace {

constexpr std::uint64_t resource = 12'345;
constexpr instant begin = instant{} + 1000s;
constexpr auto life = 1min;

counters ready()
{
    counters c;
    c.reserve();
    return c;
}

/// Neighbours that share their slots in a table of any size.
std::uint64_t neighbour(std::uint64_t i)
{
    return resource + (i << 40U);
}

/// The nodes among the first three on which all connections know the counter.
core::node_mask known(const counters& c, std::uint64_t of, instant at)
{
    core::node_mask nodes = 0;
    for (unsigned i = 0; i < 3; ++i) {
        nodes |= c.knows(of, i, at) ? core::bit(i) : 0;
    }
    return nodes;
}

}  // namespace

TEST_CASE("a client knows no counter before it has memory for it and has seen it",
          "[core][fencing]")
{
    counters c;
    c.note(resource, 0, begin, life);
    CHECK_FALSE(c.knows(resource, 0, begin));
    c.reserve();
    CHECK_FALSE(c.knows(resource, 0, begin));
    CHECK_FALSE(c.knows(0, 0, begin));
    c.note(resource, 0, begin, life);
    CHECK(c.knows(resource, 0, begin));
    c.reserve();
    CHECK(c.knows(resource, 0, begin));
}

TEST_CASE("a client knows a counter on the node where it saw it", "[core][fencing]")
{
    counters c = ready();
    c.note(resource, 0, begin, life);
    c.note(resource, 2, begin, life);
    CHECK(known(c, resource, begin) == 0b101);
    CHECK(known(c, resource + 1, begin) == 0);
}

TEST_CASE("a client trusts its knowledge of a counter for three quarters of the ttl",
          "[core][fencing]")
{
    counters c = ready();
    c.note(resource, 0, begin, life);
    CHECK(c.knows(resource, 0, begin + 45s - 1ns));
    CHECK_FALSE(c.knows(resource, 0, begin + 45s));
    c.note(resource, 0, begin + 45s, life);
    CHECK(c.knows(resource, 0, begin + 90s - 1ns));
}

TEST_CASE("a connection that is newer than the note does not know the counter", "[core][fencing]")
{
    counters c = ready();
    c.on_connected(0);
    c.note(resource, 0, begin, life);
    CHECK(c.knows(resource, 0, begin));
    c.on_connected(0);
    CHECK_FALSE(c.knows(resource, 0, begin));
    c.note(resource, 0, begin, life);
    CHECK(c.knows(resource, 0, begin));
}

TEST_CASE("nodes that share a slot do not prolong the knowledge of a counter", "[core][fencing]")
{
    counters c = ready();
    c.note(resource, 0, begin, life);
    c.note(resource, 1, begin + 10s, life);
    CHECK(known(c, resource, begin + 45s - 1ns) == 0b011);
    CHECK(known(c, resource, begin + 45s) == 0);
    // After the first note ends, the second has the slot to itself.
    c.note(resource, 2, begin + 45s, life);
    CHECK(known(c, resource, begin + 45s) == 0b100);
}

TEST_CASE("a counter that a client sees again on one node stays known on the others",
          "[core][fencing]")
{
    counters c = ready();
    for (unsigned i = 0; i < 3; ++i) {
        c.on_connected(i);
        c.note(resource, i, begin, life);
    }
    SECTION("after an alignment")
    {
        c.note(resource, 1, begin + 10s, life);
        CHECK(known(c, resource, begin + 10s) == 0b111);
    }
    SECTION("after a new connection")
    {
        c.on_connected(1);
        CHECK(known(c, resource, begin + 10s) == 0b101);
        c.note(resource, 1, begin + 10s, life);
        CHECK(known(c, resource, begin + 10s) == 0b111);
    }
    SECTION("but not if their connections are new as well")
    {
        c.on_connected(0);
        c.on_connected(1);
        c.note(resource, 1, begin + 10s, life);
        CHECK(known(c, resource, begin + 10s) == 0b110);
    }
    SECTION("and not if it was forgotten there")
    {
        c.forget(resource, 2);
        c.note(resource, 1, begin + 10s, life);
        CHECK(known(c, resource, begin + 10s) == 0b011);
    }
    // No node for longer than the others that were not seen again.
    CHECK(known(c, resource, begin + 45s) == 0);
}

TEST_CASE("a counter with a shorter ttl is known for a shorter time on all nodes",
          "[core][fencing]")
{
    counters c = ready();
    c.note(resource, 0, begin, 1h);
    c.note(resource, 1, begin, life);
    CHECK(known(c, resource, begin + 45s) == 0);
}

TEST_CASE("resources with the same slots are known side by side", "[core][fencing]")
{
    counters c = ready();
    for (std::uint64_t i = 0; i < 4; ++i) {
        c.note(neighbour(i), static_cast<unsigned>(i % 3), begin + i * 1s, life);
    }
    for (std::uint64_t i = 0; i < 4; ++i) {
        CHECK(known(c, neighbour(i), begin + 4s) == core::bit(static_cast<unsigned>(i % 3)));
    }
    SECTION("one more replaces the note that ends first")
    {
        c.note(neighbour(4), 0, begin + 4s, life);
        CHECK(known(c, neighbour(0), begin + 4s) == 0);
        for (std::uint64_t i = 1; i < 5; ++i) {
            CHECK(known(c, neighbour(i), begin + 4s) != 0);
        }
    }
    SECTION("a repeated note replaces no other")
    {
        c.note(neighbour(3), 2, begin + 4s, life);
        CHECK(known(c, neighbour(3), begin + 4s) == 0b101);
        CHECK(known(c, neighbour(0), begin + 4s) == 0b001);
    }
    SECTION("a forgotten note leaves the others")
    {
        c.forget(neighbour(2), 2);
        CHECK(known(c, neighbour(2), begin + 4s) == 0);
        CHECK(known(c, neighbour(3), begin + 4s) == 0b001);
    }
}

TEST_CASE("a client knows counters of all resources in use up to a limit", "[core][fencing]")
{
    const std::size_t count = GENERATE(1000u, 20'000u, 60'000u, 1'000'000u);
    counters c = ready();
    std::mt19937_64 random{1};
    std::vector<std::uint64_t> all(count);
    for (std::uint64_t& each : all) {
        each = random();
        c.note(each, 1, begin, life);
    }
    const auto there = static_cast<std::size_t>(std::ranges::count_if(
        all, [&](std::uint64_t each) { return known(c, each, begin) == 0b010; }));
    if (count <= 60'000) {
        CHECK(there >= count - count / 20);
    } else {
        CHECK(there <= 131'072);
        CHECK(there > 100'000);
    }
}
