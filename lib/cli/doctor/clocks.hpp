#pragma once

#include "base/settings.hpp"
#include "cli/doctor/facts.hpp"

#include <optional>
#include <string>
#include <vector>

namespace redlock::cli {

/// Of all nodes the two whose clocks are farthest apart, and by how much: in nanoseconds of their
/// dates, or as a share of the time by which one gains on the other. This machine's clock, which
/// both were looked at by, cancels out.
struct clock_gap {
    std::string ahead;  ///< the node that is ahead, or gains
    std::string behind;
    double apart = 0;
    double precision = 0;
    /// No two nodes are farther apart than that.
    double at_most = 0;

    /// More than what the round trips leave open.
    [[nodiscard]] bool is_certain() const noexcept { return apart > precision; }
};

/// Empty: fewer than two of them could be looked at for it.
[[nodiscard]] std::optional<clock_gap> widest_date_gap(const std::vector<node_facts>& nodes);
[[nodiscard]] std::optional<clock_gap> widest_rate_gap(const std::vector<node_facts>& nodes);

/// The nodes' clocks against each other.
struct clock_comparison {
    std::optional<clock_gap> dates{};
    std::optional<clock_gap> rates{};
    /// No majority agrees about the date, and fencing tokens need one that does.
    bool dates_matter = false;
    /// By more than the drift that is allowed, as far as can be told.
    bool rates_matter = false;
    /// For each of the two that is known a line, that says whether it matters.
    std::vector<std::string> lines{};
};

[[nodiscard]] clock_comparison compare_clocks(const std::vector<node_facts>& nodes,
                                              const base::settings& s);

}  // namespace redlock::cli
