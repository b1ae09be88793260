#pragma once

#include "base/settings.hpp"
#include "cli/doctor/facts.hpp"

#include <optional>
#include <string>
#include <vector>

namespace redlock::cli {

/// The two nodes whose clocks are farthest apart, and the difference: in nanoseconds for dates, or
/// as a share of the time for rates. This machine's clock measured both nodes, so its error cancels
/// out.
struct clock_gap {
    std::string ahead;  ///< the node that is ahead, or gains
    std::string behind;
    double apart = 0;
    double precision = 0;
    /// An upper bound for the difference between any two nodes.
    double at_most = 0;

    /// Whether the difference exceeds what the round trips leave open.
    [[nodiscard]] bool is_certain() const noexcept { return apart > precision; }
};

/// The widest gap between two dates, and between two rates. Empty if fewer than two nodes could be
/// measured.
[[nodiscard]] std::optional<clock_gap> widest_date_gap(const std::vector<node_facts>& nodes);
[[nodiscard]] std::optional<clock_gap> widest_rate_gap(const std::vector<node_facts>& nodes);

/// The comparison of all nodes' clocks.
struct clock_comparison {
    std::optional<clock_gap> dates{};
    std::optional<clock_gap> rates{};
    /// No majority agrees about the date, and fencing tokens need one.
    bool dates_matter = false;
    /// Two rates differ by more than the allowed drift, beyond the measurement's uncertainty.
    bool rates_matter = false;
    /// One line for the dates and one for the rates, if they are known. Each line says whether the
    /// difference matters.
    std::vector<std::string> lines{};
};

[[nodiscard]] clock_comparison compare_clocks(const std::vector<node_facts>& nodes,
                                              const base::settings& s);

}  // namespace redlock::cli
