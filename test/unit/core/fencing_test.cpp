#include "core/fencing.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <random>
#include <vector>

using namespace redlock;
using core::fencing_votes;

namespace {

constexpr std::int64_t base = 1'700'000'000'000'000;
constexpr std::int64_t date = base + 1'000'000;
constexpr std::int64_t runaway = 9'000'000'000'000'000;

/// The nodes' votes, relative to `base`.
fencing_votes voted(unsigned nodes, std::initializer_list<std::int64_t> values)
{
    fencing_votes v;
    v.reset(nodes, 0);
    unsigned node = 0;
    for (const std::int64_t value : values) {
        v.vote(node++, base + value, false);
    }
    return v;
}

std::optional<std::int64_t> target(const fencing_votes& v, std::int64_t headroom = 0)
{
    return v.target(v.known(), headroom);
}

/// The target of an alignment, relative to `base`. -1 if there is none.
std::int64_t aim(const fencing_votes& v, std::int64_t headroom = 0)
{
    const auto t = target(v, headroom);
    return t ? *t - base : -1;
}

}  // namespace

TEST_CASE("a value that a quorum voted is the token", "[core][fencing]")
{
    CHECK_FALSE(voted(3, {5}).agreed());
    CHECK_FALSE(voted(3, {5, 6}).agreed());
    CHECK_FALSE(voted(3, {5, 6, 7}).agreed());
    CHECK(voted(3, {5, 6, 5}).agreed() == base + 5);
    CHECK(voted(3, {6, 5, 5}).agreed() == base + 5);
    CHECK(voted(1, {5}).agreed() == base + 5);
    CHECK_FALSE(voted(2, {5}).agreed());
    CHECK(voted(2, {5, 5}).agreed() == base + 5);
    CHECK_FALSE(voted(4, {5, 5, 6, 6}).agreed());
    CHECK_FALSE(voted(5, {5, 5, 6, 6, 7}).agreed());
    CHECK(voted(5, {5, 6, 6, 7, 6}).agreed() == base + 6);
}

TEST_CASE("a counter value of another lease is no vote", "[core][fencing]")
{
    fencing_votes v = voted(3, {5, 6});
    v.found(0, base + 6);
    CHECK_FALSE(v.agreed());
    CHECK_FALSE(v.has_voted(0, base + 6));
    // The value that this lease voted itself remains its vote.
    v.found(1, base + 6);
    CHECK(v.has_voted(1, base + 6));
    v.vote(0, base + 6, false);
    CHECK(v.agreed() == base + 6);
}

TEST_CASE("a node that leaves the attempt neither votes nor follows", "[core][fencing]")
{
    fencing_votes v = voted(3, {5, 5});
    CHECK(v.known() == 0b011);
    v.drop(1);
    CHECK(v.known() == 0b001);
    CHECK_FALSE(v.agreed());
    CHECK_FALSE(v.has_voted(1, base + 5));
    CHECK_FALSE(v.is_below(1, base + 9));
    CHECK(aim(v) == -1);
    CHECK(v.most_followers() == 1);
}

TEST_CASE("a settled node keeps its vote", "[core][fencing]")
{
    fencing_votes v = voted(3, {5, 9});
    REQUIRE(aim(v) == 9);
    v.settle(0);
    CHECK(v.has_voted(0, base + 5));
    CHECK_FALSE(v.is_below(0, base + 9));
    CHECK_FALSE(v.is_below(0, base + 6));
    CHECK(aim(v) == -1);
    v.vote(2, base + 3, false);
    CHECK(aim(v) == 5);  // the third node can be aligned to that
    v.vote(2, base + 5, false);
    CHECK(v.agreed() == base + 5);
}

TEST_CASE("a settled node with a new counter has no vote", "[core][fencing]")
{
    fencing_votes v = voted(3, {5});
    v.vote(1, 1, true);
    v.settle(1);
    CHECK(v.known() == 0b001);
}

TEST_CASE("an alignment aims at the least value on which a quorum can agree", "[core][fencing]")
{
    CHECK(aim(voted(3, {5})) == -1);
    CHECK(aim(voted(3, {5, 9})) == 9);
    CHECK(aim(voted(3, {9, 5})) == 9);
    CHECK(aim(voted(3, {9, 5, 7})) == 7);
    CHECK(aim(voted(5, {1, 9, 5})) == 9);
    CHECK(aim(voted(5, {1, 9, 5, 7, 3})) == 5);
    // Only the given nodes count.
    CHECK(voted(3, {9, 5, 7}).target(0b011, 0) == base + 9);
    CHECK_FALSE(voted(3, {9, 5, 7}).target(0b010, 0));
}

TEST_CASE("a counter far above or below the others does not decide the target", "[core][fencing]")
{
    fencing_votes v = voted(3, {5, 7});
    v.vote(2, runaway, false);
    CHECK(target(v) == base + 7);
    CHECK(aim(voted(3, {5, 7, -500'000'000})) == 5);
    CHECK(v.most_followers() == 3);
}

TEST_CASE("an alignment aims no higher than a node's limit for its counter", "[core][fencing]")
{
    fencing_votes v = voted(3, {5});
    v.vote(1, runaway, false);
    REQUIRE(target(v) == runaway);
    CHECK(v.is_below(0, runaway));
    v.found(0, base + 5);
    v.bound(0, runaway);
    CHECK(v.has_voted(0, base + 5));
    CHECK_FALSE(v.is_below(0, runaway));
    CHECK(v.is_below(0, runaway - 1));
    CHECK_FALSE(target(v));
    CHECK(v.most_followers() == 1);
    v.vote(2, base + 8, false);
    CHECK(aim(v) == 8);
    CHECK(v.most_followers() == 2);
    // The limit does not change what the node has already voted.
    fencing_votes two = voted(3, {5, 9});
    two.bound(1, base + 9);
    CHECK(aim(two) == 9);
}

TEST_CASE("an alignment aims above a counter that other leases have raised", "[core][fencing]")
{
    fencing_votes v = voted(3, {5, 9});
    v.found(0, base + 12);
    CHECK(aim(v) == 13);
    CHECK(aim(v, 32) == 12 + 1 + 32);
    v.found(1, base + 20);
    CHECK(aim(v) == 21);
    CHECK(aim(v, 32) == 20 + 1 + 32);
    // A target that a quorum can reach without the moving counter gets no headroom.
    v.vote(2, base + 21, false);
    CHECK(aim(v) == 21);
    CHECK(aim(v, 8) == 12 + 1 + 8);
}

TEST_CASE("new counters are no votes and must be seeded", "[core][fencing]")
{
    constexpr std::int64_t least = core::least_seeded_counter;
    for (const std::int64_t value : {std::int64_t{1}, least - 1, least, base}) {
        fencing_votes v;
        v.reset(3, 0);
        for (unsigned node = 0; node < 3; ++node) {
            v.vote(node, value, true);
            CHECK_FALSE(v.has_voted(node, value));
            CHECK(v.is_below(node, least));
        }
        CHECK_FALSE(v.agreed());
        REQUIRE(target(v));
        CHECK(target(v) == least);
    }
    fencing_votes v;
    v.reset(1, 0);
    v.vote(0, least, false);
    CHECK(v.agreed() == least);
    CHECK_FALSE(v.is_below(0, least));
    v.vote(0, 7, true);
    REQUIRE(target(v));
    CHECK(v.is_below(0, *target(v)));
}

TEST_CASE("a new counter follows any target", "[core][fencing]")
{
    fencing_votes v = voted(3, {5});
    v.vote(1, 1, true);
    CHECK(aim(v) == 5);
    // If the node has raised the new counter above the target, the others follow.
    v.vote(1, date, false);
    CHECK(target(v) == date);
    CHECK(v.is_below(0, date));
    // A new counter even follows a target below its old value.
    v.vote(2, date, true);
    CHECK(v.target(0b101, 0) == base + 5);
    CHECK(v.is_below(2, base + 5));
}

TEST_CASE("each attempt begins without votes", "[core][fencing]")
{
    fencing_votes v = voted(3, {5, 5, 5});
    v.bound(0, base + 6);
    v.vote(1, base + 9, true);
    v.reset(3, 0);
    CHECK(v.known() == 0);
    CHECK_FALSE(v.agreed());
    CHECK(v.most_followers() == 0);
    v.vote(0, base + 5, false);
    CHECK(v.is_below(0, base + 6));
    v.vote(1, base + 5, false);
    CHECK(v.agreed() == base + 5);
}

TEST_CASE("a quorum agrees after an alignment to the target for any votes", "[core][fencing]")
{
    std::mt19937 random{1};
    for (int i = 0; i < 20'000; ++i) {
        const unsigned nodes = 1 + random() % 8;
        std::vector<std::int64_t> values;
        fencing_votes v;
        v.reset(nodes, 0);
        for (unsigned node = 0; node < nodes; ++node) {
            values.push_back(base + static_cast<std::int64_t>(random() % 6));
            v.vote(node, values.back(), false);
        }
        const auto t = target(v);
        REQUIRE(t);
        std::sort(values.begin(), values.end());
        REQUIRE(*t >= values[nodes / 2]);
        REQUIRE(*t <= values.back());
        for (unsigned node = 0; node < nodes; ++node) {
            if (v.is_below(node, *t)) {
                v.vote(node, *t, false);
            }
        }
        REQUIRE(v.agreed());
        REQUIRE(*v.agreed() == static_cast<std::uint64_t>(*t));
    }
}
