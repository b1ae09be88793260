#pragma once

#include <redlock/report.hpp>
#include <redlock/result.hpp>

#include "base/instant.hpp"
#include "base/settings.hpp"
#include "core/votes.hpp"

#include <string_view>

namespace redlock::core {

struct round;

// The meaning of the answers to an inspect. A node that grants has the key, a node that refuses
// does not.

/// The verdict of an inspection. `won`: a majority has the key of one owner; `refused`: no majority
/// can have it.
[[nodiscard]] verdict outcome_of_inspection(const round& r) noexcept;
/// The result for the caller. `own_token`: the owner token that the caller asked about; may be
/// empty.
void conclude_inspection(const round& r, std::string_view own_token, const base::settings& s,
                         base::instant now, inspection& found);
/// Reports which nodes have a key of the same owner. No more of an owner token leaves the core.
void report_key_groups(const round& r, report& told) noexcept;

}  // namespace redlock::core
