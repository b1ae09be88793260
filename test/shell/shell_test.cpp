#include "shell/play.hpp"

#include "base/settings.hpp"
#include "support/sanitizers.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cstdint>
#include <random>

using namespace redlock;
using namespace redlock::test;

namespace {

#if REDLOCK_TEST_SANITIZED
constexpr unsigned share = 10;  // of the seeds; each takes so much longer
#else
constexpr unsigned share = 1;
#endif

verdict all_well(std::uint64_t first, unsigned count)
{
    const verdict sum = play_all(first, count);
    INFO("seed " << sum.seed << ": " << sum.failure);
    INFO("to repeat it: test-shell --seed " << sum.seed << " --trace");
    REQUIRE(sum.failure.empty());
    return sum;
}

}  // namespace

TEST_CASE("whatever its users and its context do, a client keeps its promises", "[shell]")
{
    constexpr unsigned count = 2000 / share;
    const verdict sum = all_well(1, count);
    CAPTURE(sum);
    // They are about something.
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

TEST_CASE("so it does with seeds that nobody has seen", "[shell]")
{
    constexpr unsigned count = 500 / share;
    const std::uint64_t first = 1'000'000 + std::random_device()();
    WARN("seeds " << first << " to " << first + count - 1);
    all_well(first, count);
}
