#include "fenced.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <cstdint>
#include <string>

using namespace redlock;
using namespace redlock::test;

TEST_CASE("a key that vanished before the alignment is no vote", "[core][fencing]")
{
    counting_world w;
    w.with_report = true;
    call& c = w.acquire("r", once);
    w.grant_apart();
    w.answer(0, no);
    REQUIRE_FALSE(c.done());
    w.refuse(2);
    w.answer(2, ":500\r\n");
    CHECK(c.error == errc::expired);
    CHECK(c.report.nodes[0].error ==
          "the key was gone before the client aligned the fencing counter");
    for (unsigned i = 0; i < 3; ++i) {
        CHECK(w.pending(i) == strings{"EVALSHA"});
        CHECK(w.peers[i]->asked[0][1] == resp::release_script.sha1);
    }
    w.answer_all();
    CHECK(w.is_idle());
}

TEST_CASE("a client treats an impossible counter value as an error of its node", "[core][fencing]")
{
    const auto [says, error] = GENERATE(table<std::string, std::string>(
        {{":0\r\n", "the fencing counter r:fencing is out of range"},
         {":-1\r\n", "the fencing counter r:fencing is out of range"},
         {":9007199254740990\r\n", "the fencing counter r:fencing is out of range"},
         {":9223372036854775807\r\n", "the fencing counter r:fencing is out of range"},
         {"-WRONGTYPE Operation against a key\r\n",
          "the fencing counter r:fencing: WRONGTYPE Operation against a key"},
         {"-ERR value is not an integer or out of range\r\n",
          "the fencing counter r:fencing: ERR value is not an integer or out of range"},
         {"-ERR The user executing the script can't run this command or subcommand script: aa, on "
          "@user_script:14.\r\n",
          "ERR The user executing the script can't run this command"}}));
    CAPTURE(says);
    counting_world w;
    w.with_report = true;
    call& c = w.acquire("r", once);
    const bool alone = GENERATE(true, false);
    for (unsigned i = 0; i < (alone ? 1 : 2); ++i) {
        w.answer(i, ok);
        w.answer(i, says);
        w.answer(i, ":-2\r\n");
    }
    CHECK(c.done() == !alone);
    if (alone) {
        w.grant(1, 5);
        w.answer(1, ":-2\r\n");
        w.grant(2, 5);
        CHECK(token_of(c) == static_cast<std::uint64_t>(w.base + 5));
        // The node's key is nevertheless ours.
        CHECK(c.held->granted == 0b111);
    } else {
        CHECK(c.error == errc::unavailable);
        CHECK(c.report.nodes[1].outcome == node_outcome::failed);
        CHECK(c.report.nodes[1].error == error);
        CHECK(w.pending(0) == strings{"EVALSHA"});
    }
    CHECK(c.report.nodes[0].outcome == node_outcome::failed);
    CHECK(c.report.nodes[0].error == error);
    CHECK(w.core->snapshot().disconnects == 0);
}

TEST_CASE("a client treats an impossible answer to an alignment as an error of its node",
          "[core][fencing]")
{
    const auto [says, error] = GENERATE(table<std::string, std::string>(
        {{":9007199254740990\r\n", "the fencing counter r:fencing is out of range"},
         {":-9007199254740990\r\n", "the fencing counter r:fencing is out of range"},
         {"-WRONGTYPE Operation against a key\r\n",
          "the fencing counter r:fencing: WRONGTYPE Operation against a key"},
         {"-OOM command not allowed\r\n", "OOM command not allowed"}}));
    CAPTURE(says);
    counting_world w;
    w.with_report = true;
    call& c = w.acquire("r", once);
    w.grant_apart();
    w.answer(0, says);
    w.answer(2, broken);
    CHECK(c.error == errc::unavailable);
    CHECK(c.report.nodes[0].error == error);
    CHECK(w.core->snapshot().disconnects == 0);
}

TEST_CASE("an answer of another type to a counter or an alignment ends the connection",
          "[core][fencing]")
{
    counting_world w;
    const bool to_the_raise = GENERATE(true, false);
    call& c = w.acquire("r", once);
    if (to_the_raise) {
        w.grant(0, 5);
        w.grant(1, 9);
    } else {
        w.answer(0, ok);
    }
    w.answer(0, "+OK\r\n");
    CHECK(w.core->snapshot().protocol_errors == 1);
    CHECK(w.peers[0]->closes == 1);
    CHECK_FALSE(c.done());
    w.grant(2, 9);
    if (!to_the_raise) {
        w.grant(1, 9);
    }
    CHECK(token_of(c) == static_cast<std::uint64_t>(w.base + 9));
}

TEST_CASE("a grant without a counter is no vote if its connection is lost", "[core][fencing]")
{
    counting_world w;
    call& c = w.acquire("r", once);
    w.answer(0, ok);
    w.close(0);
    w.grant(1, 5);
    SECTION("and the others are a majority without it")
    {
        w.grant(2, 5);
        CHECK(token_of(c) == static_cast<std::uint64_t>(w.base + 5));
        w.drop(*c.held);
    }
    SECTION("and the client releases the key when the node is back")
    {
        w.answer(2, ok);
        w.close(2);
        CHECK(c.error == errc::unavailable);
    }
    w.advance(5s);
    REQUIRE(w.pending(0) == strings{"EVALSHA"});
    CHECK(w.peers[0]->asked[0][1] == resp::release_script.sha1);
    w.answer_all();
    CHECK(w.is_idle());
}

TEST_CASE("an alignment continues if one of its connections is lost", "[core][fencing]")
{
    counting_world w;
    w.with_report = true;
    call& c = w.acquire("r", once);
    w.grant_apart();
    w.close(0, "cable cut");
    REQUIRE_FALSE(c.done());
    SECTION("and the earlier vote of that node still counts")
    {
        w.grant(2, 5);
        CHECK(token_of(c) == static_cast<std::uint64_t>(w.base + 5));
        CHECK(w.pending(2) == strings{"PTTL"});  // nothing is left to agree on
    }
    SECTION("and a late grant can replace the node")
    {
        w.grant(2, 7);
        w.answer(2, ":-2\r\n");
        CHECK(w.raised_to(2) == 9);
        w.counted(2, 9);
        CHECK(token_of(c) == static_cast<std::uint64_t>(w.base + 9));
    }
    SECTION("but fails if no node replaces it")
    {
        w.answer(2, broken);
        CHECK(c.error == errc::unavailable);
        CHECK(c.report.nodes[0].error == "cable cut");
    }
}

TEST_CASE("an alignment takes no longer than its attempt", "[core][fencing]")
{
    counting_world w;
    call& c = w.acquire("r", once);
    w.advance(20ms);
    w.grant(0, 5);
    w.grant(1, 9);
    w.advance(30ms - 1ns);
    REQUIRE_FALSE(c.done());
    w.advance(1ns);
    REQUIRE(c.done());
    CHECK(c.error == errc::unavailable);
    CHECK(w.pending(0) == strings{"EVALSHA", "EVALSHA"});
    CHECK(w.pending(1) == strings{"EVALSHA"});
    // It comes too late for every attempt.
    w.counted(0, 9);
    w.answer_all();
    CHECK(w.is_idle());
    CHECK(c.completions == 1);
}

TEST_CASE("p19: an acquire that is cancelled during its alignment releases",
          "[core][fencing][pitfall][p19]")
{
    counting_world w;
    call& c = w.acquire("r", fenced);
    w.grant(0, 5);
    w.grant(1, 9);
    w.cancel(c);
    REQUIRE(c.done());
    CHECK(c.error == boost::system::errc::operation_canceled);
    CHECK(w.pending(0) == strings{"EVALSHA", "EVALSHA"});
    CHECK(w.peers[0]->asked[1][1] == resp::release_script.sha1);
    CHECK(w.pending(1) == strings{"EVALSHA"});
    CHECK(w.pending(2) == strings{"SET", "EVALSHA", "EVALSHA"});
    w.counted(0, 9);
    w.grant(2, 9);
    w.answer_all();
    CHECK(w.is_idle());
    CHECK(c.completions == 1);
}

TEST_CASE("late answers to an alignment change nothing", "[core][fencing]")
{
    const std::string late = GENERATE(":1700001000000009\r\n", ":-1700001000000012\r\n", ":0\r\n",
                                      "-OOM late\r\n", "-NOSCRIPT late\r\n");
    counting_world w;
    call& c = w.acquire("r", fenced);
    w.grant(0, 5);
    w.grant(1, 9);
    w.grant(2, 9);
    const auto token = token_of(c);
    w.answer(0, late);
    // The text also loads the script for later commands.
    CHECK(w.pending(0) == (late.starts_with("-NOSCRIPT") ? strings{"EVAL"} : strings{}));
    CHECK(c.held->fencing_token == token);
    CHECK(c.held->granted == 0b111);
    CHECK(c.completions == 1);
    w.drop(*c.held);
    w.answer_all();
    CHECK(w.is_idle());
}

TEST_CASE("a node that gets its alignment too late to answer in time is not stalled",
          "[core][fencing][stall]")
{
    counting_world w;
    const call& c = w.acquire("r", once);
    w.advance(49ms);
    w.grant(0, 5);
    w.grant(1, 9);
    REQUIRE(w.raised_to(0) == 9);
    w.advance(1ms);
    CHECK(c.error == errc::unavailable);
    (void)w.acquire("q", {.timeout = 0ms});
    CHECK(w.count(0, "SET") == 2);
    CHECK(w.count(2, "SET") == 1);

    // A node that still does not answer later is stalled.
    w.advance(50ms);
    (void)w.acquire("s", {.timeout = 0ms});
    CHECK(w.count(0, "SET") == 2);
}

TEST_CASE("p06: an acquire checks its validity after it has the token",
          "[core][fencing][pitfall][p06]")
{
    counting_world w;
    const nanos late = GENERATE(-1ns, 0ns);
    call& c = w.acquire("r", {.ttl = 1s, .timeout = 0ms, .fencing = true});
    w.grant(0, 5);
    w.grant(1, 9);
    w.now += w.settings.validity(1s) + late;
    w.counted(0, 9);
    REQUIRE(c.done());
    if (late < 0ns) {
        CHECK(c.held != nullptr);
    } else {
        CHECK(c.error == errc::expired);
        CHECK(w.pending(1) == strings{"EVALSHA"});
    }
}
