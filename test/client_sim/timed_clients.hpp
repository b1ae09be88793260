#pragma once

#include "client_sim/clockwork.hpp"
#include "client_sim/sim_context.hpp"
#include "client_sim/sim_node.hpp"
#include "client_sim/sim_world.hpp"

#include <redlock/client.hpp>

#include <boost/asio/detached.hpp>

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace redlock::test {

/// A client of three nodes, another client on another context, and time that passes only on demand.
struct timed_clients {
    explicit timed_clients(std::chrono::milliseconds ping_interval = {})
        : ping_interval_(ping_interval)
    {
        world->spare_entropy();
        for (unsigned i = 0; i < 3; ++i) {
            nodes.emplace_back(clock).master.run_id.front() = static_cast<char>('0' + i);
        }
        begin(io, locks);
    }

    void begin(sim_context& c, std::optional<client>& begun)
    {
        asio::make_service<engine::environment_service>(c, world);
        config settings;
        settings.nodes = {"redis://10.0.0.1", "redis://10.0.0.2", "redis://10.0.0.3"};
        settings.ping_interval = ping_interval_;
        settings.close_timeout = std::chrono::hours{1};
        begun.emplace(c.get_executor(), settings);
        begun->async_run(asio::detached);
    }

    [[nodiscard]] lock take(std::string_view resource, const acquire_options& o)
    {
        std::optional<error_code> done;
        lock taken;
        locks->async_acquire(resource, o, [&](error_code ec, lock l) {
            done = ec;
            taken = std::move(l);
        });
        REQUIRE(run_for(std::chrono::seconds{10}, [&] { return done.has_value(); }));
        REQUIRE_FALSE(*done);
        return taken;
    }

    /// Runs until `done` is true, or nothing is left to happen within `span`. Time passes even if a
    /// context is always busy.
    template <class Predicate>
    [[nodiscard]] bool run_for(base::nanos span, Predicate done)
    {
        const base::instant end = clock.now() + span;
        while (!done()) {
            if (clock.has_events() && clock.next_event() <= clock.now()) {
                clock.advance();
            } else if (elsewhere.is_ready()) {
                elsewhere.step();
            } else if (io.is_ready() && clock.now() <= end) {
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
    sim_context elsewhere{clock, 2, {}};
    std::optional<client> locks;
    std::optional<client> others;

private:
    const std::chrono::milliseconds ping_interval_;
};

}  // namespace redlock::test
