#pragma once

#include <redlock/stats.hpp>

#include "base/instant.hpp"
#include "core/node/node.hpp"
#include "core/operation.hpp"
#include "core/round.hpp"

namespace redlock::core {

// The report of an operation, if its caller asked for one.

/// Fills in the report after a round.
void fill_report(const operation& op, const round& r, const node_list& nodes, base::instant now);
/// Fills in the report of an acquire whose time was over before a majority could be asked: why not.
void report_no_attempt(const operation& op, const node_list& nodes);
/// Updates the report of an acquire whose time was over before its next turn. The part about nodes
/// stays.
void report_place(const operation& op) noexcept;
/// The same, and reports that another owner holds the key until `end`. An `end` that has passed,
/// and `unknown_end`, are not reported.
void report_holder(const operation& op, base::instant end, base::instant now) noexcept;
/// Empties the report of a cancelled operation.
void clear_report(const operation& op) noexcept;

/// Counts an operation that has ended.
void count_outcome(const operation& op, redlock::stats& counts) noexcept;

}  // namespace redlock::core
