#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace redlock::chaos {

/// The name of the variable that tells a server's process where its page is.
inline constexpr const char* clock_page_variable = "REDLOCK_CHAOS_CLOCK";

/**
 * How wrong a server's wall clock is, in a mapped file that the director writes and the shim within
 * the server reads. Odd versions are being written. Nanoseconds; the instant is one of
 * CLOCK_MONOTONIC.
 */
struct clock_page {
    std::atomic<std::uint32_t> version;
    std::atomic<std::int64_t> since;     ///< the instant for which `ahead` holds
    std::atomic<std::int64_t> ahead;     ///< what the clock was ahead then
    std::atomic<std::int64_t> faster;    ///< what it gains since, in millionths of the time
    std::atomic<std::int64_t> farthest;  ///< how far off it may come by that, forward or back

    [[nodiscard]] std::int64_t ahead_at(std::int64_t monotonic) const noexcept
    {
        const auto then = ahead.load(std::memory_order_relaxed);
        const auto most = farthest.load(std::memory_order_relaxed);
        // A division before the product: enough for years, and exact to a microsecond.
        const auto gained = (monotonic - since.load(std::memory_order_relaxed)) / 1'000 *
                            faster.load(std::memory_order_relaxed) / 1'000;
        return std::clamp(then + gained, std::min(then, -most), std::max(then, most));
    }
};
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

}  // namespace redlock::chaos
