#include "watch_world.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;

// A waiter gets a notification from a server when it should ask again.

namespace {

using counts = std::vector<std::size_t>;

/// One node that must notify loses the tracked keys, in one of two ways.
void lose_watches(watch_world& w)
{
    if (GENERATE(false, true)) {
        w.peers[0]->coming.push_back({w.now, ">2\r\n$10\r\ninvalidate\r\n_\r\n"});
        w.settle();  // the node has lost all keys
    } else {
        w.close(0);  // the connection; another one follows soon
    }
}

}  // namespace

TEST_CASE("a refused waiter lets one node notify it of the release and asks that node first",
          "[core][watch]")
{
    watch_world w;
    w.take_all();
    call& c = w.waiting();
    CHECK(w.last(w.order[0], 3) == std::vector<std::string>{"CLIENT TRACKING ON OPTIN NOLOOP",
                                                            "CLIENT CACHING YES", "PTTL r"});
    CHECK(w.count(w.order[1], "CLIENT") + w.count(w.order[2], "CLIENT") == 0);
    w.advance(300ms);
    CHECK(w.sets() == counts{1, 1, 1});

    const instant then = w.now;
    w.give_back_all();
    w.advance_until([&] { return w.count(w.order[0], "SET") == 2; });
    CHECK(w.sets() == counts{2, 1, 1});
    w.advance(2 * round_trip);
    REQUIRE(c.held != nullptr);
    CHECK(w.sets() == counts{2, 2, 2});
    // The push, a pause of at most a round trip, one round trip to the first node and one to the
    // others.
    CHECK(c.ended - then <= way + 3 * round_trip);
    CHECK(c.held->granted == 0b111);
    CHECK(w.told().notified_attempts_granted == 1);
    CHECK(w.told().notified_attempts_refused == 0);
    CHECK(w.told().polls == 0);
    CHECK(w.core->waiters().watching() == 0);
}

TEST_CASE("a notified waiter that is refused waits for the next notification after one round trip",
          "[core][watch]")
{
    watch_world w;
    w.take_all();
    call& c = w.waiting();
    for (std::size_t n = 1; n <= 20; ++n) {
        w.give_back_all();
        w.take_all();
        const std::size_t before = w.all_commands();
        w.advance(8 * round_trip);
        CHECK(w.sets() == counts{1 + n, 1, 1});
        CHECK(w.told().notified_attempts_refused == n);
        CHECK(w.core->waiters().watching() == 1);
        // SET, CACHING and PTTL in one batch. No release is necessary.
        CHECK(w.all_commands() - before == 3);
    }
    CHECK(w.count(w.order[0], "CLIENT") == 22);
    w.give_back_all();
    w.advance(8 * round_trip);
    CHECK(c.held != nullptr);
    CHECK(w.told().polls == 0);
}

TEST_CASE("p43: a waiter with notifications sends only rare polls", "[core][watch][pitfall][p43]")
{
    watch_world w{{.ping_interval = 0ms, .max_poll_interval = 2s}};
    w.take_all();
    call& waits = w.waiting();
    const std::size_t before = w.all_commands();
    w.advance(1s);
    CHECK(w.all_commands() == before);
    w.advance(59s);
    CHECK(waits.error == errc::timed_out);
    const std::uint64_t polls = w.told().polls;
    CHECK(polls >= 60 / 2);
    CHECK(polls <= 60 * 4 / (2 * 3));
    CHECK(w.told().notified_attempts_refused == 0);
    CHECK(w.core->waiters().watching() == 0);
}

TEST_CASE("very many waiters together poll a thousand times a second", "[core][watch]")
{
    watch_world w{{.ping_interval = 0ms}};
    const unsigned many = 2500;
    for (unsigned i = 0; i < many; ++i) {
        const std::string name = std::to_string(i);
        w.take_all(1h, name);
        w.acquire(name, {.timeout = 1h});
        for (auto& p : w.peers) {
            p->log.clear();
        }
    }
    w.advance(2 * round_trip);
    REQUIRE(w.core->waiters().watching() == many);
    w.advance(5s);  // waiters that began when there were few poll again
    const std::uint64_t before = w.told().polls;
    for (int i = 0; i < 8; ++i) {
        w.advance(1s);
        for (auto& p : w.peers) {
            p->log.clear();
        }
    }
    CHECK(w.told().polls - before <= 8 * 1000 * 4 / 3);
    CHECK(w.told().polls - before >= many);
}

TEST_CASE("a waiter among very many polls when the key in its way expires", "[core][watch]")
{
    watch_world w{{.ping_interval = 0ms}};
    const unsigned many = 2500;
    for (unsigned i = 0; i < many; ++i) {
        const std::string name = std::to_string(i);
        w.take_all(i == 0 ? nanos{10s} : nanos{1h}, name);
        w.acquire(name, {.timeout = 1h});
        for (auto& p : w.peers) {
            p->log.clear();
        }
    }
    call& first = w.calls.front();
    w.advance(2 * round_trip);
    REQUIRE(w.core->waiters().watching() == many);
    w.advance(10s - 5 * round_trip);
    // The waiter's notification is lost.
    for (auto& p : w.peers) {
        p->master.forget(p->speaks);
    }
    CHECK_FALSE(first.done());
    w.advance(20 * round_trip);
    CHECK(first.held != nullptr);
}

TEST_CASE("p47: a lost notification costs no more than one poll", "[core][watch][pitfall][p47]")
{
    watch_world w{{.max_poll_interval = 500ms}};
    SECTION("at the longest poll interval")
    {
        w.take_all();
        call& c = w.waiting();
        w.advance(100ms);
        for (auto& p : w.peers) {
            p->master.forget(p->speaks);
        }
        w.give_back_all();
        w.advance(500ms + round_trip);
        REQUIRE(c.held != nullptr);
        CHECK(w.told().notified_attempts_granted == 0);
        CHECK(w.told().polls == 1);
    }
    SECTION("or at the holder's remaining ttl")
    {
        w.take_all(200ms);
        const instant end = w.now + 200ms;
        call& c = w.waiting();
        w.advance(end + 3 * round_trip - w.now);
        REQUIRE(c.held != nullptr);
        CHECK(c.ended >= end);
        CHECK(w.told().polls == 1);
    }
}

TEST_CASE("a key that expires wakes a waiter like one that is deleted", "[core][watch]")
{
    watch_world w;
    w.take_all(400ms);
    call& c = w.waiting();
    w.take(w.order[0], 300ms);
    w.advance(310ms);
    w.first().master.expire(w.now);
    w.settle();
    w.advance(100ms);
    CHECK(w.told().notified_attempts_refused + w.told().notified_attempts_granted >= 1);
    w.advance(100ms);
    CHECK(c.held != nullptr);
}

TEST_CASE("a waiter asks at once for a key that vanished before a node tracked it", "[core][watch]")
{
    watch_world w;
    w.take_all();
    call& c = w.acquire("r", {.timeout = 60s});
    w.advance(round_trip);
    for (unsigned i = 0; i < 3; ++i) {
        w.give_back(i);
    }
    w.advance(4 * round_trip);
    REQUIRE(c.held != nullptr);
    CHECK(w.told().notified_attempts_granted == 1);
}

TEST_CASE("a waiter hears of a release that happened during its attempt", "[core][watch]")
{
    watch_world w;
    w.take_all();
    call& c = w.waiting();
    w.give_back_all();
    w.take_all();
    w.advance(way + round_trip);  // notified, and asking
    w.give_back_all();            // after the refusal
    w.advance(5 * round_trip);
    CHECK(c.held != nullptr);
    CHECK(w.told().polls == 0);
}

TEST_CASE("a waiter with a zero back-off waits for the notification before it asks again",
          "[core][watch]")
{
    config config;
    config.max_poll_interval = 1h;
    SECTION("with backoff_max zero")
    {
        config.backoff_min = config.backoff_max = 0ms;
    }
    SECTION("with a custom back-off")
    {
        config.backoff = [](unsigned, std::chrono::nanoseconds) { return 0ns; };
    }
    watch_world w{config};
    w.take_all();
    call& c = w.acquire("r", {.timeout = 60s});
    w.advance(10s);
    CHECK(w.told().attempts == 1);
    CHECK(w.core->waiters().watching() == 1);
    w.give_back_all();
    w.advance(4 * round_trip);
    CHECK(c.held != nullptr);
}

TEST_CASE("a waiter that replaces one that left takes over its wait", "[core][watch][line]")
{
    watch_world w{{.max_poll_interval = 20s}};
    w.take_all();
    std::vector<call*> calls;
    for (int i = 0; i < 500; ++i) {
        calls.push_back(&w.acquire("r", {.timeout = std::chrono::milliseconds{1000 + 10 * i}}));
    }
    call& last = w.acquire("r", {.timeout = 1h});
    w.advance(4s);
    REQUIRE(calls[200]->error == errc::timed_out);
    REQUIRE(calls[100]->error == errc::timed_out);
    CHECK(w.told().attempts == 1);
    CHECK(w.core->waiters().watching() == 1);
    CHECK(w.told().waiters > 100);
    SECTION("and its notification")
    {
        w.give_back_all();
        w.advance(4 * round_trip);
        const auto had = std::count_if(calls.begin(), calls.end(),
                                       [](const call* c) { return c->held != nullptr; });
        CHECK(had == 1);
        CHECK(w.told().notified_attempts_granted == 1);
    }
    SECTION("and its next poll")
    {
        w.advance(5s);
        CHECK(w.told().attempts == 1);
        CHECK(w.told().waiters == 0);
        CHECK_FALSE(last.done());
        w.advance(12s);
        CHECK(w.told().attempts == 2);
        CHECK(w.told().polls == 1);
        w.advance(2 * round_trip);
        CHECK(w.core->waiters().watching() == 1);
    }
    SECTION("even if that one was cancelled")
    {
        w.cancel(*calls[350]);
        w.advance(1s);
        CHECK(w.told().attempts == 1);
        CHECK(w.core->waiters().watching() == 1);
    }
    SECTION("and its knowledge of the holder")
    {
        w.take_all(30s, "q");
        call& other = w.acquire("q", {.timeout = 1s});
        w.with_report = true;
        call& heir = w.acquire("q", {.timeout = 2s});
        w.advance(3s);
        REQUIRE(other.error == errc::timed_out);
        REQUIRE(heir.error == errc::timed_out);
        CHECK(heir.report.attempts == 0);
        REQUIRE(heir.report.holder_ttl);
        CHECK(*heir.report.holder_ttl > 27s);
        CHECK(*heir.report.holder_ttl <= 28s + round_trip);
    }
    SECTION("but not a wait whose connection was lost")
    {
        w.close(w.order[0]);
        w.advance(1s);
        CHECK(w.told().attempts >= 2);
        CHECK(w.core->waiters().watching() == 1);
    }
}

TEST_CASE("a waiter replaces one without notifications by asking at once", "[core][watch][line]")
{
    config config;
    config.backoff = [](unsigned, std::chrono::nanoseconds) { return 10s; };
    config.release_notifications = GENERATE(false, true);
    watch_world w{config};
    w.take_all();
    call& first = w.acquire("r", {.timeout = 60s});
    w.acquire("r", {.timeout = 60s});
    w.advance(100ms);
    REQUIRE(w.told().attempts == 1);
    REQUIRE(w.core->waiters().watching() == (config.release_notifications ? 1 : 0));
    w.cancel(first);
    w.advance(round_trip);
    CHECK(w.told().attempts == (config.release_notifications ? 1 : 2));
}

TEST_CASE("a waiter polls servers that send no notifications", "[core][watch]")
{
    config config;
    config.backoff_min = config.backoff_max = 50ms;
    SECTION("because they lack RESP3")
    {
        watch_world w{config};
        for (auto& p : w.peers) {
            p->master.knows_hello = false;
        }
        for (unsigned i = 0; i < 3; ++i) {
            w.close(i);
        }
        w.advance(5s);
        REQUIRE(w.told().nodes_ready == 3);
        w.take_all();
        call& c = w.acquire("r", {.timeout = 60s});
        w.advance(2s);
        CHECK(w.told().polls > 20);
        w.give_back_all();
        w.advance(200ms);
        CHECK(c.held != nullptr);
        CHECK(w.count(0, "CLIENT") + w.count(1, "CLIENT") + w.count(2, "CLIENT") == 0);
    }
    SECTION("because they forbid it and the client logs this once for each node")
    {
        watch_world w{config};
        w.refuse("CLIENT TRACKING",
                 "NOPERM User x has no permissions to run the 'client|tracking' command");
        w.take_all();
        (void)w.acquire("r", {.timeout = 60s});
        w.advance(2s);
        CHECK(w.told().polls > 20);
        CHECK(w.core->waiters().watching() == 0);
        CHECK(w.told().node_errors == 0);
        CHECK(w.lines_with("sends no notifications") == 3);
        for (unsigned i = 0; i < 3; ++i) {
            CHECK(w.count(i, "CLIENT") == 2);  // with the commands that were sent after it
        }
    }
    SECTION("because they permit tracking but not the choice of a key")
    {
        const auto* refusal =
            GENERATE("NOPERM User x has no permissions to run the 'client|caching' command",
                     "ERR command 'client|caching' is not allowed", "unsupported command");
        watch_world w{config};
        w.refuse("CLIENT CACHING", refusal);
        w.take_all();
        (void)w.acquire("r", {.timeout = 60s});
        w.advance(2s);
        CHECK(w.told().polls > 20);
        CHECK(w.core->waiters().watching() == 0);
        CHECK(w.told().node_errors == 0);
        CHECK(w.lines_with("sends no notifications") == 3);
    }
    SECTION("because the client turned them off")
    {
        config.release_notifications = false;
        watch_world w{config};
        w.take_all();
        (void)w.acquire("r", {.timeout = 60s});
        w.advance(2s);
        CHECK(w.told().polls > 20);
        CHECK(w.count(0, "CLIENT") + w.count(1, "CLIENT") + w.count(2, "CLIENT") == 0);
    }
}

TEST_CASE("a client asks a server again for notifications after a temporary error", "[core][watch]")
{
    config config;
    config.backoff_min = config.backoff_max = 50ms;
    const std::string what = GENERATE("CLIENT TRACKING", "CLIENT CACHING", "CLIENT");
    CAPTURE(what);
    watch_world w{config};
    w.refuse(what, "BUSY Redis is busy running a script.");
    w.take_all();
    call& c = w.acquire("r", {.timeout = 60s});
    w.advance(1s);
    CHECK(w.core->waiters().watching() == 0);
    CHECK(w.log_lines.empty());
    w.refuse_nothing();
    w.advance(100ms);
    CHECK(w.core->waiters().watching() == 1);
    w.give_back_all();
    w.advance(8 * round_trip);
    CHECK(c.held != nullptr);
    CHECK(w.told().notified_attempts_granted == 1);
}

TEST_CASE("p43: a waiter does not poll all the time for a key that expires a little late",
          "[core][watch][pitfall][p43]")
{
    watch_world w;
    w.take_all(3s);
    call& c = w.waiting();
    const nanos later = w.settings.node_timeout * 4 / 5;
    w.take_all(3s - 2 * round_trip + later);  // as if the clock was set back
    w.advance(3s - 2 * round_trip);
    const std::uint64_t polls = w.told().polls;
    w.advance(later + 2 * round_trip);
    CHECK(w.told().polls - polls <= 3);
    CHECK(c.held != nullptr);
    CHECK(w.told().notifications_missed == 0);
}

TEST_CASE("a client stops asking for notifications if each request ends the connection",
          "[core][watch]")
{
    watch_world w{{.backoff_min = 50ms, .backoff_max = 50ms}, 1};
    w.take_all();
    (void)w.acquire("r", {.timeout = 1h});
    unsigned losses = 0;
    for (int i = 0; i < 10'000; ++i) {
        w.advance(1ms);
        const auto& log = w.peers[0]->log;
        if (w.peers[0]->connected && !log.empty() && log.back()[0] == "PTTL" && log.size() > 2 &&
            log[log.size() - 3][0] == "CLIENT" && log[log.size() - 3][1] == "TRACKING") {
            w.peers[0]->log.clear();
            w.close(0);
            ++losses;
        }
    }
    CHECK(losses == 3);
    CHECK(w.told().polls > 20);
}

TEST_CASE("a lost connection counts once although many waiters asked for notifications",
          "[core][watch]")
{
    watch_world w{{}, 1};
    for (int i = 0; i < 8; ++i) {
        const std::string name = std::to_string(i);
        w.take_all(1h, name);
        (void)w.acquire(name, {.timeout = 1h});
    }
    w.advance_until([&] { return w.count(0, "PTTL") == 8; });
    REQUIRE(w.core->waiters().watching() == 0);
    w.close(0);
    w.advance(5s);
    CHECK(w.core->waiters().watching() == 8);
}

TEST_CASE("a key on the first node alone keeps no waiter from a majority", "[core][watch]")
{
    watch_world w{{.max_poll_interval = 500ms}};
    w.take_all();
    call& c = w.waiting();
    w.give_back_all();
    w.take(w.order[0]);
    w.advance(4 * round_trip);
    CHECK(w.sets() == counts{2, 1, 1});
    CHECK_FALSE(c.done());
    w.advance(500ms + round_trip);
    CHECK(c.held != nullptr);
}

TEST_CASE("a waiter with the first node's key tracks another node before its vote is complete",
          "[core][watch][fencing]")
{
    watch_world w;
    w.take_all();
    call& c = w.waiting({.timeout = 60s, .fencing = true});
    w.give_back(w.order[0]);
    w.settle();
    w.advance_until([&] { return w.count(w.order[1], "SET") == 2; });
    const std::size_t looks = w.count(w.order[0], "PTTL");
    w.first().way_back = 10 * way;  // its counter arrives after the others' refusals
    w.advance(100 * round_trip);
    CHECK(w.sets() == counts{2, 2, 2});
    CHECK(w.count(w.order[0], "PTTL") == looks);
    CHECK(w.told().notified_attempts_refused == 1);
    CHECK(w.core->waiters().watching() == 1);
    w.give_back_all();
    w.advance_until([&] { return c.done(); });
    CHECK(c.held != nullptr);
}

TEST_CASE("a waiter asks the next node first if the first one is down", "[core][watch]")
{
    watch_world w;
    w.peers[w.order[0]]->dial = peer::dialling::refused;
    w.close(w.order[0]);
    w.take_all();
    call& c = w.waiting();
    CHECK(w.last(w.order[1], 1) == std::vector<std::string>{"PTTL r"});
    w.give_back_all();
    w.take_all();
    w.advance(4 * round_trip);
    CHECK(w.sets() == counts{0, 2, 1});
    w.give_back_all();
    w.advance(4 * round_trip);
    CHECK(c.held != nullptr);
}

TEST_CASE("a waiter asks the other nodes if the first one does not answer", "[core][watch]")
{
    watch_world w;
    w.take_all();
    call& c = w.waiting();
    w.give_back_all();
    w.advance(way);
    SECTION("until its deadline")
    {
        w.first().frozen = true;
        w.advance_until([&] { return w.count(w.order[0], "SET") == 2; });
        w.advance(w.settings.node_timeout - 1us);
        CHECK(w.sets() == counts{2, 1, 1});
        w.advance(2 * round_trip);
        REQUIRE(c.held != nullptr);
        CHECK(w.sets() == counts{2, 2, 2});
        CHECK(w.told().node_timeouts == 1);
        w.thaw(w.order[0]);
        w.advance(2 * round_trip);
        CHECK(c.held->granted == 0b111);
    }
    SECTION("because its connection is lost")
    {
        w.first().frozen = true;
        w.advance_until([&] { return w.count(w.order[0], "SET") == 2; });
        w.advance(round_trip);
        CHECK(w.sets() == counts{2, 1, 1});
        w.close(w.order[0]);
        w.advance(2 * round_trip);
        CHECK(c.held != nullptr);
    }
    SECTION("because it answers with an error")
    {
        w.first().master.refusals["SET"] = "OOM command not allowed";
        w.advance(3 * round_trip);
        CHECK(c.held != nullptr);
    }
}

TEST_CASE("a waiter asks no other node after its deadline", "[core][watch]")
{
    watch_world w;
    w.take_all();
    call& c = w.waiting({.timeout = 100ms});
    w.advance(c.begun + 90ms - w.now);
    w.give_back_all();
    w.first().way_there = 20ms;
    w.advance(30ms);
    CHECK(c.error == errc::timed_out);
    CHECK(w.sets() == counts{2, 1, 1});
    CHECK(c.ended - c.begun <= 100ms + w.settings.node_timeout);
    w.advance(100ms);
    CHECK(w.keys() == 0);
}

TEST_CASE("the last attempt of an acquire asks all nodes", "[core][watch]")
{
    watch_world w;
    w.take_all();
    call& c = w.waiting({.timeout = 60s, .max_attempts = 2});
    w.give_back_all();
    w.take_all();
    w.advance(4 * round_trip);
    CHECK(c.error == errc::contended);
    CHECK(w.sets() == counts{2, 2, 2});
    CHECK(w.core->waiters().watching() == 0);
}

TEST_CASE("a waiter does not ask a node without a vote first", "[core][watch][guard]")
{
    config config;
    config.restart_guard = guard_config{.max_ttl = 1h, .admit_new_nodes = true};
    watch_world w{config};
    w.take_all();
    call& c = w.waiting();
    w.first().master.flush_keys();
    w.settle();
    w.advance(4 * round_trip);  // woken and refused by the nodes with the key, and the client
                                // notices the loss
    w.give_back_all();
    w.advance(4 * round_trip);
    CHECK(c.held != nullptr);
    CHECK(w.told().nodes_quarantined == 1);
}

TEST_CASE("a waiter whose connection for notifications is lost polls soon and tracks the key again",
          "[core][watch]")
{
    watch_world w{{.backoff_max = 100ms, .max_poll_interval = 1h}};
    w.take_all();
    call& c = w.waiting();
    w.advance(10s);
    w.close(w.order[0]);
    CHECK(w.core->waiters().watching() == 0);
    SECTION("when the lock is free by then")
    {
        w.give_back_all();
        w.advance(100ms + 2 * round_trip);
        CHECK(c.held != nullptr);
    }
    SECTION("when the lock is held and the new connection notifies")
    {
        w.advance(200ms);
        CHECK(w.core->waiters().watching() == 1);
        CHECK(w.last(w.order[0], 3).front() == "CLIENT TRACKING ON OPTIN NOLOOP");
        w.advance(1s);
        w.give_back_all();
        w.advance(4 * round_trip);
        CHECK(c.held != nullptr);
    }
}

TEST_CASE("very many waiters on a lost connection do not poll all at once", "[core][watch]")
{
    watch_world w{{.ping_interval = 0ms, .max_poll_interval = 1h}, 1};
    const unsigned many = 2000;
    for (unsigned i = 0; i < many; ++i) {
        const std::string name = std::to_string(i);
        w.take_all(1h, name);
        (void)w.acquire(name, {.timeout = 1h});
    }
    w.advance(2 * round_trip);
    REQUIRE(w.core->waiters().watching() == many);
    const std::uint64_t before = w.told().attempts;
    lose_watches(w);
    w.advance(1s);
    CHECK(w.told().attempts - before <= many * 2 / 3);
    CHECK(w.told().attempts - before >= many / 4);
    w.advance(2s);
    CHECK(w.told().attempts - before >= many);
    CHECK(w.core->waiters().watching() == many);
}

TEST_CASE("each of very many waiters on a lost connection polls within its deadline",
          "[core][watch]")
{
    watch_world w{{.ping_interval = 0ms, .max_poll_interval = 1h}, 1};
    const unsigned many = 4000;
    const unsigned hurried = 20;
    for (unsigned i = 0; i < many; ++i) {
        const std::string name = std::to_string(i);
        w.take_all(1h, name);
        (void)w.acquire(name, {.timeout = i < hurried ? 1000ms : 3'600'000ms});
    }
    w.advance(2 * round_trip);
    REQUIRE(w.core->waiters().watching() == many);
    w.peers[0]->master.forget(w.peers[0]->speaks);
    for (unsigned i = 0; i < hurried; ++i) {
        w.give_back_all(std::to_string(i));
    }
    lose_watches(w);
    w.advance(1s);
    for (unsigned i = 0; i < hurried; ++i) {
        CHECK(w.calls[i].held != nullptr);
    }
}

TEST_CASE("a server that loses all keys wakes all its waiters", "[core][watch]")
{
    watch_world w;
    w.take_all();
    call& c = w.waiting();
    w.peers[w.order[1]]->master.flush_keys();
    w.peers[w.order[2]]->master.flush_keys();
    w.advance(20ms);
    CHECK(w.sets() == counts{1, 1, 1});
    (void)w.first().master.execute(w.now, w.other, {"FLUSHALL"});
    w.settle();
    w.advance(4 * round_trip);
    CHECK(c.held != nullptr);
    CHECK(w.told().notified_attempts_granted == 1);
}

TEST_CASE("a client takes any push as a hint only", "[core][watch]")
{
    watch_world w{{.key_prefix = "locks:"}};
    for (auto& p : w.peers) {
        p->master.put("locks:r", {.value = stranger, .end = w.now + 1h});
    }
    call& c = w.waiting();
    const std::string push =
        GENERATE(">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nr\r\n", ">1\r\n$10\r\ninvalidate\r\n",
                 ">2\r\n$10\r\ninvalidate\r\n:7\r\n", ">2\r\n$10\r\ninvalidate\r\n*0\r\n",
                 ">2\r\n$10\r\ninvalidate\r\n*2\r\n:1\r\n*1\r\n$7\r\nlocks:r\r\n", ">1\r\n:1\r\n",
                 ">2\r\n$7\r\nmessage\r\n*1\r\n$7\r\nlocks:r\r\n",
                 ">2\r\n$10\r\ninvalidate\r\n*1\r\n$6\r\nlocks:\r\n");
    const bool is_of_all = push == ">1\r\n$10\r\ninvalidate\r\n";
    CAPTURE(push);
    w.first().coming.push_back({w.now, push});
    w.settle();
    w.advance(4 * round_trip);
    CHECK(w.told().notified_attempts_refused == (is_of_all ? 1u : 0u));
    CHECK(w.told().protocol_errors == 0);
    // About a key that still exists, three times.
    for (int i = 0; i < 3; ++i) {
        w.first().coming.push_back({w.now, ">2\r\n$10\r\ninvalidate\r\n*1\r\n$7\r\nlocks:r\r\n"});
    }
    w.settle();
    w.advance(6 * round_trip);
    CHECK_FALSE(c.done());
    CHECK(w.told().notified_attempts_refused == (is_of_all ? 2u : 1u));
    for (unsigned i = 0; i < 3; ++i) {
        CHECK(w.peers[i]->master.value(w.now, "locks:r") == stranger);
    }
}

TEST_CASE("a waiter that ends leaves nothing", "[core][watch]")
{
    config config;
    config.ping_interval = GENERATE(0ms, 20s);
    config.stall_timeout = 20s;
    const bool is_busy = GENERATE(false, true);
    watch_world w{config};
    w.take_all();
    call& c = w.waiting();
    w.advance(GENERATE(0s, 10s));
    CHECK(w.first().speaks.tracks == session::tracking::chosen);
    w.end_in_each_way(c);
    const std::size_t sets = w.count(w.order[0], "SET");
    w.give_back_all();
    w.advance(4 * round_trip);
    CHECK(w.count(w.order[0], "SET") == sets);
    // No waiter tracks a key there any more, so the server can stop.
    for (int i = 0; i < 50; ++i) {
        if (is_busy) {
            w.inspect("another");
        }
        w.advance(100ms);
    }
    CHECK(w.first().speaks.tracks == session::tracking::off);
    w.advance(20s);
    CHECK(w.is_idle());
    const auto& log = w.first().log;
    CHECK(std::count_if(log.begin(), log.end(), [](const words& said) {
              return said[0] == "CLIENT" && said[1] == "TRACKING";
          }) == 2);
}

TEST_CASE("clients with their nodes in any order agree on the first node of a resource",
          "[core][watch]")
{
    std::vector<std::string> names = node_urls(5);
    std::vector<std::string> first;
    for (int turn = 0; turn < 5; ++turn) {
        watch_world w{{.nodes = names}, 5};
        w.take_all();
        (void)w.waiting();
        for (unsigned i = 0; i < 5; ++i) {
            if (w.count(i, "CLIENT") > 0) {
                first.push_back(names[i]);
            }
        }
        std::rotate(names.begin(), names.begin() + 1, names.end());
    }
    REQUIRE(first.size() == 5);
    CHECK(std::count(first.begin(), first.end(), first.front()) == 5);
}

TEST_CASE("resources are spread over the nodes that are asked first", "[core][watch]")
{
    std::vector<unsigned> each(5);
    const std::vector<std::string> names = node_urls(5);
    for (int i = 0; i < 1000; ++i) {
        const std::uint64_t resource = core::name_hash("resource:" + std::to_string(i));
        const auto rank_of = [&](const std::string& n) {
            return core::rank(resource, core::name_hash(n));
        };
        const auto first =
            std::max_element(names.begin(), names.end(),
                             [&](const auto& a, const auto& b) { return rank_of(a) < rank_of(b); });
        ++each[static_cast<std::size_t>(first - names.begin())];
    }
    for (const unsigned n : each) {
        CHECK(n > 150);
    }
}

TEST_CASE("clients that are woken together do not split the votes", "[core][watch]")
{
    // The simulation tests the votes of one client against another that asks all nodes.
    // This test checks which nodes a woken waiter leaves alone.
    watch_world w;
    w.take_all();
    call& c = w.waiting();
    w.give_back_all();
    w.take(w.order[0]);  // another client was first
    w.advance(4 * round_trip);
    CHECK_FALSE(c.done());
    CHECK(w.peers[w.order[1]]->master.value(w.now, "r").empty());
    CHECK(w.count(w.order[1], "SET") == 1);
    CHECK(w.count(w.order[1], "EVALSHA") == 1);
    CHECK(w.count(w.order[0], "EVALSHA") == 1);
}

TEST_CASE("a refused first node counts no fencing token", "[core][watch][fencing]")
{
    watch_world w;
    call& before = w.acquire("r", {.fencing = true});
    w.advance(round_trip);
    REQUIRE(before.held != nullptr);
    const std::uint64_t token = before.held->fencing_token;
    w.drop(*before.held);
    w.advance(round_trip);
    w.take_all();
    call& c = w.waiting({.timeout = 60s, .fencing = true});
    for (int i = 0; i < 5; ++i) {
        w.give_back_all();
        w.take_all();
        w.advance(4 * round_trip);
    }
    CHECK(w.told().notified_attempts_refused == 5);
    w.give_back_all();
    w.advance(4 * round_trip);
    REQUIRE(c.held != nullptr);
    CHECK(c.held->granted == 0b111);
    // The first refused attempt had counted, and so did this one.
    CHECK(c.held->fencing_token == token + 2);
    CHECK(w.told().counter_alignments == 0);
}

TEST_CASE("a waiter's first node must prove its vote like any other", "[core][watch][guard]")
{
    config config;
    config.restart_guard = guard_config{.max_ttl = 1h, .admit_new_nodes = true};
    watch_world w{config};
    w.take_all();
    call& c = w.waiting({.timeout = 60s, .fencing = true});
    w.give_back_all();
    SECTION("it is admitted")
    {
        w.advance(4 * round_trip);
        REQUIRE(c.held != nullptr);
        CHECK(c.held->counted == 0b111);
    }
    SECTION("it has lost its keys meanwhile")
    {
        w.advance_until([&] { return w.count(w.order[0], "SET") == 2; });
        w.advance(way);
        w.first().master.flush_keys();
        w.advance(4 * round_trip);
        REQUIRE(c.held != nullptr);
        CHECK(c.held->counted == (0b111u & ~core::bit(w.order[0])));
        CHECK(w.told().nodes_quarantined == 1);
    }
}

TEST_CASE("a report says which nodes were not asked", "[core][watch]")
{
    watch_world w;
    w.take_all();
    w.with_report = true;
    call& c = w.waiting({.timeout = 200ms});
    w.advance(c.begun + 190ms - w.now);
    w.give_back_all();
    w.take_all();
    w.advance(100ms);
    CHECK(c.error == errc::timed_out);
    REQUIRE(c.report.nodes.size() == 3);
    CHECK(c.report.attempts == 2);
    CHECK(c.report.nodes[w.order[0]].outcome == node_outcome::refused);
    CHECK(c.report.nodes[w.order[0]].holder_ttl.has_value());
    CHECK(c.report.nodes[w.order[1]].outcome == node_outcome::not_asked);
    CHECK(c.report.nodes[w.order[2]].outcome == node_outcome::not_asked);
}

TEST_CASE("an acquire that is cancelled while it asks its first node leaves nothing",
          "[core][watch]")
{
    watch_world w;
    w.take_all();
    call& c = w.waiting();
    w.give_back_all();
    w.advance_until([&] { return w.count(w.order[0], "SET") == 2; });
    w.cancel(c);
    CHECK(c.done());
    w.advance(4 * round_trip);
    CHECK(w.keys() == 0);
    CHECK(w.sets() == counts{2, 1, 1});
    CHECK(w.core->waiters().watching() == 0);
}

TEST_CASE("an acquire after a woken one that was cancelled asks all nodes", "[core][watch]")
{
    watch_world w;
    w.take_all();
    call& c = w.waiting();
    w.give_back_all();
    w.advance(way);  // notified, and in its pause
    w.cancel(c);
    CHECK(c.done());
    w.advance(1s);  // the client forgets the earlier refusal
    call& next = w.acquire("r");
    w.advance(round_trip);
    REQUIRE(next.held != nullptr);
    CHECK(w.told().notified_attempts_granted == 0);
}

TEST_CASE("a new acquire of a contended lock asks one node first", "[core][watch]")
{
    watch_world w;
    w.take_all();
    call& before = w.acquire("r", {.timeout = 0ms});
    w.advance(round_trip);
    CHECK(before.error == errc::contended);
    const counts asked = w.sets();
    const auto is_granted_at_once = [&](const acquire_options& o) {
        call& c = w.acquire("r", o);
        w.advance(round_trip);
        const bool is_granted = c.held != nullptr;
        if (is_granted) {
            w.drop(*c.held);
            w.advance(round_trip);
        }
        return is_granted;
    };

    SECTION("and waits for a notification like any other")
    {
        call& c = w.acquire("r", {.timeout = 60s});
        w.advance(2 * round_trip);
        CHECK(w.sets() == counts{asked[0] + 1, asked[1], asked[2]});
        CHECK(w.core->waiters().watching() == 1);
        CHECK(w.told().notified_attempts_refused == 0);
        w.give_back_all();
        w.advance(4 * round_trip);
        CHECK(c.held != nullptr);
        CHECK(w.told().notified_attempts_granted == 1);
    }
    SECTION("and a key on that node alone does not keep it from the lock")
    {
        for (const unsigned i : {w.order[1], w.order[2]}) {
            w.give_back(i);
        }
        call& c = w.acquire("r", {.timeout = 60s});
        w.advance(3s);
        CHECK(c.held != nullptr);
        CHECK(w.told().polls == 1);
    }
    SECTION("but not again and again")
    {
        for (const unsigned i : {w.order[1], w.order[2]}) {
            w.give_back(i);
        }
        call& once = w.acquire("r", {.timeout = 60s});
        w.advance(3s);
        REQUIRE(once.held != nullptr);
        w.drop(*once.held);
        w.advance(round_trip);
        for (int i = 0; i < 5; ++i) {
            REQUIRE(is_granted_at_once({.timeout = 60s}));
        }
    }
    SECTION("but not for long")
    {
        w.give_back_all();
        w.advance(1s);
        CHECK(is_granted_at_once({}));
    }
    SECTION("but not with little time left")
    {
        w.give_back_all();
        CHECK(is_granted_at_once({.timeout = 2ms}));
    }
    SECTION("but not with a single attempt")
    {
        w.give_back_all();
        CHECK(is_granted_at_once({.timeout = 0ms}));
    }
}

TEST_CASE("a client remembers that a lock is contended for as long as it holds it", "[core][watch]")
{
    watch_world w;
    w.take_all();
    call& c = w.waiting();
    w.give_back_all();
    w.advance(4 * round_trip);
    REQUIRE(c.held != nullptr);
    w.advance(5s);
    w.drop(*c.held);
    w.advance(round_trip);
    const counts asked = w.sets();
    w.acquire("r", {.timeout = 60s});
    w.advance(way);
    CHECK(w.sets() == counts{asked[0] + 1, asked[1], asked[2]});
}

TEST_CASE("a client's own lock does not count as contention", "[core][watch]")
{
    watch_world w;
    call& c = w.acquire("r");
    w.advance(round_trip);
    REQUIRE(c.held != nullptr);
    call& tries = w.acquire("r", {.timeout = 0ms});
    w.advance(round_trip);
    CHECK(tries.error == errc::contended);
    w.drop(*c.held);
    call& next = w.acquire("r", {.timeout = 60s});
    w.advance(round_trip);
    CHECK(next.held != nullptr);
}

TEST_CASE("an acquire without notifications asks all nodes", "[core][watch]")
{
    watch_world w{{.release_notifications = false}};
    w.take_all();
    w.acquire("r", {.timeout = 0ms});
    w.advance(round_trip);
    w.give_back_all();
    call& c = w.acquire("r");
    w.advance(round_trip);
    CHECK(c.held != nullptr);
}

TEST_CASE("a waiter with many competitors asks at a later and random time", "[core][watch]")
{
    watch_world w;
    w.take_all();
    const auto delay = [&] {
        const std::size_t asked = w.count(w.order[0], "SET");
        w.give_back_all();
        w.take_all();
        const instant told = w.now + way;
        w.advance_until([&] { return w.count(w.order[0], "SET") > asked; });
        const nanos passed = w.now - told;
        w.advance(2 * round_trip);
        REQUIRE(w.core->waiters().watching() == 1);
        return passed;
    };
    call& c = w.waiting();
    std::vector<nanos> few;
    std::vector<nanos> many;
    for (int i = 0; i < 120; ++i) {
        (i < 4 ? few : many).push_back(delay());
    }
    CHECK(std::ranges::max(few) <= 2 * round_trip);
    CHECK(std::ranges::max(many) > 6 * round_trip);
    CHECK(std::ranges::max(many) <= 9 * round_trip + way);
    // The pause after the notification is random.
    CHECK(std::ranges::min(many) < round_trip);
    w.give_back_all();
    w.advance(20 * round_trip);
    REQUIRE(c.held != nullptr);
    w.drop(*c.held);
    w.advance(round_trip);

    // The next waiter knows how many attempts that took.
    w.take_all();
    w.waiting();
    CHECK(delay() > 3 * round_trip);
}

TEST_CASE("a release by the same client wakes a waiter too", "[core][watch]")
{
    watch_world w{{.max_poll_interval = 1h}};
    w.take_all();
    call& c = w.waiting();
    // An acquire outside the queue gets the first node's key while it asks the others.
    w.peers[w.order[1]]->way_back = w.peers[w.order[2]]->way_back = 40ms;
    w.give_back(w.order[0]);
    call& passing = w.acquire("r", {.timeout = 0ms});
    w.advance(20ms);
    CHECK(w.told().notified_attempts_refused == 1);
    CHECK_FALSE(passing.done());
    CHECK(w.core->waiters().watching() == 1);
    w.give_back_all();
    w.advance(30ms);
    CHECK(passing.error == errc::contended);
    w.advance(60ms);
    CHECK(c.held != nullptr);
}

TEST_CASE("a waiter does not ask a node without notifications first if another node has them",
          "[core][watch]")
{
    watch_world w;
    w.first().master.refusals["CLIENT TRACKING"] = "NOPERM no permissions to run it";
    w.take_all();
    call& c = w.acquire("r", {.timeout = 60s});
    w.advance(100ms);
    REQUIRE(w.core->waiters().watching() == 1);
    for (int i = 0; i < 3; ++i) {
        const std::size_t polls = w.told().polls;
        const std::size_t sets = w.count(w.order[0], "SET");
        w.give_back_all();
        w.take_all();
        w.advance(4 * round_trip);
        CHECK(w.told().polls == polls);
        CHECK(w.count(w.order[0], "SET") == sets);
        CHECK(w.core->waiters().watching() == 1);
    }
    w.give_back_all();
    w.advance(4 * round_trip);
    CHECK(c.held != nullptr);
}
