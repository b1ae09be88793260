#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace redlock::cli {

/// Formats a duration with about two digits in a suitable unit: "0.08 ms", "3.2 s", "4 days".
[[nodiscard]] std::string span_text(std::chrono::nanoseconds span);

/// Formats a share in per cent, or in millionths if it is small: "1.3 %", "12 ppm".
[[nodiscard]] std::string share_text(double share);

/// Formats a size: "512 KiB".
[[nodiscard]] std::string bytes_text(std::uint64_t bytes);

/// Formats a count with its noun: "1 replica", "2 replicas".
[[nodiscard]] std::string count_text(std::uint64_t count, const char* noun);

/// Formats a list in a sentence: "a", "a and b", "a, b and c".
[[nodiscard]] std::string listed(const std::vector<std::string>& all);

/// The values that must be the same for all clients of a restart guard, in command-line form.
[[nodiscard]] std::string guard_text(std::uint64_t nodes, std::chrono::nanoseconds max_ttl,
                                     std::int64_t drift_ppb);

}  // namespace redlock::cli
