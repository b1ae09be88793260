#pragma once

#include "base/instant.hpp"
#include "core/operation.hpp"

namespace redlock::core {

// What a report says of the place of an acquire. What it says of nodes stays as it is.

void report_place(const operation& op) noexcept;
/// The same, and that another owner holds the key until `end`; an `end` that has passed, or
/// `unknown_end`: that is not known.
void report_holder(const operation& op, base::instant end, base::instant now) noexcept;
/// Of an operation that was cancelled, nothing is reported.
void clear_report(const operation& op) noexcept;

}  // namespace redlock::core
