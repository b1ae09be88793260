#include "load/histogram.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

using redlock::bench::histogram;
using std::chrono::nanoseconds;

namespace {

/// The sample of a share of the samples itself.
double exactly(const std::vector<std::int64_t>& sorted, double p)
{
    const auto rank = static_cast<std::size_t>(std::ceil(p * static_cast<double>(sorted.size())));
    return static_cast<double>(sorted[rank == 0 ? 0 : rank - 1]) / 1000.0;
}

}  // namespace

TEST_CASE("a percentile is within 0.4 % of the samples' percentile", "[bench]")
{
    std::mt19937_64 random(7);
    // Latencies of 3 us to 3 s, as many of each magnitude.
    std::uniform_real_distribution<double> magnitude(std::log(3e3), std::log(3e9));
    histogram one;
    histogram other;
    std::vector<std::int64_t> all;
    for (int i = 0; i < 100'000; ++i) {
        const auto ns = static_cast<std::int64_t>(std::exp(magnitude(random)));
        (i % 3 == 0 ? one : other).add(nanoseconds{ns});
        all.push_back(ns);
    }
    std::sort(all.begin(), all.end());
    one.merge(other);
    CHECK(one.count() == all.size());
    for (const double p : {0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 1.0}) {
        const double truth = exactly(all, p);
        CHECK(std::abs(one.percentile_us(p) - truth) <= 0.004 * truth);
    }
}

TEST_CASE("samples at the ends of the scale and beyond are counted", "[bench]")
{
    histogram h;
    CHECK(h.percentile_us(0.5) == 0);
    h.add(nanoseconds{-5});
    h.add(nanoseconds{0});
    h.add(std::chrono::hours{1});
    CHECK(h.count() == 3);
    CHECK(h.percentile_us(0.5) < 1.1);
    CHECK(h.percentile_us(1) > 60e6);
    h.reset();
    CHECK(h.count() == 0);
    CHECK(h.percentile_us(1) == 0);
}
