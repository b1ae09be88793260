#include "fenced.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;

TEST_CASE("a majority that agrees gives a token in one round trip", "[core][fencing]")
{
    running_world w;
    const call& c = w.acquire("r", fenced);
    const auto first = token_of(c);
    CHECK(first == static_cast<std::uint64_t>(date_of(w.now)));
    for (const auto& p : w.peers) {
        REQUIRE(p->log.size() == 2);
        CHECK(p->log[0][0] == "SET");
        CHECK(p->log[1] == words{"EVALSHA", std::string(resp::count_script.sha1), "1", counter,
                                 std::to_string(date_of(w.now)), "1000000", "86400000"});
        CHECK(p->master.find(w.now, counter)->end == w.now + 24h);
    }
    w.drop(*c.held);
    CHECK(w.lock("r", fenced).fencing_token == first + 1);
    for (const auto& p : w.peers) {
        CHECK(p->log.back() == words{"INCR", counter});
    }
    CHECK(w.core->snapshot().counter_alignments == 0);
}

TEST_CASE("an acquire without fencing touches no counter", "[core][fencing]")
{
    running_world w;
    CHECK(w.lock("r", {.fencing = false}).fencing_token == 0);
    CHECK(w.lock("q").fencing_token == 0);
    for (const auto& p : w.peers) {
        CHECK(p->log.size() == 2);
        CHECK(p->master.keys(w.now) == 2);
    }
}

TEST_CASE("the counter's command follows its SET in the same batch", "[core][fencing]")
{
    counting_world w;
    w.with_report = true;
    call& c = w.acquire("r", once);
    for (unsigned i = 0; i < 3; ++i) {
        CHECK(w.pending(i) == strings{"SET", "EVALSHA", "PTTL"});
    }
    for (unsigned i = 0; i < 2; ++i) {
        w.refuse(i);
        w.answer(i, ":9999\r\n");
    }
    CHECK(c.error == errc::contended);
    for (unsigned i = 0; i < 2; ++i) {
        CHECK(c.report.nodes[i].outcome == node_outcome::refused);
        CHECK(c.report.nodes[i].holder_ttl == 9999ms);
    }
    // Although no node granted, the client now knows that the counters exist.
    (void)w.acquire("r", once);
    CHECK(w.pending(0) == strings{"EVALSHA", "SET", "INCR", "PTTL"});
}

namespace {

/// The last command that each node got after a SET.
strings last_counted_by(const bench_world& w)
{
    strings all;
    for (const auto& p : w.peers) {
        const auto set = std::find_if(p->log.rbegin(), p->log.rend(),
                                      [](const words& command) { return command[0] == "SET"; });
        all.push_back(std::prev(set)->at(0));
    }
    return all;
}

}  // namespace

TEST_CASE("each node gets the command that suits its counter", "[core][fencing]")
{
    running_world w;
    core::lease& l = w.lock("r", fenced);
    const auto first = l.fencing_token;
    w.drop(l);
    const bool has_lost_it = GENERATE(false, true);
    w.close(1);
    if (has_lost_it) {
        w.peers[1]->master.flush_keys();
    }
    w.advance(1s);
    core::lease& second = w.lock("r", fenced);
    CHECK(second.fencing_token == first + 1);
    CHECK(last_counted_by(w) == strings{"INCR", "EVALSHA", "INCR"});
    w.drop(second);
    (void)w.lock("r", fenced);
    CHECK(last_counted_by(w) == strings{"INCR", "INCR", "INCR"});
}

TEST_CASE("a client knows an aligned counter on the other nodes too", "[core][fencing]")
{
    running_world w;
    core::lease& first = w.lock("r", fenced);
    const auto token = first.fencing_token;
    w.drop(first);
    for (unsigned i = 0; i < 3; ++i) {
        w.peers[i]->master.put(counter, {.value = std::to_string(token + 10 * i),
                                         .end = w.now + w.settings.counter_ttl});
    }
    const auto raises = w.core->snapshot().counter_alignments;
    core::lease& second = w.lock("r", fenced);
    CHECK(second.fencing_token == token + 11);
    CHECK(w.core->snapshot().counter_alignments > raises);
    w.drop(second);
    (void)w.lock("r", fenced);
    CHECK(last_counted_by(w) == strings{"INCR", "INCR", "INCR"});
}

TEST_CASE("a client prolongs a counter that may expire soon", "[core][fencing]")
{
    running_world w{3, {.counter_ttl = 1min}};
    const auto taken = [&] {
        core::lease& l = w.lock("r", fenced);
        const auto token = l.fencing_token;
        w.drop(l);
        return token;
    };
    const auto first = taken();
    w.advance(44s);
    CHECK(taken() == first + 1);
    CHECK(w.count(0, "INCR") == 1);
    w.advance(2s);
    CHECK(taken() == first + 2);
    CHECK(w.count(0, "INCR") == 1);
    CHECK(w.peers[0]->master.find(w.now, counter)->end == w.now + 1min);
}

namespace {

/// The nodes lose counters that the client's connections know. Its INCRs create new ones, and the
/// answers are still under way.
void create_lost_counters(bench_world& w, const acquire_options& o)
{
    w.start();
    w.drop(w.lock("r", fenced));
    for (const auto& p : w.peers) {
        p->master.flush_keys();
        p->way_back = 5ms;
    }
    (void)w.acquire("r", o);
}

/// Gives the nodes of one client to another as the first one left them.
void take_over_nodes(bench_world& w, const bench_world& left)
{
    for (std::size_t i = 0; i < w.peers.size(); ++i) {
        w.peers[i]->master.flush_keys();
        for (const auto& [key, e] : left.peers[i]->master.all()) {
            w.peers[i]->master.put(key, e);
        }
    }
}

}  // namespace

TEST_CASE("the next client that wants the lock gives a ttl to a counter without one",
          "[core][fencing]")
{
    bench_world left;
    create_lost_counters(left, fenced);
    left.core.reset();  // the client dies
    bench_world w;
    const bool knows_it = GENERATE(false, true);
    CAPTURE(knows_it);
    w.start();
    if (knows_it) {
        w.drop(w.lock("r", fenced));
    }
    take_over_nodes(w, left);
    for (const auto& p : w.peers) {
        REQUIRE(p->master.value(w.now, counter) == "1");
        REQUIRE_FALSE(p->master.find(w.now, counter)->end);
    }

    // The dead client still holds the lock.
    CHECK(w.acquire("r", once).error == errc::contended);
    CHECK(w.count(0, "INCR") == (knows_it ? 1 : 0));
    for (const auto& p : w.peers) {
        CHECK(p->master.find(w.now, counter)->end == w.now + w.settings.counter_ttl);
    }
    w.advance(11s);
    CHECK(w.lock("r", fenced).fencing_token >= core::least_seeded_counter);
}

namespace {

/// The nodes have lost their counters. They execute INCRs whose answers get lost.
void lose_answers_amid_lost_counters(bench_world& w)
{
    create_lost_counters(w, once);
    for (unsigned i = 0; i < w.peers.size(); ++i) {
        REQUIRE_FALSE(w.peers[i]->master.find(w.now, counter)->end);
        w.close(i);
    }
}

/// How often the node got the script that gives a counter a ttl and seeds none.
std::ptrdiff_t mends(const bench_world& w, unsigned node)
{
    return std::ranges::count_if(w.peers[node]->log, [](const words& command) {
        return command[0] == "EVALSHA" && command[1] == resp::count_script.sha1 &&
               command[4] == "0";
    });
}

/// After this time no key can come to life any more.
constexpr auto until_all_is_paid = 1min;

/// Counters that would never expire.
std::size_t counters_without_ttl(const bench_world& w)
{
    std::size_t count = 0;
    for (const auto& p : w.peers) {
        for (const auto& [key, e] : p->master.all()) {
            count += e.end ? 0U : 1U;
        }
    }
    return count;
}

}  // namespace

TEST_CASE("a counter whose INCR got no answer gets a ttl on the next connection", "[core][fencing]")
{
    bench_world w;
    lose_answers_amid_lost_counters(w);
    w.advance(5s);
    CHECK(counters_without_ttl(w) == 0);
    w.advance(until_all_is_paid);
    CHECK(w.is_idle());
    CHECK(w.core->snapshot().pending_releases == 0);
    // Each node gets one repair.
    w.close(0);
    w.advance(5s);
    for (unsigned i = 0; i < w.peers.size(); ++i) {
        CHECK(w.peers[i]->master.find(w.now, counter)->end);
        CHECK(mends(w, i) == 1);
    }
}

TEST_CASE("expiry repairs count as pending releases and yield to them", "[core][fencing]")
{
    config c;
    c.max_pending_releases = GENERATE(std::size_t{0}, std::size_t{1}, std::size_t{2});
    CAPTURE(c.max_pending_releases);
    bench_world w{3, c};
    lose_answers_amid_lost_counters(w);
    // For each node: the release of the attempt and the expiry repair of the counter.
    CHECK(w.core->snapshot().pending_releases == 3 * c.max_pending_releases);
    w.advance(until_all_is_paid);
    CHECK(counters_without_ttl(w) == (c.max_pending_releases == 2 ? 0 : 3));
    CHECK(w.core->snapshot().pending_releases == 0);
    CHECK(w.is_idle());
}

namespace {

/// The first node has lost its counter, as its answer to the second lock shows. Its next command is
/// the expiry repair.
call& lose_a_counter(counting_world& w)
{
    const call& first = w.acquire("r", fenced);
    for (unsigned i = 0; i < 3; ++i) {
        w.grant(i, 5);
    }
    w.drop(*first.held);
    w.answer_all();
    call& second = w.acquire("r", fenced);
    w.grant(1, 6);
    w.grant(2, 6);
    REQUIRE(token_of(second) == static_cast<std::uint64_t>(w.base + 6));
    REQUIRE(w.pending(0) == strings{"SET", "INCR"});
    w.answer(0, ok);
    w.answer(0, number(1));
    return second;
}

}  // namespace

TEST_CASE("a client tries a failed expiry repair once a second", "[core][fencing]")
{
    counting_world w;
    const call& second = lose_a_counter(w);
    for (int tries = 0; tries < 3; ++tries) {
        REQUIRE(w.pending(0) == strings{"EVALSHA"});
        CHECK(w.peers[0]->asked[0] == words{"EVALSHA", std::string(resp::count_script.sha1), "1",
                                            counter, "0", "1000000", "86400000"});
        w.answer(0, broken);
        CHECK(w.core->snapshot().pending_releases == 1);
        w.advance(999ms);
        CHECK(w.pending(0).empty());
        w.advance(1ms);
    }
    w.answer(0, number(2));
    CHECK(w.core->snapshot().pending_releases == 0);
    w.advance(2s);
    CHECK(w.pending(0).empty());
    w.drop(*second.held);
    w.answer_all();
    CHECK(w.is_idle());
}

TEST_CASE("a client gives up an expiry repair that cannot succeed and says so once",
          "[core][fencing]")
{
    const std::string_view why = GENERATE(
        "WRONGTYPE Operation against a key holding the wrong kind of value",
        "NOPERM No permissions to access a key", "ERR value is not an integer or out of range",
        "ERR Error running script (call to f_1): @user_script:12: ERR value is not an integer or "
        "out of range",
        "ERR increment or decrement would overflow",
        "ERR The user executing the script can't run this command or subcommand script: aa, on "
        "@user_script:1.");
    CAPTURE(why);
    counting_world w;
    const call& second = lose_a_counter(w);
    REQUIRE(w.pending(0) == strings{"EVALSHA"});
    const std::size_t said = w.log_lines.size();
    w.answer(0, "-" + std::string(why) + "\r\n");
    CHECK(w.core->snapshot().pending_releases == 0);
    REQUIRE(w.log_lines.size() == said + 1);
    CHECK(w.log_lines.back().find("stays without a ttl") != std::string::npos);
    w.advance(2s);
    CHECK(w.pending(0).empty());
    w.drop(*second.held);
    w.answer_all();
    CHECK(w.core->snapshot().leases == 0);
    CHECK(w.is_idle());
}

TEST_CASE("p39: tokens grow although a minority loses its counters",
          "[core][fencing][pitfall][p39]")
{
    const bool at_once = GENERATE(true, false);
    running_world w;
    std::uint64_t last = 0;
    for (unsigned i = 0; i < 20; ++i) {
        call& c = w.acquire("r", fenced);
        w.advance(5ms);
        const auto token = token_of(c);
        CHECK(token > last);
        last = token;
        w.drop(*c.held);
        w.advance(at_once ? 0ms : 1s);
        w.peers[i % 3]->master.flush_keys();
    }
    // Each node causes one line on one connection.
    CHECK(w.lines_with("has lost a fencing counter") == 3);
}

TEST_CASE("p39: a lost counter does not follow a counter that lags",
          "[core][fencing][pitfall][p39]")
{
    running_world w;
    w.drop(w.lock("r", fenced));
    w.advance(10ms);
    // A quorum has counters that the third node does not know.
    for (const unsigned i : {0u, 1u}) {
        const std::int64_t ahead = counted(w, i) + 5;
        w.peers[i]->master.put(counter, {.value = std::to_string(ahead), .end = w.now + 24h});
    }
    core::lease& l = w.lock("r", fenced);
    const auto before = l.fencing_token;
    w.drop(l);
    w.advance(10ms);
    w.peers[0]->master.flush_keys();
    w.peers[1]->frozen = true;
    call& c = w.acquire("r", fenced);
    w.advance(10ms);
    CHECK(token_of(c) > before);
}

TEST_CASE("p39: counters that all nodes lost begin again above the old ones at the date",
          "[core][fencing][pitfall][p39]")
{
    running_world w;
    core::lease& l = w.lock("r", fenced);
    const auto before = l.fencing_token;
    w.drop(l);
    w.advance(10ms);
    w.flush_keys();
    // The connections still know the counters. Each INCR returns one, which is no vote, and an
    // alignment follows.
    CHECK(w.lock("r", fenced).fencing_token > before);
    CHECK(w.core->snapshot().counter_alignments == 1);
    CHECK(counted(w, 0) >= core::least_seeded_counter);
}

TEST_CASE("a new counter gets the client's date within the limit of its node", "[core][fencing]")
{
    bench_world w{1};
    w.date.offset = GENERATE(-1h, 1h);
    w.start();
    const auto off = static_cast<std::int64_t>(w.lock("r", fenced).fencing_token) - date_of(w.now);
    CHECK(off == (w.date.offset > 0ns ? 500'000 : -500'000));
}

TEST_CASE("the largest value that a script can count to is a vote", "[core][fencing]")
{
    counting_world w{1};
    const call& c = w.acquire("r", once);
    w.answer(0, ok);
    w.answer(0, ":9007199254740989\r\n");
    CHECK(token_of(c) == 9'007'199'254'740'989U);
}

TEST_CASE("a client sends scripts that the nodes have forgotten as their text", "[core][fencing]")
{
    SECTION("for a count")
    {
        running_world w;
        w.flush_scripts();
        CHECK(w.lock("r", fenced).fencing_token == static_cast<std::uint64_t>(date_of(w.now)));
        CHECK(w.count(0, "EVAL") == 1);
        CHECK(w.core->snapshot().script_reloads == 3);
    }
    SECTION("for an alignment")
    {
        counting_world w;
        call& c = w.acquire("r", fenced);
        w.grant(0, 5);
        w.grant(1, 9);
        w.answer(0, "-NOSCRIPT No matching script.\r\n");
        REQUIRE(w.pending(0) == strings{"EVAL"});
        CHECK(w.peers[0]->asked[0][1] == resp::align_script.text);
        CHECK(w.peers[0]->asked[0][6] == std::to_string(w.base + 9));
        w.counted(0, 9);
        CHECK(token_of(c) == static_cast<std::uint64_t>(w.base + 9));
    }
}

TEST_CASE("a script counts on nodes that refuse INCR outside of scripts", "[core][fencing]")
{
    running_world w;
    w.lock("r", fenced);
    w.drop(*w.calls.back().held);
    w.advance(5ms);
    w.refuse("INCR", "ERR unsupported command 'INCR'");
    std::uint64_t last = 0;
    for (unsigned i = 0; i < 3; ++i) {
        call& c = w.acquire("r", once);
        w.advance(5ms);
        const auto token = token_of(c);
        CHECK(token > last);
        last = token;
        w.drop(*c.held);
        w.advance(5ms);
    }
    CHECK(w.count(0, "INCR") == 1);
    CHECK(w.ready() == 3);
}

TEST_CASE("each attempt has its own fencing token", "[core][fencing]")
{
    running_world w;
    for (const unsigned i : {0u, 1u}) {
        w.peers[i]->master.put("r", {.value = "somebody else's", .end = w.now + 300ms});
    }
    call& c = w.acquire("r", fenced);
    w.advance(2s);
    REQUIRE(w.core->snapshot().attempts > 1);
    CHECK(token_of(c) >= static_cast<std::uint64_t>(counted(w, 0)));
    for (unsigned i = 0; i < 3; ++i) {
        CHECK(w.count(i, "SET") == w.core->snapshot().attempts);
        CHECK(w.peers[i]->master.value(w.now, "r") == c.held->token.view());
    }
}

TEST_CASE("waiters that get a lock in turn get growing tokens", "[core][fencing]")
{
    running_world w{5};
    for (unsigned i = 0; i < 5; ++i) {
        w.peers[i]->way_there = 100us * i;
        w.peers[i]->way_back = 100us * (5 - i);
        w.peers[i]->master.date_offset = 7ms * i;
    }
    std::uint64_t last = 0;
    for (unsigned i = 0; i < 100; ++i) {
        call& one = w.acquire("r", fenced);
        call& other = w.acquire("r", fenced);
        for (int tries = 0; one.held == nullptr && other.held == nullptr && tries < 100; ++tries) {
            w.advance(5ms);  // longer if the client yields to others
        }
        call& first = one.held != nullptr ? one : other;
        call& second = one.held != nullptr ? other : one;
        const auto token = token_of(first);
        CHECK(token > last);
        CHECK_FALSE(second.done());
        w.drop(*first.held);
        w.advance(2s);
        last = token_of(second);
        CHECK(last > token);
        w.drop(*second.held);
        w.advance(5ms);
    }
    CHECK(w.is_idle());
}

namespace {

/// From now on the other nodes answer and this one does not.
void be_without(bench_world& w, unsigned away)
{
    for (unsigned i = 0; i < w.peers.size(); ++i) {
        w.peers[i]->dial = i == away ? peer::dialling::refused : peer::dialling::at_once;
    }
    w.close(away);
    w.advance(20ms);
    REQUIRE(w.ready() == 2);
}

}  // namespace

TEST_CASE("the node that two majorities share keeps their tokens in order", "[core][fencing]")
{
    running_world w{3, {.reconnect_backoff_min = 1ms, .reconnect_backoff_max = 10ms}};
    // The first two nodes agreed on a value ahead of the date, which the third hardly knows.
    const std::int64_t ahead = date_of(w.now) + 900'000;
    const bool is_absent = GENERATE(true, false);
    CAPTURE(is_absent);
    for (const unsigned i : {0u, 1u, 2u}) {
        const std::int64_t value = i < 2 ? ahead : ahead - 3'600'000'000;
        if (i < 2 || !is_absent) {
            w.peers[i]->master.put(counter, {.value = std::to_string(value), .end = w.now + 1h});
        }
    }
    std::uint64_t last = 0;
    for (const unsigned away : {2u, 0u, 1u, 2u, 1u, 0u, 2u}) {
        be_without(w, away);
        core::lease& l = w.lock("r", once);
        CAPTURE(away);
        CHECK(l.fencing_token > last);
        CHECK(l.fencing_token > static_cast<std::uint64_t>(ahead));
        last = l.fencing_token;
        w.drop(l);
        w.settle();
    }
    CHECK(w.core->snapshot().counter_alignments == 6);
}
