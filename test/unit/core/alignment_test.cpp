#include "fenced.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <cstdint>
#include <string>

using namespace redlock;
using namespace redlock::test;

TEST_CASE("an alignment raises the counters of a quorum to one value", "[core][fencing]")
{
    counting_world w;
    call& c = w.acquire("r", {.ttl = 3s, .fencing = true});
    const std::string owner = w.peers[0]->asked[0][2];
    w.grant(0, 5);
    CHECK(w.pending(0).empty());
    w.grant(1, 9);
    REQUIRE_FALSE(c.done());
    CHECK(w.pending(1).empty());
    REQUIRE(w.peers[0]->asked.size() == 1);
    CHECK(w.peers[0]->asked[0] == words{"EVALSHA", std::string(resp::align_script.sha1), "2", "r",
                                        counter, owner, std::to_string(w.base + 9),
                                        std::to_string(date_of(w.now)), "1000000", "86400000",
                                        std::to_string(core::least_seeded_counter)});
    w.counted(0, 9);
    CHECK(token_of(c) == static_cast<std::uint64_t>(w.base + 9));
    CHECK(c.held->token.view() == owner);
    CHECK(w.core->snapshot().counter_alignments == 1);
}

TEST_CASE("a grant during an alignment joins it", "[core][fencing]")
{
    counting_world w;
    call& c = w.acquire("r", fenced);
    w.grant(0, 5);
    w.grant(1, 9);
    SECTION("with a smaller counter")
    {
        w.grant(2, 7);
        CHECK(w.raised_to(2) == 9);
        w.counted(2, 9);
    }
    SECTION("with an equal counter")
    {
        w.grant(2, 9);
        CHECK(w.pending(2).empty());
    }
    SECTION("with a larger counter that does not help")
    {
        w.grant(2, 12);
        CHECK(w.pending(2).empty());
        REQUIRE_FALSE(c.done());
        // The client does not wait for the first node if the two others can agree.
        CHECK(w.raised_to(1) == 12);
        w.counted(0, 9);
    }
    CHECK(token_of(c) == static_cast<std::uint64_t>(w.base + 9));
    w.drop(*c.held);
    w.answer_all();
    CHECK(w.is_idle());
}

TEST_CASE("a counter far above the others neither raises the token nor blocks it",
          "[core][fencing]")
{
    const auto first_to_answer = GENERATE(0u, 1u, 2u);
    running_world w;
    w.drop(w.lock("r", fenced));
    constexpr std::int64_t runaway = 9'000'000'000'000'000;
    w.peers[0]->master.put(counter, {.value = std::to_string(runaway), .end = w.now + 24h});
    const auto before = counted(w, 1);
    for (unsigned i = 0; i < 3; ++i) {
        w.peers[i]->way_back = i == first_to_answer ? 1ms : 2ms + 1ms * i;
    }
    call& c = w.acquire("r", fenced);
    w.advance(40ms);
    CHECK(token_of(c) == static_cast<std::uint64_t>(before + 1));
    CHECK(counted(w, 1) == before + 1);
    CHECK(counted(w, 2) == before + 1);
    CHECK(c.ended - c.begun < 20ms);
}

TEST_CASE("an alignment aims above a value that other leases have passed", "[core][fencing]")
{
    counting_world w;
    call& c = w.acquire("r", fenced);
    w.grant(0, 5);
    w.grant(1, 9);
    w.refuse(2);
    CHECK(w.raised_to(0) == 9);
    w.stands_at(0, 12);
    REQUIRE_FALSE(c.done());
    CHECK(w.core->snapshot().counter_alignments == 2);
    const std::int64_t next = w.raised_to(0);
    CHECK(next > 12);
    CHECK(w.raised_to(1) == next);
    w.counted(0, next);
    REQUIRE_FALSE(c.done());
    w.counted(1, next);
    CHECK(token_of(c) == static_cast<std::uint64_t>(w.base + next));
}

TEST_CASE("a node limits how far its counter may go", "[core][fencing]")
{
    counting_world w;
    w.with_report = true;
    call& c = w.acquire("r", once);
    for (unsigned i = 0; i < 2; ++i) {
        w.grant(i, i == 0 ? 5 : 5'000'000);
        w.answer(i, ":-2\r\n");
    }
    CHECK(w.raised_to(0) == 5'000'000);
    w.stands_at(0, 5);
    REQUIRE_FALSE(c.done());
    SECTION("one more node may agree with it")
    {
        w.grant(2, 6);
        w.answer(2, ":-2\r\n");
        CHECK(w.raised_to(2) == 5'000'000);
        w.stands_at(2, 6);
        CHECK(w.raised_to(0) == 6);
        w.counted(0, 6);
        CHECK(token_of(c) == static_cast<std::uint64_t>(w.base + 6));
        return;
    }
    SECTION("another client may hold the third node")
    {
        w.refuse(2);
        w.answer(2, ":500\r\n");
        CHECK(c.error == errc::contended);
    }
    SECTION("the third node may answer with an error")
    {
        w.answer(2, broken);
        CHECK(c.error == errc::unavailable);
    }
    CHECK(c.report.nodes[0].error ==
          "the fencing counter may not go that far beyond this node's date");
}

TEST_CASE("a new counter is seeded with the client's date", "[core][fencing]")
{
    counting_world w;
    call& c = w.acquire("r", fenced);
    const std::int64_t date = date_of(w.now);
    for (unsigned i = 0; i < 2; ++i) {
        w.answer(i, ok);
        w.answer(i, number(3));
    }
    for (unsigned i = 0; i < 2; ++i) {
        REQUIRE(w.peers[i]->asked.size() == 1);
        CHECK(w.peers[i]->asked[0][6] == std::to_string(core::least_seeded_counter));
        CHECK(w.peers[i]->asked[0][7] == std::to_string(date));
    }
    // Nodes with different dates bring it to different values, which takes one more alignment.
    w.answer(0, number(date));
    w.answer(1, number(date - 100));
    CHECK(w.raised_to(1) == date - w.base);
    w.answer(1, number(date));
    CHECK(token_of(c) == static_cast<std::uint64_t>(date));
}

TEST_CASE("a late answer to one alignment serves the next", "[core][fencing]")
{
    counting_world w{5};
    call& c = w.acquire("r", fenced);
    w.grant(0, 5);
    w.grant(1, 6);
    w.grant(2, 9);
    CHECK(w.raised_to(0) == 9);
    CHECK(w.raised_to(1) == 9);
    w.stands_at(0, 11);
    w.grant(3, 9);
    REQUIRE_FALSE(c.done());
    w.counted(1, 9);
    CHECK(token_of(c) == static_cast<std::uint64_t>(w.base + 9));
    w.drop(*c.held);
    w.answer_all();
    CHECK(w.is_idle());
}
