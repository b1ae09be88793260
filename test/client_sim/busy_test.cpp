#include "client_sim/timed_clients.hpp"

#include <boost/asio/post.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

using namespace redlock;
using namespace redlock::test;
using namespace std::chrono_literals;

namespace {

constexpr auto ttl = 10s;

/// Clients, one of them on a context that is always busy: its handlers take some time each and
/// repeat.
struct busy_clients : timed_clients {
    ~busy_clients() { jobs = 0; }

    /// An event of the context waits for this many handlers.
    void be_busy(unsigned handlers, base::nanos each)
    {
        jobs = handlers;
        for (unsigned i = 0; i < handlers; ++i) {
            work(i, each);
        }
    }

    void work(unsigned which, base::nanos each)
    {
        asio::post(io.get_executor(), [this, which, each] {
            clock.lag(each);
            if (which < jobs) {
                work(which, each);
            }
        });
    }

    /// Lets the other client keep asking for the lock.
    void contend()
    {
        begin(elsewhere, others);
        const acquire_options o{.ttl = ttl, .timeout = 10min, .fencing = false};
        others->async_acquire("r", o, [this](error_code ec, lock l) {
            REQUIRE_FALSE(ec);
            had_by_others = clock.now();
            theirs = std::move(l);
        });
        REQUIRE(run_for(1s, [&] { return others->stats().nodes_ready == 3; }));
    }

    /// The node refuses extends from then on.
    void refuse_extends()
    {
        for (sim_node& n : nodes) {
            n.master.refusals["EVALSHA"] = "OOM not now";
        }
    }

    unsigned jobs = 0;
    lock theirs;
    std::optional<base::instant> had_by_others;
};

}  // namespace

TEST_CASE("p32: a busy program renews late and counts that and keeps its lock",
          "[client_sim][pitfall][p32]")
{
    busy_clients s;
    const lock held = s.take("r", {.ttl = ttl, .keep_alive = keep_alive{}});
    s.contend();
    REQUIRE_FALSE(s.run_for(2 * ttl, [&] { return !held.owns(); }));
    CHECK(s.locks->stats().renewed >= 6);
    CHECK(s.locks->stats().late_renewals == 0);
    // A renewal waits for the alarm's handler, and its answers wait for theirs.
    s.be_busy(100, 1ms);
    REQUIRE_FALSE(s.run_for(20 * ttl, [&] { return !held.owns(); }));
    CHECK(s.locks->stats().late_renewals >= 40);
    CHECK(s.locks->stats().renewed >= 46);
    CHECK(s.locks->stats().kept_alive_lost == 0);
    CHECK_FALSE(s.had_by_others);
}

TEST_CASE("p32: a busy program hears of a loss in time before another client has the lock",
          "[client_sim][pitfall][p32]")
{
    busy_clients s;
    lock held = s.take("r", {.ttl = ttl, .keep_alive = keep_alive{}});
    std::optional<base::instant> told;
    held.async_wait_lost([&](error_code ec) {
        CHECK(ec == errc::lost);
        CHECK_FALSE(s.had_by_others);
        told = s.clock.now();
    });
    s.be_busy(5, 5ms);
    s.contend();
    s.refuse_extends();
    const auto end = held.valid_until();
    REQUIRE(s.run_for(2 * ttl, [&] { return told.has_value(); }));
    // The alarm and the handlers after it each wait for all busy handlers.
    CHECK(boot_clock::now() >= end);
    CHECK(boot_clock::now() < end + 2 * 5 * 5ms + 5ms);
    CHECK(s.run_for(ttl, [&] { return s.had_by_others.has_value(); }));
    CHECK(s.locks->stats().renewal_unknown >= 2);
}

TEST_CASE("p32: a program too busy to hear of a loss does not own a lock of another client",
          "[client_sim][pitfall][p32]")
{
    busy_clients s;
    lock held = s.take("r", {.ttl = ttl, .keep_alive = keep_alive{}});
    std::optional<error_code> told;
    held.async_wait_lost([&](error_code ec) { told = ec; });
    s.be_busy(100, 200ms);  // together they take longer than the ttl
    s.contend();
    REQUIRE(s.run_for(3 * ttl, [&] { return s.had_by_others.has_value(); }));
    CHECK_FALSE(held.owns());
    CHECK(s.theirs.owns());
    REQUIRE(s.run_for(10 * ttl, [&] { return told.has_value(); }));
    CHECK(told == make_error_code(errc::lost));
    CHECK(s.locks->stats().renewed == 0);
}
