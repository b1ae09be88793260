#include "watch_world.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;

// A waiter gets a notification from a server when the lock ends: the first one in the queue of the
// clients, or each waiter without a queue.

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

TEST_CASE("a waiter without a queue lets one node notify it of the release, then asks all nodes",
          "[core][watch]")
{
    watch_world w{without_queue()};
    w.take_all();
    call& c = w.waiting();
    CHECK(w.last(w.order[0], 3) == std::vector<std::string>{"CLIENT TRACKING ON OPTIN NOLOOP",
                                                            "CLIENT CACHING YES", "PTTL r"});
    CHECK(w.count(w.order[1], "CLIENT") + w.count(w.order[2], "CLIENT") == 0);
    w.advance(300ms);
    CHECK(w.sets() == counts{1, 1, 1});

    const instant then = w.now;
    w.give_back_all();
    w.advance_until([&] { return w.sets() == counts{2, 2, 2}; });
    w.advance(round_trip);
    REQUIRE(c.held != nullptr);
    // The push, a random pause and the attempt.
    CHECK(c.ended - then <= way + 5 * round_trip);
    CHECK(c.held->granted == 0b111);
    CHECK(w.told().notified_attempts_granted == 1);
    CHECK(w.told().notified_attempts_refused == 0);
    CHECK(w.told().polls == 0);
    CHECK(w.told().tickets == 0);
    CHECK(w.core->fair_queue().size() == 0);
}

TEST_CASE("a notified waiter that is refused waits for the next notification after one round trip",
          "[core][watch]")
{
    watch_world w{without_queue()};
    w.take_all();
    call& c = w.waiting();
    for (std::size_t n = 1; n <= 20; ++n) {
        w.give_back_all();
        w.take_all();
        const std::size_t before = w.all_commands();
        w.advance(8 * round_trip);
        CHECK(w.sets() == counts(3, 1 + n));
        CHECK(w.told().notified_attempts_refused == n);
        CHECK(w.core->fair_queue().size() == 1);
        // SET, PTTL and a release on each node, then CACHING and PTTL on one.
        CHECK(w.all_commands() - before == 11);
    }
    CHECK(w.count(w.order[0], "CLIENT") == 22);
    w.give_back_all();
    w.advance(8 * round_trip);
    CHECK(c.held != nullptr);
    CHECK(w.told().polls == 0);
}

TEST_CASE("p43: a waiter with notifications sends only rare polls", "[core][watch][pitfall][p43]")
{
    watch_world w{with_and_without_queue({.ping_interval = 0ms, .max_poll_interval = 2s})};
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
    CHECK(w.core->fair_queue().size() == 0);
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
    w.advance(3 * round_trip);
    REQUIRE(w.core->fair_queue().size() == many);
    w.advance(5s);  // waiters that began when there were few poll again
    const std::uint64_t before = w.told().polls;
    for (int i = 0; i < 4; ++i) {
        w.advance(1s);
        for (auto& p : w.peers) {
            p->log.clear();
        }
    }
    CHECK(w.told().polls - before <= 4 * 1000 * 4 / 3);
    CHECK(w.told().polls - before >= many);
}

TEST_CASE("a waiter among very many polls when the key in its way expires", "[core][watch]")
{
    watch_world w{without_queue({.ping_interval = 0ms})};
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
    w.advance(3 * round_trip);
    REQUIRE(w.core->fair_queue().size() == many);
    w.advance(10s - 6 * round_trip);
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
    watch_world w{with_and_without_queue({.max_poll_interval = 500ms})};
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
    watch_world w{with_and_without_queue()};
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
    watch_world w{with_and_without_queue()};
    w.take_all();
    call& c = w.acquire("r", {.timeout = 60s});
    w.advance_until([&] { return w.count(w.order[0], "PTTL") == 1; });
    for (unsigned i = 0; i < 3; ++i) {
        w.give_back(i);
    }
    w.advance(6 * round_trip);
    REQUIRE(c.held != nullptr);
    CHECK(w.told().notified_attempts_granted == 0);
    CHECK(w.told().polls == 0);
}

TEST_CASE("a waiter hears of a release that happened during its attempt", "[core][watch]")
{
    watch_world w{with_and_without_queue()};
    w.take_all();
    call& c = w.waiting();
    w.give_back_all();
    w.take_all();
    w.advance_until([&] { return w.sets() == counts{2, 2, 2}; });
    w.advance(way);
    w.give_back_all();  // after the refusal
    w.advance(7 * round_trip);
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
    watch_world w{with_and_without_queue(config)};
    w.take_all();
    call& c = w.acquire("r", {.timeout = 60s});
    w.advance(10s);
    CHECK(w.told().attempts == 1);
    CHECK(w.core->fair_queue().size() == 1);
    w.give_back_all();
    w.advance(6 * round_trip);
    CHECK(c.held != nullptr);
}

TEST_CASE("a waiter that replaces one that left takes over its wait", "[core][watch][line]")
{
    watch_world w{with_and_without_queue({.max_poll_interval = 20s})};
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
    CHECK(w.core->fair_queue().size() == 1);
    CHECK(w.told().waiters > 100);
    const std::size_t commands = w.all_commands();
    SECTION("and its notification")
    {
        w.give_back_all();
        w.advance(6 * round_trip);
        const auto had = std::count_if(calls.begin(), calls.end(),
                                       [](const call* c) { return c->held != nullptr; });
        CHECK(had == 1);
        CHECK(w.told().notified_attempts_granted == 1);
    }
    SECTION("and its next poll")
    {
        w.advance(5s);
        CHECK(w.told().attempts == 1);
        CHECK(w.all_commands() == commands);
        CHECK(w.told().waiters == 0);
        CHECK_FALSE(last.done());
        w.advance(12s);
        CHECK(w.told().attempts == 2);
        CHECK(w.told().polls == 1);
        w.advance(3 * round_trip);
        CHECK(w.core->fair_queue().size() == 1);
    }
    SECTION("even if that one was cancelled")
    {
        w.cancel(*calls[350]);
        w.advance(1s);
        CHECK(w.told().attempts == 1);
        CHECK(w.core->fair_queue().size() == 1);
        CHECK(w.all_commands() == commands);
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
        CHECK(w.all_commands() > commands);
        CHECK(w.core->fair_queue().size() == 1);
    }
}

TEST_CASE("a waiter replaces one without notifications by asking at once", "[core][watch][line]")
{
    config config;
    config.backoff = [](unsigned, std::chrono::nanoseconds) { return 10s; };
    config.release_notifications = GENERATE(false, true);
    watch_world w{without_queue(config)};
    w.take_all();
    call& first = w.acquire("r", {.timeout = 60s});
    w.acquire("r", {.timeout = 60s});
    w.advance(100ms);
    REQUIRE(w.told().attempts == 1);
    REQUIRE(w.core->fair_queue().size() == (config.release_notifications ? 1 : 0));
    w.cancel(first);
    w.advance(round_trip);
    CHECK(w.told().attempts == (config.release_notifications ? 1 : 2));
}

TEST_CASE("a waiter polls servers that send no notifications", "[core][watch]")
{
    config config = with_and_without_queue();
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
        call& c = w.acquire("r", {.timeout = 60s});
        w.advance(2s);
        CHECK(w.told().polls > 20);
        CHECK_FALSE(c.op->wait.is_watched);
        CHECK(w.told().node_errors == 0);
        // In a queue, all clients must rely on the same node.
        const unsigned asked = w.settings.fair_queue ? 1 : 3;
        CHECK(w.lines_with("sends no notifications") == asked);
        for (unsigned i = 0; i < asked; ++i) {
            // With the command that was sent after it.
            CHECK(w.count(w.order[i], "CLIENT") == 2);
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
        call& c = w.acquire("r", {.timeout = 60s});
        w.advance(2s);
        CHECK(w.told().polls > 20);
        CHECK_FALSE(c.op->wait.is_watched);
        CHECK(w.told().node_errors == 0);
        CHECK(w.lines_with("sends no notifications") == (w.settings.fair_queue ? 1 : 3));
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
    config config = with_and_without_queue();
    config.backoff_min = config.backoff_max = 50ms;
    const std::string what = GENERATE("CLIENT TRACKING", "CLIENT CACHING", "CLIENT");
    CAPTURE(what);
    watch_world w{config};
    w.refuse(what, "BUSY Redis is busy running a script.");
    w.take_all();
    call& c = w.acquire("r", {.timeout = 60s});
    w.advance(1s);
    CHECK_FALSE(c.op->wait.is_watched);
    CHECK(w.log_lines.empty());
    w.refuse_nothing();
    w.advance(100ms);
    CHECK(c.op->wait.is_watched);
    w.give_back_all();
    w.advance(8 * round_trip);
    CHECK(c.held != nullptr);
    CHECK(w.told().notified_attempts_granted == 1);
}

TEST_CASE("p43: a waiter does not poll all the time for a key that expires a little late",
          "[core][watch][pitfall][p43]")
{
    watch_world w{with_and_without_queue()};
    w.take_all(3s);
    call& c = w.waiting();
    const nanos later = w.settings.node_timeout * 4 / 5;
    w.take_all(3s - 3 * round_trip + later);  // as if the clock was set back
    w.advance(3s - 3 * round_trip);
    const std::uint64_t polls = w.told().polls;
    w.advance(later + 2 * round_trip);
    CHECK(w.told().polls - polls <= 3);
    CHECK(c.held != nullptr);
    CHECK(w.told().notifications_missed == 0);
}

TEST_CASE("a client stops asking for notifications if each request ends the connection",
          "[core][watch]")
{
    watch_world w{with_and_without_queue({.backoff_min = 50ms, .backoff_max = 50ms}), 1};
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
    watch_world w{with_and_without_queue(), 1};
    for (int i = 0; i < 8; ++i) {
        const std::string name = std::to_string(i);
        w.take_all(1h, name);
        (void)w.acquire(name, {.timeout = 1h});
    }
    w.advance_until([&] { return w.count(0, "PTTL") == 8; });
    w.close(0);
    w.advance(5s);
    CHECK(w.core->fair_queue().size() == 8);
}

TEST_CASE("a key on the watched node alone keeps a waiter from a majority for one poll interval",
          "[core][watch]")
{
    watch_world w{with_and_without_queue({.max_poll_interval = 500ms})};
    w.take_all();
    call& c = w.waiting();
    w.give_back(w.order[1]);
    w.give_back(w.order[2]);
    w.advance(100ms);
    CHECK(w.sets() == counts{1, 1, 1});
    w.advance(500ms);
    CHECK(c.held != nullptr);
    CHECK(w.told().polls == 1);
}

TEST_CASE("the next node notifies a waiter if the first one is down", "[core][watch]")
{
    watch_world w{with_and_without_queue()};
    w.peers[w.order[0]]->dial = peer::dialling::refused;
    w.close(w.order[0]);
    w.take_all();
    call& c = w.waiting();
    CHECK(w.last(w.order[1], 1) == std::vector<std::string>{"PTTL r"});
    w.give_back_all();
    w.advance(6 * round_trip);
    CHECK(c.held != nullptr);
    CHECK(w.told().polls == 0);
}

TEST_CASE("a waiter does not rely on a node in quarantine", "[core][watch][guard]")
{
    config config = with_and_without_queue();
    config.restart_guard = guard_config{.max_ttl = 1h, .admit_new_nodes = true};
    watch_world w{config};
    w.take_all();
    (void)w.waiting();
    (void)w.first().master.execute(w.now, w.other, {"FLUSHALL"});
    w.settle();
    // The attempt shows the loss to the client.
    w.advance_until([&] { return w.told().nodes_quarantined == 1; });
    w.advance(1s);
    CHECK(w.core->fair_queue().size() == 1);
    CHECK(w.last(w.order[1], 1) == std::vector<std::string>{"PTTL r"});
}

TEST_CASE("a waiter whose connection for notifications is lost polls soon and tracks the key again",
          "[core][watch]")
{
    watch_world w{with_and_without_queue({.backoff_max = 100ms, .max_poll_interval = 1h})};
    w.take_all();
    call& c = w.waiting();
    w.advance(10s);
    w.close(w.order[0]);
    CHECK_FALSE(c.op->wait.is_watched);
    SECTION("when the lock is free by then")
    {
        w.give_back_all();
        w.advance(100ms + 4 * round_trip);
        CHECK(c.held != nullptr);
    }
    SECTION("when the lock is held and the new connection notifies")
    {
        w.advance(200ms);
        CHECK(w.core->fair_queue().size() == 1);
        CHECK(w.last(w.order[0], 3).front() == "CLIENT TRACKING ON OPTIN NOLOOP");
        w.advance(1s);
        w.give_back_all();
        w.advance(6 * round_trip);
        CHECK(c.held != nullptr);
    }
}

TEST_CASE("very many waiters on a lost connection do not poll all at once", "[core][watch]")
{
    watch_world w{with_and_without_queue({.ping_interval = 0ms, .max_poll_interval = 1h}), 1};
    const unsigned many = 2000;
    for (unsigned i = 0; i < many; ++i) {
        const std::string name = std::to_string(i);
        w.take_all(1h, name);
        (void)w.acquire(name, {.timeout = 1h});
    }
    w.advance(3 * round_trip);
    REQUIRE(w.core->fair_queue().size() == many);
    const std::uint64_t before = w.told().attempts;
    lose_watches(w);
    w.advance(1s);
    CHECK(w.told().attempts - before <= many * 2 / 3);
    CHECK(w.told().attempts - before >= many / 4);
    w.advance(2s);
    CHECK(w.told().attempts - before >= many);
    CHECK(w.core->fair_queue().size() == many);
}

TEST_CASE("each of very many waiters on a lost connection polls within its deadline",
          "[core][watch]")
{
    watch_world w{with_and_without_queue({.ping_interval = 0ms, .max_poll_interval = 1h}), 1};
    const unsigned many = 4000;
    const unsigned hurried = 20;
    for (unsigned i = 0; i < many; ++i) {
        const std::string name = std::to_string(i);
        w.take_all(1h, name);
        (void)w.acquire(name, {.timeout = i < hurried ? 1000ms : 3'600'000ms});
    }
    w.advance(3 * round_trip);
    REQUIRE(w.core->fair_queue().size() == many);
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
    watch_world w{with_and_without_queue()};
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
}

TEST_CASE("a client takes any push as a hint only", "[core][watch]")
{
    watch_world w{without_queue({.key_prefix = "locks:"})};
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
    w.advance(8 * round_trip);
    const std::uint64_t of_all = is_of_all ? 1 : 0;
    CHECK(w.told().polls == 0);
    CHECK(w.told().notified_attempts_refused == of_all);
    CHECK(w.told().protocol_errors == 0);
    // About a key that still exists, three times.
    for (int i = 0; i < 3; ++i) {
        w.first().coming.push_back({w.now, ">2\r\n$10\r\ninvalidate\r\n*1\r\n$7\r\nlocks:r\r\n"});
    }
    w.settle();
    w.advance(8 * round_trip);
    CHECK_FALSE(c.done());
    CHECK(w.told().notified_attempts_refused == of_all + 1);
    for (unsigned i = 0; i < 3; ++i) {
        CHECK(w.peers[i]->master.value(w.now, "locks:r") == stranger);
    }
}

TEST_CASE("a waiter that ends leaves nothing", "[core][watch]")
{
    config config = with_and_without_queue();
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

TEST_CASE("an acquire that is cancelled during an attempt after a notification leaves nothing",
          "[core][watch]")
{
    watch_world w{with_and_without_queue()};
    w.take_all();
    call& c = w.waiting();
    w.give_back_all();
    w.advance_until([&] { return w.sets() == counts{2, 2, 2}; });
    w.cancel(c);
    CHECK(c.done());
    w.advance(4 * round_trip);
    CHECK(w.keys() == 0);
    CHECK(w.sets() == counts{2, 2, 2});
    CHECK(w.core->fair_queue().size() == 0);
}

TEST_CASE("an acquire after a notified one that was cancelled asks without a wait", "[core][watch]")
{
    watch_world w{without_queue()};
    w.take_all();
    call& c = w.waiting();
    w.give_back_all();
    w.advance(way);  // notified, and in its pause
    w.cancel(c);
    CHECK(c.done());
    call& next = w.acquire("r");
    w.advance(round_trip);
    REQUIRE(next.held != nullptr);
    CHECK(w.told().notified_attempts_granted == 0);
}

TEST_CASE("a waiter without a queue asks at a random time after a notification", "[core][watch]")
{
    watch_world w{without_queue()};
    w.take_all();
    (void)w.waiting();
    std::vector<nanos> delays;
    for (int i = 0; i < 100; ++i) {
        const counts asked = w.sets();
        w.give_back_all();
        w.take_all();
        const instant told = w.now + way;
        w.advance_until([&] { return w.sets() != asked; });
        delays.push_back(w.now - told);
        w.advance(2 * round_trip);
    }
    CHECK(std::ranges::max(delays) <= 4 * round_trip);
    CHECK(std::ranges::max(delays) > 3 * round_trip);
    CHECK(std::ranges::min(delays) < round_trip);
}

TEST_CASE("a release by the same client wakes a waiter too", "[core][watch]")
{
    watch_world w{with_and_without_queue({.max_poll_interval = 1h})};
    call& first = w.acquire(std::vector<std::string>{"r", "s"});  // loads the scripts
    w.advance(2 * round_trip);
    REQUIRE(first.held != nullptr);
    w.drop(*first.held);
    w.advance(4 * round_trip);
    call& before = w.acquire(std::vector<std::string>{"r", "s"});
    w.advance(2 * round_trip);
    REQUIRE(before.held != nullptr);
    call& c = w.waiting();
    w.drop(*before.held);
    w.advance(12 * round_trip);
    CHECK(c.held != nullptr);
    CHECK(w.told().notified_attempts_granted == 1);
}

TEST_CASE("a waiter without a queue relies on another node if the first one sends no notifications",
          "[core][watch]")
{
    watch_world w{without_queue()};
    w.first().master.refusals["CLIENT TRACKING"] = "NOPERM no permissions to run it";
    w.take_all();
    call& c = w.acquire("r", {.timeout = 60s});
    w.advance(500ms);
    REQUIRE(c.op->wait.is_watched);
    CHECK(w.last(w.order[1], 1) == std::vector<std::string>{"PTTL r"});
    const std::size_t polls = w.told().polls;
    w.give_back_all();
    w.advance(6 * round_trip);
    CHECK(c.held != nullptr);
    CHECK(w.told().polls == polls);
}
