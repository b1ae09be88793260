#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace redlock::cli {

/// "0.08 ms", "3.2 s", "4 days": two digits, in the unit that suits it.
[[nodiscard]] std::string span_text(std::chrono::nanoseconds span);

/// A share in per cent, or in millionths where it is small: "1.3 %", "12 ppm".
[[nodiscard]] std::string share_text(double share);

/// "512 KiB".
[[nodiscard]] std::string bytes_text(std::uint64_t bytes);

/// "1 replica", "2 replicas".
[[nodiscard]] std::string count_text(std::uint64_t count, const char* noun);

/// What all clients of a restart guard have alike, as it is given on the command line.
[[nodiscard]] std::string guard_text(std::uint64_t nodes, std::chrono::nanoseconds max_ttl,
                                     std::int64_t drift_ppb);

}  // namespace redlock::cli
