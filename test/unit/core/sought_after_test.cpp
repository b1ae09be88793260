#include "core/contention/sought_after.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

using namespace redlock;
using namespace std::chrono_literals;
using base::instant;

namespace {

/// Spreads numbers as a hash does.
std::uint64_t nth(std::uint64_t n)
{
    return (n + 1) * 0x9e37'79b9'7f4a'7c15U >> 7U;
}

}  // namespace

TEST_CASE("a client remembers its frequent locks for any number of resources",
          "[core][sought_after]")
{
    core::sought_after table;
    const instant now = instant{} + GENERATE(-1h, 0h, 1h);
    const std::uint64_t many = 4000;
    for (std::uint64_t i = 0; i < many; ++i) {
        core::stint* const s = table.note_turn(nth(i), now, now - 1ms);
        REQUIRE(s != nullptr);
        REQUIRE(s->lonely_rests == core::sought_after::most_lonely_rests);
        s->hand_overs = static_cast<unsigned>(i);
    }
    for (std::uint64_t i = 0; i < many; ++i) {
        const core::stint* const s = table.find(nth(i), now + 900ms);
        REQUIRE(s != nullptr);
        REQUIRE(s->hand_overs == i);
        REQUIRE(table.note_turn(nth(i), now + 900ms, now) == s);
    }
    CHECK(table.find(nth(0), now + 1s) == nullptr);
}

TEST_CASE("a contended lock replaces the entry that was remembered for longest",
          "[core][sought_after]")
{
    core::sought_after table;
    const instant now{};
    // More entries than the table can hold. Each ends later than those before.
    const std::uint64_t many = 40'000;
    std::uint64_t refused = 0;
    for (std::uint64_t i = 0; i < many; ++i) {
        refused += table.note_turn(nth(i), now, now) == nullptr ? 1U : 0U;
    }
    CHECK(refused > many / 2);
    core::stint& wanted = table.note(nth(many), now, now + 1h);
    wanted.meet_others();
    for (std::uint64_t i = 0; i < many; ++i) {
        (void)table.note(nth(i), now, now + 1s);
    }
    const core::stint* const found = table.find(nth(many), now + 30min);
    REQUIRE(found != nullptr);
    CHECK(found->met_others);
    // The time of these entries has passed.
    CHECK(table.note_turn(nth(0), now + 2s, now) != nullptr);
}

TEST_CASE("an entry that is used again is kept from its end on", "[core][sought_after]")
{
    core::sought_after table;
    const instant now{};
    core::stint& s = table.note(nth(1), now, now);
    s.contended_until = now + 1s;
    table.keep(nth(1), now, now + 10s);
    CHECK(table.find(nth(1), now + 10s) == &s);
    CHECK(s.contended_until == now + 11s);
    CHECK(table.find(nth(1), now + 11s) == nullptr);
    table.keep(nth(2), now, now + 10s);
    CHECK(table.find(nth(2), now) == nullptr);
}
