#pragma once

#include "base/instant.hpp"
#include "core/node/context.hpp"

#include <chrono>
#include <cstdint>
#include <optional>

namespace redlock::core {

/// What is known of an attempt that was not granted.
struct failed_attempt {
    /// Attempts made so far.
    std::uint32_t attempts;
    /// The time that a majority takes to answer.
    base::nanos round_trip;
    /// Of the holder whose key ends first.
    std::optional<std::chrono::milliseconds> holder_ttl;
    /// No node could be asked: without a wait, the next attempt would find the same.
    bool asked_nobody;
    base::nanos time_left;
};

/// The time to the next attempt: full jitter under a bound that doubles, see
/// https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/, but at least a round
/// trip, so that two clients that have collided do not collide again; or what `config::backoff`
/// returns.
[[nodiscard]] base::nanos back_off(const failed_attempt& last, node_context& shared);

}  // namespace redlock::core
