#include "support/bad_network.hpp"
#include "support/locks.hpp"
#include "support/masters.hpp"
#include "support/proxy.hpp"

#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>

using namespace redlock;
using namespace redlock::test;
using namespace std::chrono_literals;

namespace asio = boost::asio;

namespace {

void cycle(locks& client, const std::string& resource)
{
    client.give_back(client.take(resource, {.ttl = 60s}));
}

/// Makes the client stop asking a node that doesn't answer.
void cycle_until_stalled(locks& client)
{
    cycle(client, "before");
    // The answers to the SET and to the release.
    REQUIRE(client.await([&] { return client.stats().node_timeouts == 2; }));
}

/// The number of cycles that took at least as long as one wait for a silent node.
int slow_cycles(locks& client, int count, std::chrono::milliseconds node_timeout)
{
    slow_steps steps(node_timeout);
    for (int i = 0; i < count; ++i) {
        steps.time([&] { cycle(client, "r" + std::to_string(i % 7)); });
    }
    return steps.count();
}

/// The number of keys apart from fencing counters.
bool has_no_locks(const server& node)
{
    const auto keys = node.ask({"KEYS", "*"}).items;
    return std::all_of(keys.begin(), keys.end(),
                       [](const reply& key) { return key.text.ends_with(":fencing"); });
}

}  // namespace

TEST_CASE("one stopped node of five leaves locks quick and queues no requests", "[servers]")
{
    masters nodes(5, {.kind = each_kind()});
    auto c = brisk(nodes.urls());
    c.node_timeout = 5s;
    c.stall_timeout = never;
    ready_locks mine(c);
    nodes[2].stop();
    cycle_until_stalled(mine);
    const auto stalled = mine.stats();
    // Each cycle that waits for the stopped node takes at least the node timeout.
    CHECK(slow_cycles(mine, 300, c.node_timeout) <= slow_steps::by_the_machine);
    CHECK(mine.stats().node_timeouts == stalled.node_timeouts);
    // If the client still asked the stopped node, it would have 600 more requests. The live nodes
    // answer soon.
    CHECK(mine.await([&] {
        const auto now = mine.stats();
        return now.unanswered <= stalled.unanswered &&
               now.buffered_bytes <= stalled.buffered_bytes &&
               now.pending_releases <= stalled.pending_releases;
    }));

    report told;
    lock held = mine.take("r", {.ttl = 60s, .report = &told});
    CHECK(told.nodes[2].outcome == node_outcome::stalled);
    mine.give_back(std::move(held));

    nodes[2].cont();
    REQUIRE(mine.await_quiet());
    CHECK(has_no_locks(nodes[2]));
    lock after = mine.take("r", {.ttl = 60s});
    REQUIRE(mine.await_quiet());
    CHECK(after.granted_by() == 5);
}

TEST_CASE("one slow link of three leaves locks quick and queues few requests", "[servers]")
{
    bad_network net(3);
    auto c = patient(net.urls());
    c.node_timeout = 5s;
    c.stall_timeout = never;
    c.ping_interval = 0ms;
    locks mine(c);
    REQUIRE(mine.await_ready(3));
    // At ten bytes a second a command takes twice its time, and the node answers it.
    net.paths[2]->split(direction::up, 1, 100ms);
    cycle_until_stalled(mine);
    const auto stalled = mine.stats();
    CHECK(slow_cycles(mine, 300, c.node_timeout) <= slow_steps::by_the_machine);
    // If the client still asked the slow node, 600 more requests would wait for it. The fast nodes
    // answer soon.
    CHECK(mine.await([&] {
        const auto now = mine.stats();
        return now.unanswered <= stalled.unanswered + 10 &&
               now.buffered_bytes <= stalled.buffered_bytes + 2 * 1024;
    }));
    CHECK(mine.stats().connects == 3);

    net.paths[2]->split(direction::up, proxy::no_limit);
    REQUIRE(mine.await_quiet());
    CHECK(has_no_locks(net.nodes[2]));
    lock after = mine.take("r", {.ttl = 60s});
    REQUIRE(mine.await_quiet());
    CHECK(after.granted_by() == 3);
}

TEST_CASE("p20: a stopped node that continues executes its requests and keeps no key",
          "[servers][pitfall][p20]")
{
    const bool connection_lives = GENERATE(true, false);
    masters nodes(3);
    ready_locks mine(connection_lives ? patient(nodes.urls()) : brisk(nodes.urls()));
    nodes[1].stop();
    mine.give_back(mine.take("r", {.ttl = 60s}));
    if (!connection_lives) {
        REQUIRE(mine.await([&] { return mine.stats().disconnects == 1; }));
    }
    nodes[1].cont();
    REQUIRE(mine.await_ready(3));
    REQUIRE(mine.await_quiet());
    CHECK(nodes.count("r") == 0);
    // Both commands must have arrived and set the counter. Otherwise the test shows nothing.
    CHECK(nodes[1].ask({"INFO", "commandstats"}).text.find("cmdstat_set:calls=2") !=
          std::string::npos);
}

TEST_CASE("a late grant of a stopped node counts for the lock that is still held", "[servers]")
{
    masters nodes(3);
    ready_locks mine(nodes.urls());
    nodes[1].stop();
    lock held = mine.take("r", {.ttl = 60s});
    CHECK(held.granted_by() == 2);
    nodes[1].cont();
    REQUIRE(mine.await([&] { return held.granted_by() == 3; }));
    CHECK(nodes[1].get("r") == std::string(held.owner_token()));
}

TEST_CASE("p44: an acquire with a majority stopped ends by its deadline and leaves no key",
          "[servers][pitfall][p44]")
{
    masters nodes(3);
    const auto c = brisk(nodes.urls(), patience / 2);
    ready_locks mine(c);
    nodes[0].stop();
    nodes[2].stop();
    // `longer` ends before the stall timeout, so an acquire that waits for that timeout ends later.
    // Each acquire below waits for one node timeout or for 300 ms, far less than its own `longer`.
    const auto ends_before_longer = [&](const acquire_options& options, errc error) {
        asio::cancellation_signal stop;
        const auto longer =
            mine.begin_acquire("s", {.ttl = 60s, .timeout = patience / 4}, stop.slot());
        CHECK(mine.acquire("r", options).error == error);
        CHECK_FALSE(longer->has_value());
        stop.emit(asio::cancellation_type::terminal);
        CHECK(mine.finish(longer).error == asio::error::operation_aborted);
    };
    report told;
    // On a busy machine the answer of the resumed node may be late.
    REQUIRE(wait_for([&] {
        const auto started = std::chrono::steady_clock::now();
        ends_before_longer({.ttl = 60s, .timeout = 0s, .report = &told}, errc::unavailable);
        CHECK(std::chrono::steady_clock::now() - started >= c.node_timeout);
        CHECK(told.attempts == 1);
        CHECK(told.nodes[0].outcome == node_outcome::timed_out);
        return told.nodes[1].outcome == node_outcome::granted;
    }));
    ends_before_longer({.ttl = 60s, .timeout = 300ms}, errc::timed_out);
    CHECK(mine.stats().disconnects == 0);
    nodes[0].cont();
    nodes[2].cont();
    REQUIRE(mine.await_quiet());
    CHECK(nodes.count("r") == 0);
    cycle(mine, "r");
}

TEST_CASE("p27: an extend that too few nodes answer is unknown and leaves the lease unchanged",
          "[servers][pitfall][p27]")
{
    masters nodes(3);
    ready_locks mine(brisk(nodes.urls(), patience));
    lock held = mine.take("r", {.ttl = 60s});
    const auto end = held.valid_until();
    nodes[0].stop();
    nodes[2].stop();
    CHECK(mine.extend(held, 120s) == errc::unavailable);
    CHECK(held.valid_until() == end);
    CHECK(held.owns());
    nodes[0].cont();
    nodes[2].cont();
    REQUIRE(mine.await_quiet());
    REQUIRE(wait_for([&] { return !mine.extend(held, 120s); }));
    CHECK(held.valid_until() > end);
}

TEST_CASE("p41: an inspection that no majority answers reports an unknown state",
          "[servers][pitfall][p41]")
{
    masters nodes(3);
    ready_locks mine(brisk(nodes.urls()));
    nodes[0].command({"SET", "r", "somebody", "PX", "60000"});
    nodes[1].stop();
    nodes[2].stop();
    // On a busy machine the answer of the first node may be late.
    inspected got;
    REQUIRE(wait_for([&] {
        got = mine.inspect("r");
        return got.found.agreeing == 1;
    }));
    const auto& [error, found] = got;
    CHECK_FALSE(error);
    CHECK(found.state == lock_state::unknown);
    CHECK(found.silent == 2);
}

TEST_CASE("a release that is repeated to a server without its keys counts as released", "[servers]")
{
    masters nodes(1);
    locks mine(nodes.urls());
    lock held = mine.take("r", {.ttl = 60s});
    nodes[0].stop();
    const auto begun = mine.begin_release(std::move(held));
    REQUIRE(mine.await([&] { return mine.stats().buffered_bytes == 0; }));
    nodes[0].kill();
    nodes[0].start(memory::lost);
    const auto given = mine.finish(begun);
    CHECK_FALSE(given.error);
    CHECK(given.result == release_result::released);
}

TEST_CASE("a client treats a server that pauses its clients as slow and not as lost", "[servers]")
{
    masters nodes(3, {.kind = each_kind()});
    auto c = patient(nodes.urls());
    c.node_timeout = brief_timeout;
    ready_locks mine(std::move(c));
    const auto pause = [&](std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            REQUIRE(nodes[i].command({"CLIENT", "PAUSE", "60000", "WRITE"}) == "OK");
        }
    };
    const auto unpause = [&] {
        for (std::size_t i = 0; i < 3; ++i) {
            REQUIRE(nodes[i].command({"CLIENT", "UNPAUSE"}) == "OK");
        }
    };
    pause(1);
    report told;
    lock held = mine.take("r", {.ttl = 60s, .report = &told});
    CHECK(held.granted_by() == 2);
    CHECK(told.nodes[0].outcome == node_outcome::undecided);
    REQUIRE(mine.await([&] { return mine.stats().node_timeouts >= 1; }));
    unpause();
    // The late answer counts.
    REQUIRE(mine.await([&] { return held.granted_by() == 3; }));
    REQUIRE_FALSE(mine.release(std::move(held)).error);
    REQUIRE(mine.await_quiet());

    pause(3);
    CHECK(mine.acquire("r", once(&told)).error == errc::unavailable);
    CHECK(mine.stats().node_timeouts >= 3);
    for (const node_report& n : told.nodes) {
        CHECK(n.outcome == node_outcome::timed_out);
    }
    const auto waiting = mine.begin_acquire("r", {.ttl = 60s, .timeout = never});
    unpause();
    CHECK_FALSE(mine.finish(waiting).error);
    CHECK(mine.stats().disconnects == 0);
}
