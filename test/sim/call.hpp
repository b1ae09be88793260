#pragma once

#include "base/instant.hpp"
#include "core/operation.hpp"
#include "sim/clock.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace redlock::sim {

/// An operation of the core from its caller's view.
struct call {
    core::operation::kind what{};
    std::uint64_t serial = 0;
    unsigned client = 0;
    unsigned task = 0;
    std::string resource;
    /// The owner token: of the lease that the operation is about. For an acquire that takes a
    /// further hold, the token of that lock.
    std::string token;
    /// All resources of that lock.
    std::string whole;
    /// `begun` is in true time; `due` is the latest end by the client's clock.
    instant begun;
    instant due;
    /// In true time: when the validity of the lease ended, as known at the beginning of the call.
    instant believed_until;
    /// The owner tokens of an acquire's attempts in their order.
    std::vector<std::string> tokens;
    /// When the last attempt began.
    instant attempted;
    /// When another acquire of the client last asked for the resource before the first of these
    /// attempts. `min`: never.
    instant others_led = instant::min();
    /// The nodes that had the owner token at that time.
    std::uint32_t had_by = 0;
    // The options of the call.
    nanos ttl{};
    nanos min_validity{};
    nanos deadline{};
    core::operation* op = nullptr;
    core::lease* lease = nullptr;
    std::uint32_t attempts = 0;
    std::uint32_t most_attempts = unlimited;
    bool cancelled = false;
    /// An acquire that has a reentrant owner.
    bool owned = false;
    /// An acquire that may wait in the wait queue of its client.
    bool may_wait = false;
    /// An acquire whose wait queue is full.
    bool is_too_many = false;
    /// A release of a lock that has further holds.
    bool is_nested = false;
    /// A wait for the loss of a lock that is kept alive without a limit.
    bool is_kept = false;
};

/// The result of a call.
struct ending {
    error_code error;
    release_result released{};
    inspection found;
    /// The lease of an acquire or adopt that succeeded.
    core::lease* held = nullptr;
};

}  // namespace redlock::sim
