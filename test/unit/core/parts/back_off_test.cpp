#include "core/contention/back_off.hpp"

#include "context.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

using namespace redlock;
using namespace redlock::test;
using namespace std::chrono_literals;
using base::nanos;
using core::back_off;
using core::failed_attempt;

namespace {

config from_10_to_80_ms()
{
    config c;
    c.backoff_min = 10ms;
    c.backoff_max = 80ms;
    return c;
}

failed_attempt after(std::uint32_t attempts)
{
    return {.attempts = attempts,
            .round_trip = 2ms,
            .holder_ttl = {},
            .asked_nobody = false,
            .time_left = 1h};
}

}  // namespace

TEST_CASE("a back-off is a round trip and a part of a bound that doubles", "[core][back_off]")
{
    part_context c{from_10_to_80_ms()};
    CHECK(back_off(after(1), c.shared) == 2ms + 5ms);
    CHECK(back_off(after(2), c.shared) == 2ms + 10ms);
    CHECK(back_off(after(3), c.shared) == 2ms + 20ms);
    CHECK(back_off(after(4), c.shared) == 2ms + 40ms);
    CHECK(back_off(after(5), c.shared) == 2ms + 40ms);
    CHECK(back_off(after(4'000'000'000), c.shared) == 2ms + 40ms);
}

TEST_CASE("a back-off takes no round trip for longer than node_timeout", "[core][back_off]")
{
    part_context c{from_10_to_80_ms()};
    failed_attempt slow = after(1);
    slow.round_trip = 1h;
    CHECK(back_off(slow, c.shared) == c.settings.node_timeout + 5ms);
}

TEST_CASE("without a back-off, only an attempt that asked nobody waits", "[core][back_off]")
{
    config none;
    none.backoff_min = none.backoff_max = 0ms;
    part_context c{none};
    failed_attempt last = after(3);
    CHECK(back_off(last, c.shared) == 0ns);
    last.asked_nobody = true;
    CHECK(back_off(last, c.shared) == 1ms);
}

TEST_CASE("a back-off ends soon after the holder's key", "[core][back_off]")
{
    part_context c{from_10_to_80_ms()};
    failed_attempt last = after(4);
    last.holder_ttl = 30ms;
    CHECK(back_off(last, c.shared) == 30ms + 1ms);
    last.holder_ttl = 0ms;
    CHECK(back_off(last, c.shared) == 1ms + 1ms);
    last.holder_ttl = 1min;
    CHECK(back_off(last, c.shared) == 2ms + 40ms);
}

TEST_CASE("a back-off leaves time for an attempt", "[core][back_off]")
{
    part_context c{from_10_to_80_ms()};
    failed_attempt last = after(4);
    last.time_left = 10ms;
    CHECK(back_off(last, c.shared) == 5ms);
}

TEST_CASE("config::backoff gets the wait of the client and may replace it", "[core][back_off]")
{
    std::vector<std::pair<std::uint32_t, nanos>> asked;
    config own = from_10_to_80_ms();
    nanos answer = 3ms;
    own.backoff = [&](unsigned attempts, nanos wait) {
        asked.emplace_back(attempts, wait);
        return answer;
    };
    part_context c{own};
    CHECK(back_off(after(2), c.shared) == 3ms);
    answer = -1ms;
    CHECK(back_off(after(1), c.shared) == 0ns);
    CHECK(asked == std::vector<std::pair<std::uint32_t, nanos>>{{2, 12ms}, {1, 7ms}});
}

TEST_CASE("an exception of config::backoff is logged, and the client's wait stands",
          "[core][back_off]")
{
    std::vector<std::string> lines;
    config own = from_10_to_80_ms();
    own.backoff = [](unsigned, nanos) -> nanos { throw std::runtime_error("no idea"); };
    own.log = [&](log_level, std::string_view line) { lines.emplace_back(line); };
    part_context c{own};
    CHECK(back_off(after(1), c.shared) == 7ms);
    CHECK(lines == std::vector<std::string>{"config::backoff threw an exception: no idea"});
}
