#pragma once

#include "cli/doctor/facts.hpp"

#include <redlock/clock.hpp>

#include <chrono>
#include <optional>
#include <vector>

namespace redlock::cli {

/// This machine's date, looked at once: whoever sets it afterwards does not move the nodes' dates
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

/// One PING with a TIME behind it.
struct sample {
    boot_clock::time_point sent{};
    boot_clock::time_point answered{};
    /// This machine's date when the answer came.
    std::chrono::system_clock::time_point date{};
    /// The node's date; empty: it may not be asked.
    std::optional<std::chrono::microseconds> node_date{};
};

/// What the samples say of a node, in the order in which they were taken.
[[nodiscard]] latency_facts latency_of(const std::vector<sample>& samples);

/// Nothing, where the node did not tell its date. How precise it is depends on the shortest round
/// trips, of which the node may have looked at its clock at any moment.
[[nodiscard]] std::optional<clock_facts> clock_of(const std::vector<sample>& samples);

}  // namespace redlock::cli
