#pragma once

#include <redlock/stats.hpp>

#include "base/instant.hpp"
#include "core/node/node.hpp"
#include "core/operation.hpp"
#include "core/round.hpp"

namespace redlock::core {

// The report of an operation, if its caller asked for one.

/// After a round.
void fill_report(const operation& op, const round& r, const node_list& nodes, base::instant now);
/// Its time was over before a majority could be asked: says why not.
void report_no_attempt(const operation& op, const node_list& nodes);
/// Its time was over before its turn, or before its next one. What the report says of nodes stays.
void report_place(const operation& op) noexcept;
/// The same, and that another owner holds the key until `end`; an `end` that has passed, or
/// `unknown_end`: that is not known.
void report_holder(const operation& op, base::instant end, base::instant now) noexcept;
/// Of an operation that was cancelled, nothing is reported.
void clear_report(const operation& op) noexcept;

/// Counts an operation that has ended.
void count_outcome(const operation& op, redlock::stats& counts) noexcept;

}  // namespace redlock::core
