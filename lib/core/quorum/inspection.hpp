#pragma once

#include "core/votes.hpp"

namespace redlock::core {

struct round;

/// The verdict of an inspection. `won`: a majority has the key of one owner; `refused`: no majority
/// can have it.
[[nodiscard]] verdict outcome_of_inspection(const round& r) noexcept;

}  // namespace redlock::core
