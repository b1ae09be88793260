#pragma once

#include "cli/doctor/facts.hpp"

#include <redlock/clock.hpp>

#include <chrono>
#include <optional>
#include <vector>

namespace redlock::cli {

/// This machine's date, read once. So a later change of the date doesn't make the nodes' dates seem
/// apart.
class our_date {
public:
    our_date() noexcept;
    [[nodiscard]] std::chrono::system_clock::time_point at(boot_clock::time_point t) const noexcept
    {
        return at_boot_ + t.time_since_epoch();
    }

private:
    std::chrono::system_clock::time_point at_boot_{};
};

/// One PING followed by TIME.
struct sample {
    boot_clock::time_point sent{};
    boot_clock::time_point answered{};
    /// This machine's date when the answer arrived.
    std::chrono::system_clock::time_point date{};
    /// The node's date. Empty if the user isn't permitted to run TIME.
    std::optional<std::chrono::microseconds> node_date{};
};

/// The latencies and the clock that the samples show. The samples must be in the order in which
/// they were taken.
[[nodiscard]] latency_facts latency_of(const std::vector<sample>& samples);

/// The node's clock relative to this machine's. Empty if the node didn't report its date. The
/// shortest round trips determine the precision, because the node may have read its clock at any
/// moment of a round trip.
[[nodiscard]] std::optional<clock_facts> clock_of(const std::vector<sample>& samples);

}  // namespace redlock::cli
