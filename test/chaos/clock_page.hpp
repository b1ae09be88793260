#pragma once

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
    std::atomic<std::int64_t> since;   ///< the instant for which `ahead` holds
    std::atomic<std::int64_t> ahead;   ///< what the clock was ahead then
    std::atomic<std::int64_t> faster;  ///< what it gains since, in millionths of the time

    [[nodiscard]] std::int64_t ahead_at(std::int64_t monotonic) const noexcept
    {
        // A division before the product: enough for years, and exact to a microsecond.
        return ahead.load(std::memory_order_relaxed) +
               (monotonic - since.load(std::memory_order_relaxed)) / 1'000 *
                   faster.load(std::memory_order_relaxed) / 1'000;
    }
};
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

}  // namespace redlock::chaos
