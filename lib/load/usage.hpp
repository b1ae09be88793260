#pragma once

#include <cstdint>

namespace redlock::bench {

/// The resources that this process has used since it began.
struct usage {
    double cpu_seconds = 0;          ///< user and system time of all its threads
    std::uint64_t allocations = 0;   ///< calls of any operator new
    std::uint64_t peak_rss_kib = 0;  ///< the most memory it had at a time
};

[[nodiscard]] usage usage_now();

/// The memory of this process now.
[[nodiscard]] std::uint64_t resident_kib();

/// Calls of any operator new so far. Linking this replaces all of them by counting ones.
[[nodiscard]] std::uint64_t allocations() noexcept;

}  // namespace redlock::bench
