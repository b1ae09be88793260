#include "client_sim/play.hpp"

#include "base/settings.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <random>

using namespace redlock;
using namespace redlock::test;

namespace {

/// REDLOCK_SIM_SEEDS of CMake, which ctest passes on, divided by `part`.
unsigned share_of_seeds(unsigned part)
{
    const char* const text = std::getenv("REDLOCK_SIM_SEEDS");
    const unsigned long all = text != nullptr ? std::strtoul(text, nullptr, 10) : 5000;
    return static_cast<unsigned>(all / part);
}

verdict all_well(std::uint64_t first, unsigned count)
{
    const verdict sum = play_all(first, count);
    INFO("seed " << sum.seed << ": " << sum.failure);
    INFO("to repeat it: test-client_sim --seed " << sum.seed << " --trace");
    REQUIRE(sum.failure.empty());
    return sum;
}

}  // namespace

TEST_CASE("a client keeps its promises for anything that its users and its context do",
          "[client_sim]")
{
    // Fewer seeds would miss some kind of event that is counted below.
    const unsigned count = std::max(200u, share_of_seeds(10));
    const verdict sum = all_well(1, count);
    CAPTURE(sum);
    // The plays test something.
    for (const unsigned often : {sum.handlers, sum.locks, sum.closed, sum.aborted}) {
        CHECK(often > count);
    }
    for (const unsigned now_and_then :
         {sum.abandoned, sum.thrown, sum.bodies, sum.stopped, sum.renewed}) {
        CHECK(now_and_then > count / 8);
    }
    CHECK(sum.losses > count / 25);
    CHECK(sum.nested > count / 200);
    CHECK(sum.ends_told > count / 50);
    if (base::built_with_tls == base::tls_support::present) {
        CHECK(sum.encrypted > count / 16);
        CHECK(sum.locks_encrypted > count / 16);
    }
}

TEST_CASE("a client keeps its promises with fresh seeds too", "[client_sim]")
{
    const unsigned count = std::max(1u, share_of_seeds(40));
    const std::uint64_t first = 1'000'000 + std::random_device()();
    WARN("seeds " << first << " to " << first + count - 1);
    all_well(first, count);
}
