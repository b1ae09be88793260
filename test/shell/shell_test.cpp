#include "shell/play.hpp"

#include "base/settings.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cstdint>
#include <random>

using namespace redlock;
using namespace redlock::test;

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr unsigned share = 10;  // of the seeds; each takes so much longer
#else
constexpr unsigned share = 1;
#endif

/// Plays so many seeds from `first` on; the first that fails ends it.
verdict play_all(std::uint64_t first, unsigned count)
{
    verdict sum;
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
        const verdict v = play_twice(seed);
        INFO("seed " << seed << ": " << v.failure);
        INFO("to repeat it: test-shell --seed " << seed << " --trace");
        REQUIRE(v.failure.empty());
        sum += v;
    }
    return sum;
}

}  // namespace

TEST_CASE("whatever its users and its context do, a client keeps its promises", "[shell]")
{
    constexpr unsigned count = 2000 / share;
    const verdict sum = play_all(1, count);
    CAPTURE(sum);
    // They are about something.
    for (const unsigned often : {sum.handlers, sum.locks, sum.closed, sum.aborted}) {
        CHECK(often > count);
    }
    for (const unsigned now_and_then : {sum.abandoned, sum.thrown}) {
        CHECK(now_and_then > count / 4);
    }
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
    play_all(first, count);
}
