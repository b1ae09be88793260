#include "shell/clockwork.hpp"
#include "shell/sim_context.hpp"
#include "shell/sim_node.hpp"
#include "shell/sim_world.hpp"

#include <redlock/client.hpp>

#include <boost/asio/detached.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

using namespace redlock;
using namespace redlock::test;
using namespace std::chrono_literals;

namespace {

constexpr auto ttl = 60s;

/// A client of three masters, and time that goes by when it is told to.
struct suspendable {
    suspendable()
    {
        for (unsigned i = 0; i < 3; ++i) {
            nodes.emplace_back(clock).master.run_id.front() = static_cast<char>('0' + i);
        }
        asio::make_service<engine::world_service>(io, world);
        config c;
        c.nodes = {"redis://10.0.0.1", "redis://10.0.0.2", "redis://10.0.0.3"};
        c.ping_interval = 0ms;
        locks.emplace(io.get_executor(), c);
        locks->async_run(asio::detached);
    }

    [[nodiscard]] lock take(acquire_options o)
    {
        o.ttl = ttl;
        std::optional<error_code> done;
        lock taken;
        locks->async_acquire("r", o, [&](error_code ec, lock l) {
            done = ec;
            taken = std::move(l);
        });
        REQUIRE(run_for(10s, [&] { return done.has_value(); }));
        REQUIRE_FALSE(*done);
        return taken;
    }

    /// Until `done` says yes, or nothing is left to happen within `span`.
    template <class Predicate>
    [[nodiscard]] bool run_for(base::nanos span, Predicate done)
    {
        const base::instant end = clock.now() + span;
        while (!done()) {
            if (io.is_ready()) {
                io.step();
            } else if (clock.has_events() && clock.next_event() <= end) {
                clock.advance();
            } else {
                return false;
            }
        }
        return true;
    }

    clockwork clock{1, nullptr};
    std::deque<sim_node> nodes;
    std::shared_ptr<sim_world> world = std::make_shared<sim_world>(clock, nodes);
    sim_context io{clock, 1, {}};
    std::optional<client> locks;
};

}  // namespace

TEST_CASE("a loss is told within a second behind a suspend of the machine", "[shell][suspend]")
{
    suspendable s;
    acquire_options o;
    if (GENERATE(false, true)) {
        o.keep_alive.emplace();
    }
    lock held = s.take(o);
    std::optional<error_code> ended;
    held.async_wait_lost([&](error_code ec) { ended = ec; });
    // Somewhere between two renewals.
    CHECK_FALSE(s.run_for(GENERATE(0s, 3s, 10s), [&] { return ended.has_value(); }));
    s.clock.suspend(1h);
    CHECK(s.run_for(1s, [&] { return ended.has_value(); }));
    CHECK(ended == make_error_code(errc::lost));
}

TEST_CASE("nothing is due every second while nobody is to hear of a loss", "[shell][suspend]")
{
    suspendable s;
    lock held = s.take({});
    CHECK_FALSE(s.run_for(10s, [] { return false; }));
    CHECK_FALSE((s.clock.has_events() && s.clock.next_event() < s.clock.now() + 5s));
}

TEST_CASE("a client has one timer, which is not set anew for every deadline", "[shell]")
{
    suspendable s;
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
    // Each cycle has deadlines of its own, of two rounds to three masters.
    CHECK(s.world->alarm_settings < cycles / 4);
}
