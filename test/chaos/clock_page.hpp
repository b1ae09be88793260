#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace redlock::chaos {

/// The environment variable with the path of a server's page.
inline constexpr const char* clock_page_variable = "REDLOCK_CHAOS_CLOCK";

/**
 * The error of a server's wall clock, in a mapped file that the director writes and the shim within
 * the server reads. While the version is odd, the director is writing. Times are in nanoseconds,
 * the instant is one of CLOCK_MONOTONIC.
 */
struct clock_page {
    std::atomic<std::uint32_t> version;
    std::atomic<std::int64_t> since;     ///< the instant for which `ahead` holds
    std::atomic<std::int64_t> ahead;     ///< the error of the clock at that instant
    std::atomic<std::int64_t> faster;    ///< its gain since then, in millionths of the time
    std::atomic<std::int64_t> farthest;  ///< the limit of its error, forward or back

    [[nodiscard]] std::int64_t ahead_at(std::int64_t monotonic) const noexcept
    {
        const auto then = ahead.load(std::memory_order_relaxed);
        const auto most = farthest.load(std::memory_order_relaxed);
        // The division before the product is enough for years and exact to a microsecond.
        const auto gained = (monotonic - since.load(std::memory_order_relaxed)) / 1'000 *
                            faster.load(std::memory_order_relaxed) / 1'000;
        return std::clamp(then + gained, std::min(then, -most), std::max(then, most));
    }
};
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

}  // namespace redlock::chaos
