#include "harness.hpp"

#include <catch2/catch_test_macros.hpp>

#include <set>

#include <boost/system/system_error.hpp>

#include <algorithm>
#include <cerrno>

using namespace redlock;
using namespace redlock::test;

TEST_CASE("an acquire takes three nodes and a release frees them", "[core]")
{
    running_world w;
    CHECK(w.ready() == 3);
    const std::uint64_t greetings = w.core->snapshot().commands;
    core::lease& l = w.lock("orders/42");
    CHECK(w.keys() == 3);
    CHECK(l.valid_until() == w.settings.validity_end(w.now, 10s));
    call& r = w.release(l);
    REQUIRE(r.done());
    CHECK_FALSE(r.error);
    CHECK(r.released == release_result::released);
    CHECK(w.keys() == 0);
    CHECK(w.is_idle());
    const stats s = w.core->snapshot();
    CHECK(s.acquired == 1);
    CHECK(s.released == 1);
    CHECK(s.attempts == 1);
    CHECK(s.commands == greetings + 6);
}

TEST_CASE("a client queues all commands of an operation in one turn", "[core]")
{
    manual_world w{5};
    (void)w.acquire("r", {.ttl = 3s});
    for (unsigned i = 0; i < 5; ++i) {
        REQUIRE(w.peers[i]->asked.size() == 1);
        const words& set = w.peers[i]->asked[0];
        CHECK(set.size() == 6);
        CHECK(set[1] == "r");
        CHECK(set[2].size() == 40);
        CHECK(set[2] == w.peers[0]->asked[0][2]);
        CHECK(set[3] == "NX");
        CHECK(set[5] == "3000");
    }
}

TEST_CASE("late votes count for the lease and for nothing else", "[core]")
{
    manual_world w{3};
    call& c = w.acquire("r");
    w.answer(0, ok);
    w.answer(1, ok);
    REQUIRE(c.held != nullptr);
    CHECK(c.held->granted == 0b011);
    w.answer(2, ok);
    CHECK(c.held->granted == 0b111);
    CHECK(c.completions == 1);
}

TEST_CASE("p03: a node that never answered still counts for the quorum", "[core][pitfall][p03]")
{
    bench_world w{5};
    for (const unsigned dead : {0u, 3u, 4u}) {
        w.peers[dead]->dial = peer::dialling::refused;
    }
    w.start();
    call& c = w.acquire("r", {.timeout = 0ms});
    REQUIRE(c.done());
    CHECK(c.error == errc::unavailable);
    CHECK(w.keys() == 0);

    w.peers[3]->dial = peer::dialling::at_once;
    w.advance(2s);
    CHECK(w.lock("r").granted == 0b01110);
}

TEST_CASE("p05: a client refuses a configuration without nodes or with one node twice",
          "[core][pitfall][p05]")
{
    CHECK_THROWS_AS(base::make_settings({}), boost::system::system_error);
    config twice;
    twice.nodes = {"redis://a", "redis://a:6379"};
    CHECK_THROWS_AS(base::make_settings(twice), boost::system::system_error);
}

TEST_CASE("p06: an acquire whose quorum comes too late fails and releases", "[core][pitfall][p06]")
{
    manual_world w;
    call& c = w.acquire("r", {.ttl = 1s, .timeout = 0ms});
    w.now += w.settings.validity(1s) + 1ms;
    w.answer(0, ok);
    w.answer(1, ok);
    REQUIRE(c.done());
    CHECK(c.error == errc::expired);
    for (unsigned i = 0; i < 2; ++i) {
        CHECK(w.pending(i) == std::vector<std::string>{"EVALSHA"});
    }
    CHECK(w.pending(2) == std::vector<std::string>{"SET", "EVALSHA"});
    CHECK(w.core->snapshot().expired == 1);
}

TEST_CASE("an acquire that is cancelled after a late majority reports nothing", "[core]")
{
    manual_world w;
    w.with_report = true;
    call& c = w.acquire("r", {.ttl = 1s, .timeout = 10s});
    w.now += w.settings.validity(1s) + 1ms;
    for (unsigned i = 0; i < 3; ++i) {
        w.answer(i, ok);
    }
    REQUIRE_FALSE(c.done());
    w.cancel(c);
    REQUIRE(c.done());
    CHECK(c.report.nodes.empty());
    CHECK(c.report.attempts == 0);
}

TEST_CASE("p07: a lock won by a retry is valid as long as one won at once", "[core][pitfall][p07]")
{
    running_world w;
    w.occupy("r", 600ms);
    call& c = w.acquire("r", {.ttl = 1s});
    w.advance(2s);
    REQUIRE(c.held != nullptr);
    CHECK(c.ended - c.begun >= 600ms);
    CHECK(c.held->valid_until() == w.settings.validity_end(c.ended, 1s));
    CHECK(w.core->snapshot().attempts > 1);
}

TEST_CASE("p08: a lock is valid up to its last nanosecond", "[core][pitfall][p08]")
{
    const auto taken_after = [](nanos age, std::chrono::milliseconds least) {
        manual_world w;
        call& c = w.acquire("r", {.ttl = 1s, .timeout = 0ms, .min_validity = least});
        w.now += age;
        w.answer(0, ok);
        w.answer(1, ok);
        REQUIRE(c.done());
        return c.error;
    };
    // 1000 ms less 1 % less 2 ms.
    CHECK_FALSE(taken_after(988ms - 1ns, 0ms));
    CHECK(taken_after(988ms, 0ms) == errc::expired);
    CHECK(taken_after(988ms + 1ns, 0ms) == errc::expired);
    CHECK_FALSE(taken_after(488ms - 1ns, 500ms));
    CHECK_FALSE(taken_after(488ms, 500ms));
    CHECK(taken_after(488ms + 1ns, 500ms) == errc::expired);
}

TEST_CASE("p13: every round sends the ttl that the caller asked for", "[core][pitfall][p13]")
{
    for (const unsigned rounds : {0u, 1u, 5u}) {
        running_world w{3, {.backoff_min = 100ms, .backoff_max = 100ms}};
        w.occupy("r", 1h);
        call& taken = w.acquire("r", {.ttl = 7s, .timeout = 1min});
        while (w.core->snapshot().attempts < rounds + 1) {
            w.advance(1ms);
        }
        w.flush_keys();
        w.advance(1s);
        REQUIRE(taken.held != nullptr);
        for (auto& p : w.peers) {
            CHECK(p->master.find(w.now, "r")->end == taken.ended + 7s);
        }
        call& extended = w.extend(*taken.held, 9s);
        REQUIRE_FALSE(extended.error);
        for (auto& p : w.peers) {
            CHECK(p->master.find(w.now, "r")->end == extended.ended + 9s);
        }
    }
}

TEST_CASE("p14: a minority of one attempt does not block the next", "[core][pitfall][p14]")
{
    running_world w;
    w.occupy("r", {1, 2}, 100ms);
    call& c = w.acquire("r");
    CHECK(w.peers[0]->master.keys(w.now) == 0);
    w.advance(1s);
    REQUIRE(c.held != nullptr);
    CHECK(c.held->granted == 0b111);
    for (auto& p : w.peers) {
        CHECK(p->master.value(w.now, "r") == c.held->token.view());
    }
}

TEST_CASE("p14: each attempt has its own token", "[core][pitfall][p14]")
{
    running_world w{1, {.release_notifications = false}};
    w.occupy("r", {0}, 1h);
    (void)w.acquire("r", {.timeout = 1s});
    w.advance(2s);
    std::vector<std::string> tokens;
    for (const words& said : w.peers[0]->log) {
        if (said[0] == "SET") {
            tokens.push_back(said[2]);
        }
    }
    REQUIRE(tokens.size() > 3);
    std::sort(tokens.begin(), tokens.end());
    CHECK(std::adjacent_find(tokens.begin(), tokens.end()) == tokens.end());
}

TEST_CASE("p15: an acquire with errors on a minority succeeds and reports them",
          "[core][pitfall][p15]")
{
    for (unsigned bad = 0; bad < 3; ++bad) {
        running_world w;
        w.peers[bad]->master.refusals["SET"] = "READONLY You can't write against a replica.";
        w.with_report = true;
        call& c = w.acquire("r", {.timeout = 0ms});
        REQUIRE(c.held != nullptr);
        REQUIRE(c.report.nodes.size() == 3);
        CHECK(c.report.attempts == 1);
        if (bad < 2) {
            CHECK(c.report.nodes[bad].outcome == node_outcome::failed);
            CHECK(c.report.nodes[bad].error == "READONLY You can't write against a replica.");
        }
        (void)w.release(*c.held);
        CHECK(w.keys() == 0);
    }
}

TEST_CASE("p16: one dead node delays no acquire", "[core][pitfall][p16]")
{
    for (unsigned dead = 0; dead < 3; ++dead) {
        running_world w;
        w.lose(dead);
        core::lease& l = w.lock("r");
        CHECK(w.keys() == 2);
        call& r = w.release(l);
        REQUIRE(r.done());
        CHECK(r.released == release_result::released);
        CHECK(w.keys() == 0);
    }
}

TEST_CASE("p17: a failed acquire leaves no key on any node", "[core][pitfall][p17]")
{
    for (unsigned held = 1; held < 8; ++held) {
        running_world w;
        for (unsigned i = 0; i < 3; ++i) {
            if ((held >> i & 1U) != 0) {
                w.occupy("r", {i}, 1h);
            }
        }
        call& c = w.acquire("r", {.timeout = 0ms});
        REQUIRE(c.done());
        const bool won = held == 1 || held == 2 || held == 4;
        CHECK(c.error == (won ? error_code{} : errc::contended));
        if (won) {
            (void)w.release(*c.held);
        }
        for (unsigned i = 0; i < 3; ++i) {
            const bool others = (held >> i & 1U) != 0;
            CHECK(w.peers[i]->master.value(w.now, "r") == (others ? "somebody else's" : ""));
        }
        CHECK(w.is_idle());
    }
}

TEST_CASE("a key of another type counts as contention", "[core]")
{
    running_world w{1};
    w.peers[0]->master.put("r", {.value = {}, .end = {}, .foreign_kind = true});
    CHECK(w.acquire("r", {.timeout = 0ms}).error == errc::contended);
    CHECK(w.is_idle());
}

TEST_CASE("p43: a waiter sends a bounded number of commands", "[core][pitfall][p43]")
{
    running_world w{3, {.backoff_min = 20ms, .backoff_max = 200ms, .release_notifications = false}};
    w.occupy("r", 1h);
    call& taken = w.acquire("r", {.timeout = 20s});
    w.advance(21s);
    CHECK(taken.error == errc::timed_out);
    // After the back-off has grown, waits are 100 ms on average. The last ones halve the remaining
    // time.
    CHECK(w.count(0, "SET") < 20 * 10 * 2);
    CHECK(w.count(0, "SET") > 20 * 10 / 2);
    CHECK(w.count(0, "EVALSHA") == w.count(0, "SET"));
}

TEST_CASE("p43: a back-off that begins at zero grows nevertheless", "[core][pitfall][p43]")
{
    running_world w{3,
                    {.backoff_min = 0ms,
                     .backoff_max = 200ms,
                     .release_notifications = false,
                     .fair_queue = false}};
    w.set_ways(1ms, 0ms);
    w.occupy("r", 1h);
    call& taken = w.acquire("r", {.timeout = 20s});
    w.advance(1ms);
    CHECK(w.count(0, "SET") == 2);  // the first wait is zero
    w.advance(21s);
    CHECK(taken.error == errc::timed_out);
    CHECK(w.count(0, "SET") < 20 * 10 * 2);
    CHECK(w.count(0, "SET") > 20 * 10 / 2);
}

TEST_CASE("p37: clients that were refused together try again at different times",
          "[core][pitfall][p37]")
{
    config c;
    c.release_notifications = false;
    c.backoff_min = c.backoff_max = 100ms;
    std::set<nanos> waits;
    for (std::uint32_t seed = 0; seed < 100; ++seed) {
        running_world w{1, c, seed};
        w.occupy("r", {0u}, 1h);
        call& refused = w.acquire("r");
        REQUIRE_FALSE(refused.done());
        waits.insert(w.core->next_deadline() - w.now);
    }
    CHECK(waits.size() == 100);
    CHECK(*waits.begin() < 10ms);
    CHECK(*waits.rbegin() > 90ms);
    CHECK(*waits.rbegin() <= 100ms);
}

TEST_CASE("a client with a custom back-off asks it for each wait", "[core]")
{
    std::vector<std::uint32_t> attempts;
    std::vector<nanos> suggested;
    config c;
    c.release_notifications = false;
    c.backoff_min = c.backoff_max = 100ms;
    SECTION("and waits that long")
    {
        c.backoff = [&](std::uint32_t n, nanos wait) {
            attempts.push_back(n);
            suggested.push_back(wait);
            return n * 10ms;
        };
        running_world w{3, c};
        w.occupy("r", 1h);
        (void)w.acquire("r", {.timeout = 1h});
        for (const nanos span : {10ms, 20ms, 30ms}) {
            const std::size_t sets = w.count(0, "SET");
            w.advance(span - 1ns);
            CHECK(w.count(0, "SET") == sets);
            w.advance(1ns);
            CHECK(w.count(0, "SET") == sets + 1);
        }
        CHECK(attempts == std::vector<std::uint32_t>{1, 2, 3, 4});
        CHECK(*std::max_element(suggested.begin(), suggested.end()) <= 100ms);
        CHECK(*std::min_element(suggested.begin(), suggested.end()) > 0ms);
    }
    SECTION("but not longer than the deadline")
    {
        c.backoff = [&](std::uint32_t, nanos) { return nanos::max(); };
        running_world w{3, c};
        w.occupy("r", 1h);
        call& taken = w.acquire("r", {.timeout = 1s});
        w.advance(1s);
        CHECK(taken.error == errc::timed_out);
    }
    SECTION("and never less than zero")
    {
        c.backoff = [&](std::uint32_t, nanos) { return nanos::min(); };
        c.fair_queue = false;
        bench_world w{3, c};
        w.set_ways(1ms, 1ms);
        w.start();
        w.advance(100ms);
        w.occupy("r", 1h);
        (void)w.acquire("r", {.timeout = 1s});
        w.advance(20ms);
        CHECK(w.count(0, "SET") == 11);
    }
    SECTION("and logs its exception as one line")
    {
        c.backoff = [](std::uint32_t, nanos) -> nanos {
            throw std::runtime_error("no\nidea\x1b[2J");
        };
        running_world w{3, c};
        w.occupy("r", 1h);
        (void)w.acquire("r", {.timeout = 1h, .max_attempts = 2});
        w.advance(1s);
        REQUIRE(w.log_lines.size() == 1);
        CHECK(w.log_lines.front() == "config::backoff threw an exception: no\\nidea\\x1b[2J");
    }
    SECTION("and uses the default if it throws")
    {
        c.backoff = [&](std::uint32_t, nanos) -> nanos { throw std::runtime_error("no idea"); };
        running_world w{3, c};
        w.occupy("r", 1h);
        call& taken = w.acquire("r", {.timeout = 1h, .max_attempts = 3});
        w.advance(1s);
        CHECK(taken.error == errc::contended);
        CHECK(w.log_lines.size() >= 2);
        CHECK(w.log_lines.front() == "config::backoff threw an exception: no idea");
    }
}

TEST_CASE("p43: a short remaining ttl of the holder brings the next attempt forward",
          "[core][pitfall][p43]")
{
    running_world w{3, {.backoff_min = 10s, .backoff_max = 10s}, 7};
    w.occupy("r", 5ms);
    w.with_report = true;
    call& taken = w.acquire("r", {.timeout = 1min});
    w.advance(1min);
    REQUIRE(taken.held != nullptr);
    CHECK(taken.ended - taken.begun >= 5ms);
    CHECK(taken.ended - taken.begun <= 7ms);
}

TEST_CASE("p43: an extreme ttl of the holder lengthens no wait", "[core][pitfall][p43]")
{
    running_world w{
        3, {.backoff_min = 10ms, .backoff_max = 10ms, .release_notifications = false}, 7};
    for (auto& p : w.peers) {
        p->master.put("r", {.value = "somebody else's", .end = base::instant::max()});
    }
    w.with_report = true;
    call& taken = w.acquire("r", {.timeout = 1min});
    w.advance(1s);
    CHECK(w.core->snapshot().attempts > 50);
    w.flush_keys();
    w.advance(20ms);
    CHECK(taken.held != nullptr);
}

TEST_CASE("a report says how long the holder's key lives", "[core]")
{
    running_world w;
    w.occupy("r", {0, 1}, 1234ms);
    w.with_report = true;
    call& c = w.acquire("r", {.timeout = 0ms});
    REQUIRE(c.error == errc::contended);
    CHECK(c.report.nodes[0].outcome == node_outcome::refused);
    CHECK(c.report.nodes[0].holder_ttl == 1234ms);
    CHECK(c.report.nodes[1].holder_ttl == 1234ms);
    CHECK(c.report.nodes[0].node == w.settings.nodes[0].display);
}

TEST_CASE("a report says that the holder's key has no ttl", "[core]")
{
    running_world w;
    w.occupy("r", {0}, 1234ms);
    w.peers[1]->master.write("r", {.value = "another", .end = {}});
    w.with_report = true;
    call& c = w.acquire("r", {.timeout = 0ms});
    REQUIRE(c.error == errc::contended);
    CHECK(c.report.holder_ttl == 1234ms);
    CHECK_FALSE(c.report.nodes[0].never_ends);
    CHECK(c.report.nodes[1].never_ends);
    CHECK_FALSE(c.report.nodes[1].holder_ttl);
    call& found = w.inspect("r", true);
    REQUIRE(found.done());
    CHECK_FALSE(found.report.nodes[0].never_ends);
    CHECK(found.report.nodes[1].never_ends);
    CHECK_FALSE(found.report.nodes[2].never_ends);
}

TEST_CASE("a report says how long each node took", "[core]")
{
    running_world w{5};
    w.with_report = true;
    w.peers[0]->way_there = 1ms;
    w.peers[1]->way_back = 5ms;
    w.occupy("r", {2}, 1h);
    w.peers[2]->way_back = 7ms;
    w.peers[3]->frozen = true;
    w.peers[4]->way_back = 1s;
    call& c = w.acquire("r", {.timeout = 0ms});
    w.advance(9ms);
    w.close(4);
    w.advance(w.settings.node_timeout);
    REQUIRE(c.error == errc::contended);
    const auto& nodes = c.report.nodes;
    REQUIRE(nodes.size() == 5);
    CHECK(nodes[0].elapsed == 1ms);
    CHECK(nodes[0].outcome == node_outcome::granted);
    CHECK(nodes[1].elapsed == 5ms);
    CHECK(nodes[1].outcome == node_outcome::granted);
    CHECK(nodes[2].elapsed == 7ms);
    CHECK(nodes[2].outcome == node_outcome::refused);
    CHECK(nodes[3].elapsed == w.settings.node_timeout);
    CHECK(nodes[3].outcome == node_outcome::timed_out);
    CHECK(nodes[4].elapsed == 9ms);
    CHECK(nodes[4].outcome == node_outcome::disconnected);
}

TEST_CASE("p44: an acquire with a zero timeout makes one attempt", "[core][pitfall][p44]")
{
    config told_nothing;
    told_nothing.release_notifications = false;
    running_world w{3, told_nothing};
    w.occupy("r", 1h);
    SECTION("with a zero timeout")
    {
        call& c = w.acquire("r", {.timeout = 0ms});
        CHECK(c.error == errc::contended);
        CHECK(w.core->snapshot().attempts == 1);
    }
    SECTION("with one attempt and no sleep after it")
    {
        call& c = w.acquire("r", {.timeout = 1h, .max_attempts = 1});
        CHECK(c.error == errc::contended);
        CHECK(c.ended == c.begun);
    }
    SECTION("with three attempts and two sleeps")
    {
        call& c = w.acquire("r", {.timeout = 1h, .max_attempts = 3});
        w.advance(1s);
        CHECK(c.error == errc::contended);
        CHECK(w.core->snapshot().attempts == 3);
        CHECK(c.ended - c.begun < 10ms + 5ms);
    }
}

TEST_CASE("p44: a zero back-off leaves no wait between attempts", "[core][pitfall][p44]")
{
    running_world w{3,
                    {.backoff_min = 0ms,
                     .backoff_max = 0ms,
                     .release_notifications = false,
                     .fair_queue = false}};
    w.set_ways(1ms, 0ms);
    w.occupy("r", 1h);
    call& taken = w.acquire("r", {.timeout = 1h, .max_attempts = 10});
    w.advance(1s);
    CHECK(taken.error == errc::contended);
    CHECK(taken.ended - taken.begun == 10ms);
}

TEST_CASE("an acquire that wakes up after its deadline asks no node", "[core]")
{
    bench_world w;
    call* c = nullptr;
    SECTION("from the wait between two attempts")
    {
        w.start();
        w.occupy("r", 1h);
        c = &w.acquire("r", {.timeout = 200ms});
    }
    SECTION("from the wait for the first connections")
    {
        w.set_dialling(peer::dialling::silent);
        w.start();
        c = &w.acquire("r", {.timeout = 200ms});
    }
    REQUIRE_FALSE(c->done());
    const auto asked = w.count(0, "SET");
    // The process was suspended.
    w.now += 1s;
    w.core->on_time(w.now);
    w.settle();
    REQUIRE(c->done());
    CHECK(c->error == errc::timed_out);
    CHECK(w.count(0, "SET") == asked);
}

TEST_CASE("p44: an acquire waits at most its timeout and one node timeout", "[core][pitfall][p44]")
{
    enum class trouble { held, dead, silent, frozen, never_started };
    for (const auto t :
         {trouble::held, trouble::dead, trouble::silent, trouble::frozen, trouble::never_started}) {
        for (const auto deadline : {0ms, 1ms, 10ms, 50ms, 75ms, 300ms}) {
            CAPTURE(static_cast<int>(t), deadline.count());
            bench_world w;
            for (auto& p : w.peers) {
                p->dial = t == trouble::dead     ? peer::dialling::refused
                          : t == trouble::silent ? peer::dialling::silent
                                                 : peer::dialling::at_once;
            }
            if (t != trouble::never_started) {
                w.start();
            }
            if (t == trouble::held) {
                w.occupy("r", 1h);
            }
            for (auto& p : w.peers) {
                p->frozen = t == trouble::frozen;
            }
            call& c = w.acquire("r", {.timeout = deadline});
            w.advance(2s);
            REQUIRE(c.done());
            CHECK(c.ended - c.begun <= deadline + w.settings.node_timeout);
            CHECK((c.error == errc::timed_out || c.error == errc::unavailable ||
                   c.error == errc::contended));
        }
    }
}

TEST_CASE("an acquire whose next wait would pass the deadline asks once more before it", "[core]")
{
    config c;
    c.release_notifications = false;
    c.backoff_min = c.backoff_max = 1h;
    for (std::uint32_t seed = 0; seed < 20; ++seed) {
        CAPTURE(seed);
        running_world w{3, c, seed};
        w.occupy("r", 2h);
        const call& taken = w.acquire("r", {.timeout = 1s});
        w.advance(1s + w.settings.node_timeout);
        CHECK(taken.error == errc::timed_out);
        CHECK(w.count(0, "SET") >= 2);
    }
}

TEST_CASE("p44: an acquire that wakes up long after its deadline makes no attempt",
          "[core][pitfall][p44]")
{
    running_world w;
    w.occupy("r", 1min);
    w.with_report = true;
    call& c = w.acquire("r", {.timeout = 300ms});
    w.advance(100ms);
    const auto attempts = w.core->snapshot().attempts;
    // A suspended machine: the lock would be free by now.
    w.now += 1h;
    w.core->on_time(w.now);
    w.settle();
    REQUIRE(c.done());
    CHECK(c.error == errc::timed_out);
    CHECK(w.core->snapshot().attempts == attempts);
    CHECK(c.report.attempts == attempts);
    REQUIRE(c.report.nodes.size() == 3);
    CHECK(c.report.nodes[0].outcome == node_outcome::refused);
}

TEST_CASE("a report of an acquire that waits shows the last attempt", "[core]")
{
    running_world w;
    w.occupy("r", 1min);
    w.with_report = true;
    call& c = w.acquire("r", {.timeout = 10s});
    w.advance(1s);
    const auto attempts = w.core->snapshot().attempts;
    REQUIRE(attempts > 1);
    REQUIRE_FALSE(c.done());
    CHECK(c.report.attempts == attempts);
    REQUIRE(c.report.nodes.size() == 3);
    CHECK(c.report.nodes[0].outcome == node_outcome::refused);
    REQUIRE(c.report.holder_ttl);
    CHECK(*c.report.holder_ttl > 58s);
}

TEST_CASE("an acquire that is cancelled between two attempts has an empty report", "[core]")
{
    running_world w;
    w.occupy("r", 1min);
    w.with_report = true;
    call& c = w.acquire("r", {.timeout = 10s});
    w.advance(1s);
    CHECK(w.core->snapshot().attempts > 1);
    w.cancel(c);
    REQUIRE(c.done());
    CHECK(c.report.nodes.empty());
}

TEST_CASE("p45: a client accepts the least and the largest value of every option",
          "[core][pitfall][p45]")
{
    for (const auto wait : {0ms, 1ms, std::chrono::milliseconds{base::max_timeout}}) {
        for (const auto deadline : {0ms, 1ms, std::chrono::milliseconds::max()}) {
            for (const std::uint32_t attempts : {1u, 2u, unlimited}) {
                config c;
                c.backoff_min = c.backoff_max = wait;
                // Each ping in the years of these timeouts would take time and prove nothing here.
                c.ping_interval = base::max_timeout;
                running_world w{3, c};
                w.set_ways(1ms, 0ms);
                w.occupy("r", 30ms);
                const acquire_options o{
                    .ttl = base::max_ttl, .timeout = deadline, .max_attempts = attempts};
                REQUIRE_FALSE(base::validate_options(w.settings, o));
                call& taken = w.acquire("r", o);
                w.advance(base::max_timeout + 1h);
                CHECK(taken.completions == 1);
            }
        }
    }
}

TEST_CASE("p45: a client accepts the least and the largest value of every timeout",
          "[core][pitfall][p45]")
{
    for (const auto span : {1ms, std::chrono::milliseconds{base::max_timeout}}) {
        config c;
        c.node_timeout = c.stall_timeout = c.connect_timeout = span;
        c.reconnect_backoff_min = c.reconnect_backoff_max = c.ping_interval = c.close_timeout =
            span;
        running_world w{3, c};
        const acquire_options least{.ttl = 4 * span, .timeout = 0ms};
        REQUIRE_FALSE(base::validate_options(w.settings, least));
        call& taken = w.acquire("r", least);
        REQUIRE(taken.held != nullptr);
        CHECK_FALSE(w.extend(*taken.held, 4 * span).error);
        CHECK_FALSE(w.release(*taken.held).error);
        w.peers[0]->frozen = w.peers[1]->frozen = true;
        call& unanswered = w.acquire("r", least);
        w.advance(span);
        CHECK(unanswered.error == errc::unavailable);
        w.thaw(0);
        w.thaw(1);
        w.advance(8 * span + 10s);
        CHECK(w.ready() == 3);
        CHECK(w.keys() == 0);
        CHECK(w.is_idle());
    }
}

TEST_CASE("p45: an acquire may ask for all the validity that its ttl can give",
          "[core][pitfall][p45]")
{
    running_world w;
    const auto all = std::chrono::floor<std::chrono::milliseconds>(
        w.settings.validity_end(w.now, base::max_ttl) - w.now);
    const acquire_options most{.ttl = base::max_ttl, .timeout = 0ms, .min_validity = all - 1ms};
    REQUIRE_FALSE(base::validate_options(w.settings, most));
    CHECK_FALSE(w.acquire("a", most).error);
    for (auto& p : w.peers) {
        p->way_back = 2ms;
    }
    call& late = w.acquire("b", most);
    w.advance(2ms);
    CHECK(late.error == errc::expired);
}

TEST_CASE("p46: cancelled and timed out and contended and unavailable are four codes",
          "[core][pitfall][p46]")
{
    running_world w;
    w.occupy("r", 1h);
    CHECK(w.acquire("r", {.timeout = 0ms}).error == errc::contended);
    call& late = w.acquire("r", {.timeout = 100ms});
    w.advance(1s);
    CHECK(late.error == errc::timed_out);
    call& cancelled = w.acquire("r", {.timeout = 1s});
    w.cancel(cancelled);
    CHECK(cancelled.error == error_code(ECANCELED, boost::system::system_category()));
    for (unsigned i = 0; i < 3; ++i) {
        w.lose(i);
    }
    CHECK(w.acquire("r", {.timeout = 0ms}).error == errc::unavailable);
    const stats s = w.core->snapshot();
    CHECK(s.contended == 1);
    CHECK(s.timed_out == 1);
    CHECK(s.cancelled == 1);
    CHECK(s.unavailable == 1);
}

TEST_CASE("an acquire without entropy gets no lock", "[core]")
{
    running_world w;
    w.entropy.broken = true;
    CHECK(w.acquire("r").error == errc::no_entropy);
    CHECK(w.count(0, "SET") == 0);
    CHECK(w.is_idle());
}

TEST_CASE("an acquire whose entropy fails between two attempts ends", "[core]")
{
    running_world w;
    w.occupy("r", 1h);
    call& c = w.acquire("r");
    CHECK_FALSE(c.done());
    w.entropy.broken = true;
    w.advance(1s);
    CHECK(c.error == errc::no_entropy);
    CHECK(w.is_idle());
}

TEST_CASE("each key begins with the prefix", "[core]")
{
    running_world w{3, {.key_prefix = "redlock:"}};
    core::lease& l = w.lock("r");
    CHECK(w.peers[1]->master.value(w.now, "redlock:r") == l.token.view());
    (void)w.release(l);
    CHECK(w.keys() == 0);
}

TEST_CASE("a resource may have any bytes", "[core]")
{
    using namespace std::string_literals;
    for (const std::string& name : {"a\r\nDEL k"s, "\0\0"s, std::string(max_resource_size, 'x')}) {
        running_world w;
        core::lease& l = w.lock(name);
        CHECK(w.peers[2]->master.value(w.now, name) == l.token.view());
        (void)w.release(l);
        CHECK(w.keys() == 0);
        CHECK(w.is_idle());
    }
}
