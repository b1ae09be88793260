#include "core/node/reconnection.hpp"

#include "context.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>

using namespace redlock;
using namespace redlock::test;
using namespace std::chrono_literals;
using base::nanos;
using core::connection_end;
using core::reconnection;

namespace {

config from_100_ms_to_10_s()
{
    config c;
    c.reconnect_backoff_min = 100ms;
    c.reconnect_backoff_max = 10s;
    return c;
}

constexpr connection_end after_a_failed_attempt{.was_fit = true, .by_peer = true, .was_idle = true};

constexpr connection_end ready_for(nanos lived)
{
    return {.was_ready = true, .was_fit = true, .by_peer = true, .was_idle = true, .lived = lived};
}

}  // namespace

TEST_CASE("each wait for a connection is between the least and three times the last",
          "[core][reconnection]")
{
    part_context c{from_100_ms_to_10_s()};
    reconnection r;
    // Half of the random part each time.
    CHECK(r.wait_after(after_a_failed_attempt, c.shared) == 200ms);
    CHECK(r.wait_after(after_a_failed_attempt, c.shared) == 350ms);
    CHECK(r.wait_after(after_a_failed_attempt, c.shared) == 575ms);
    for (int i = 0; i < 20; ++i) {
        CHECK(r.wait_after(after_a_failed_attempt, c.shared) <= 10s);
    }
    CHECK(r.wait_after(after_a_failed_attempt, c.shared) == 10s);
}

TEST_CASE("a connection that ends while it is idle is made again at once", "[core][reconnection]")
{
    part_context c{from_100_ms_to_10_s()};
    reconnection r;
    CHECK(r.wait_after(ready_for(500ms), c.shared) == 0ms);
    CHECK(r.wait_after(ready_for(499ms), c.shared) == 200ms);
    connection_end ended = ready_for(1h);
    ended.was_idle = false;
    CHECK(r.wait_after(ended, c.shared) == 200ms);  // it was well, so the waits begin again
    ended.by_peer = false;
    CHECK(r.wait_after(ended, c.shared) == 200ms);
    ended.lived = 9s;
    CHECK(r.wait_after(ended, c.shared) == 350ms);
    ended = ready_for(1h);
    ended.was_fit = false;
    CHECK(r.wait_after(ended, c.shared) == 575ms);
    ended = ready_for(1h);
    ended.by_peer = false;
    CHECK(r.wait_after(ended, c.shared) == 200ms);
}

TEST_CASE("an attempt that failed never counts as a connection that was well",
          "[core][reconnection]")
{
    part_context c{from_100_ms_to_10_s()};
    reconnection r;
    connection_end failed = ready_for(1h);
    failed.was_ready = false;
    CHECK(r.wait_after(failed, c.shared) == 200ms);
    CHECK(r.wait_after(failed, c.shared) == 350ms);
}

TEST_CASE("eight other addresses of a name are tried without a wait", "[core][reconnection]")
{
    part_context c{from_100_ms_to_10_s()};
    reconnection r;
    connection_end ended = after_a_failed_attempt;
    ended.has_other_addresses = true;
    for (int round = 0; round < 2; ++round) {
        for (int i = 0; i < 8; ++i) {
            CHECK(r.wait_after(ended, c.shared) == 0ms);
        }
        CHECK(r.wait_after(ended, c.shared) > 0ms);
    }
    ended.was_ready = true;
    CHECK(r.wait_after(ended, c.shared) > 0ms);
}
