#include "client_sim/timed_clients.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <optional>
#include <string>
#include <utility>

using namespace redlock;
using namespace redlock::test;
using namespace std::chrono_literals;

TEST_CASE("a client reports a loss within a second after the machine was suspended",
          "[client_sim][suspend]")
{
    timed_clients s;
    acquire_options o{.ttl = 60s};
    if (GENERATE(false, true)) {
        o.keep_alive.emplace();
    }
    lock held = s.take("r", o);
    std::optional<error_code> ended;
    held.async_wait_lost([&](error_code ec) { ended = ec; });
    // Somewhere between two renewals.
    CHECK_FALSE(s.run_for(GENERATE(0s, 3s, 10s), [&] { return ended.has_value(); }));
    s.clock.suspend(1h);
    CHECK(s.run_for(1s, [&] { return ended.has_value(); }));
    CHECK(ended == make_error_code(errc::lost));
}

TEST_CASE("an operation after a suspension ends in time whatever alarm was set before",
          "[client_sim][suspend]")
{
    timed_clients s(5s);
    {
        const lock warmed = s.take("r", {});
    }
    CHECK_FALSE(s.run_for(1s, [] { return false; }));
    // Beyond the time of the alarm, or not.
    s.clock.suspend(GENERATE(3s, 1h));
    for (sim_node& n : s.nodes) {
        n.freeze();
    }
    const base::instant begun = s.clock.now();
    std::optional<error_code> done;
    s.locks->async_acquire("r", {.max_attempts = 1}, [&](error_code ec, lock) { done = ec; });
    REQUIRE(s.run_for(10s, [&] { return done.has_value(); }));
    CHECK(done == make_error_code(errc::unavailable));
    CHECK(s.clock.now() - begun < 2 * config{}.node_timeout);
}

TEST_CASE("an operation from before a suspension ends within a second after it",
          "[client_sim][suspend]")
{
    timed_clients s;
    const lock held = s.take("r", {.ttl = 24h});
    std::optional<error_code> done;
    // In the wait queue.
    s.locks->async_acquire("r", {.timeout = 1h}, [&](error_code ec, lock) { done = ec; });
    CHECK_FALSE(s.run_for(3s, [&] { return done.has_value(); }));
    s.clock.suspend(2h);
    CHECK(s.run_for(1s, [&] { return done.has_value(); }));
    CHECK(done == make_error_code(errc::timed_out));
}

TEST_CASE("a close that waits for releases ends within a second after a suspension",
          "[client_sim][suspend]")
{
    timed_clients s;
    {
        const lock dropped = s.take("r", {.ttl = 24h});
        for (sim_node& n : s.nodes) {
            n.freeze();
        }
    }
    std::optional<error_code> closed;
    s.locks->async_close([&](error_code ec) { closed = ec; });
    // At any point of the wait before it reconnects.
    CHECK_FALSE(
        s.run_for(GENERATE(5s, 20s, 60s, 61s, 62s, 63s, 64s), [&] { return closed.has_value(); }));
    s.clock.suspend(2h);
    CHECK(s.run_for(1s, [&] { return closed.has_value(); }));
}

TEST_CASE("a client that ends after a suspension leaves no alarm", "[client_sim][suspend]")
{
    timed_clients s(5s);
    {
        const lock warmed = s.take("r", {});
    }
    CHECK_FALSE(s.run_for(1s, [] { return false; }));
    s.clock.suspend(1h);
    const base::instant begun = s.clock.now();
    std::optional<error_code> closed;
    s.locks->async_close([&](error_code ec) { closed = ec; });
    REQUIRE(s.run_for(10s, [&] { return closed.has_value() && s.io.outstanding() == 0; }));
    CHECK(s.clock.now() - begun < 1s);
}

TEST_CASE("a client without a waiter for a loss does not wake up every second",
          "[client_sim][suspend]")
{
    timed_clients s;
    lock held = s.take("r", {.ttl = 60s});
    CHECK_FALSE(s.run_for(10s, [] { return false; }));
    CHECK_FALSE((s.clock.has_events() && s.clock.next_event() < s.clock.now() + 5s));
}

TEST_CASE("a client has one timer and does not set it again for every deadline", "[client_sim]")
{
    timed_clients s;
    constexpr unsigned cycles = 500;
    for (unsigned i = 0; i < cycles; ++i) {
        std::optional<error_code> done;
        s.locks->async_acquire("r" + std::to_string(i), [&](error_code ec, lock l) {
            done = ec;
            lock dropped = std::move(l);
        });
        REQUIRE(s.run_for(10s, [&] { return done.has_value(); }));
    }
    CHECK(s.world->alarms == 1);
    // Each cycle has deadlines of its own, of two rounds to three nodes.
    CHECK(s.world->alarm_settings < cycles / 4);
}
