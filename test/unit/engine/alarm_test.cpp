#include "engine/environment.hpp"
#include "support/allocation_count.hpp"
#include "support/run.hpp"

#include <boost/asio/io_context.hpp>

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <memory>
#include <new>

using namespace redlock;
using namespace std::chrono_literals;

namespace {

struct counted final : engine::alarm_events {
    void on_alarm() override { ++told; }
    unsigned told = 0;
};

/// The alarm of a client, set to `first`. An earlier wait of the same turn still holds its memory.
struct busy_alarm {
    explicit busy_alarm(base::nanos first)
    {
        alarm->set(24h, whom);
        alarm->set(first, whom);
    }

    void set_without_memory(base::nanos after)
    {
        test::failing_allocations memory(0, 1000);
        const test::failing_allocations::in here(memory);
        alarm->set(after, whom);
    }

    /// Runs until the alarm rings or no wait is left.
    void run()
    {
        while (whom->told == 0 && io.run_one_for(test::patience) > 0) {
        }
    }

    boost::asio::io_context io{1};
    std::shared_ptr<counted> whom = std::make_shared<counted>();
    std::unique_ptr<engine::alarm> alarm =
        engine::make_system_environment()->make_alarm(io.get_executor());
};

}  // namespace

TEST_CASE("an alarm without memory to be set later rings at its old time", "[alarm]")
{
    busy_alarm a(20ms);
    CHECK_THROWS_AS(a.set_without_memory(24h), std::bad_alloc);
    CHECK(a.alarm->left() <= 20ms);
    a.run();
    CHECK(a.whom->told == 1);
    CHECK(a.io.poll() == 0);
}

TEST_CASE("an alarm without memory to be set earlier rings at once and only once", "[alarm]")
{
    busy_alarm a(24h);
    CHECK_THROWS_AS(a.set_without_memory(1h), std::bad_alloc);
    a.run();
    CHECK(a.whom->told == 1);
    CHECK(a.io.poll() == 0);
    // The memory of both waits is free again.
    a.io.restart();
    a.whom->told = 0;
    a.set_without_memory(0s);
    a.run();
    CHECK(a.whom->told == 1);
}

TEST_CASE("an alarm that is cancelled or set again before it rings at once stays silent", "[alarm]")
{
    busy_alarm a(24h);
    CHECK_THROWS_AS(a.set_without_memory(1h), std::bad_alloc);
    SECTION("cancelled")
    {
        a.alarm->cancel();
    }
    SECTION("set again")
    {
        a.alarm->set(24h, a.whom);
        a.alarm->cancel();
    }
    a.run();
    CHECK(a.whom->told == 0);
}
