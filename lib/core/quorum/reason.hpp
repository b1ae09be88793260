#pragma once

#include <redlock/error.hpp>

#include "core/round.hpp"
#include "core/votes.hpp"

namespace redlock::core {

/// Why the attempt was not granted, which is the error of the acquire if the attempt was its last.
[[nodiscard]] errc reason_of(const round& attempt, verdict v) noexcept;

}  // namespace redlock::core
