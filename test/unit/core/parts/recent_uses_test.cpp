#include "core/contention/recent_uses.hpp"

#include "support/allocation_count.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <chrono>
#include <cstdint>

using namespace redlock;
using namespace std::chrono_literals;
using base::instant;
using core::recent_uses;

namespace {

/// Spreads numbers as a hash does.
std::uint64_t nth(std::uint64_t n)
{
    return (n + 1) * 0x9e37'79b9'7f4a'7c15U >> 7U;
}

}  // namespace

TEST_CASE("a client remembers its uses of many resources until they end", "[core][recent_uses]")
{
    recent_uses table;
    const instant now = instant{} + GENERATE(-1h, 0h, 1h);
    const std::uint64_t many = 1000;
    for (std::uint64_t i = 0; i < many; ++i) {
        CHECK(table.find(nth(i), now) == nullptr);
        recent_uses::use& made = table.note(nth(i), now, now + 1s);
        REQUIRE(made.asked == now);
        REQUIRE_FALSE(made.do_others_wait);
        made.do_others_wait = i % 2 == 0;
    }
    for (std::uint64_t i = 0; i < many; ++i) {
        const recent_uses::use* const found = table.find(nth(i), now + 1s);
        REQUIRE(found != nullptr);
        REQUIRE(found->do_others_wait == (i % 2 == 0));
    }
    CHECK(table.find(nth(0), now + 1s + 1ns) == nullptr);
}

TEST_CASE("a use that goes on keeps what is known of the others that wait", "[core][recent_uses]")
{
    recent_uses table;
    const instant now{};
    recent_uses::use& first = table.note(1, now, now + 1s);
    first.do_others_wait = true;
    recent_uses::use& next = table.note(1, now + 1s, now + 500ms);
    CHECK(&next == &first);
    CHECK(next.do_others_wait);
    CHECK(next.asked == now);
    CHECK(next.until == now + 500ms);
    // The use has ended, and another one begins.
    recent_uses::use& later = table.note(1, now + 1s, now + 2s);
    CHECK_FALSE(later.do_others_wait);
    CHECK(later.asked == now + 1s);
}

TEST_CASE("a client forgets the uses that have ended if there are many", "[core][recent_uses]")
{
    recent_uses table;
    const instant now{};
    const std::uint64_t many = 8000;
    for (std::uint64_t i = 0; i < many; ++i) {
        table.note(nth(i), now, now + (i % 4 == 0 ? 2s : 1s));
    }
    for (std::uint64_t i = many; i < many + 1000; ++i) {
        table.note(nth(i), now + 2s, now + 3s);
    }
    for (std::uint64_t i = 0; i < many + 1000; ++i) {
        REQUIRE((table.find(nth(i), now + 2s) != nullptr) == (i >= many || i % 4 == 0));
    }
}

TEST_CASE("a client forgets all uses if there are too many at a time", "[core][recent_uses]")
{
    recent_uses table;
    const instant now{};
    const std::uint64_t many = 40'000;
    for (std::uint64_t i = 0; i < many; ++i) {
        table.note(nth(i), now, now + 1s);
    }
    std::uint64_t known = 0;
    for (std::uint64_t i = 0; i < many; ++i) {
        known += table.find(nth(i), now) != nullptr ? 1U : 0U;
    }
    CHECK(known == many % 8192);
    CHECK(table.find(nth(many - 1), now) != nullptr);
}

TEST_CASE("a client without memory remembers no further use", "[core][recent_uses]")
{
    recent_uses table;
    const instant now{};
    table.note(nth(0), now, now + 1s);
    const test::scarce_memory scarce{1};
    for (std::uint64_t i = 1; i < 100; ++i) {
        CHECK_FALSE(table.note(nth(i), now, now + 1s).do_others_wait);
    }
    CHECK(table.find(nth(0), now) != nullptr);
    CHECK(table.find(nth(99), now) == nullptr);
}
