#pragma once

#include "base/instant.hpp"
#include "core/operation.hpp"
#include "sim/clock.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace redlock::sim {

/// An operation of the core, as its caller sees it.
struct call {
    core::operation::kind what{};
    std::uint64_t serial = 0;
    unsigned client = 0;
    unsigned task = 0;
    std::string resource;
    /// The owner token, of an operation on a lease; of an acquire that holds a lock of its owner
    /// once more: that lock's.
    std::string token;
    /// What that lock is of.
    std::string whole;
    /// In true time; and by when it is to have ended by its client's clock.
    instant begun;
    instant due;
    /// Until when its lease was believed in as it began, in true time.
    instant believed_until;
    /// Those of an acquire's attempts, in their order.
    std::vector<std::string> tokens;
    /// When the last of these was begun.
    instant attempted;
    /// When another one of its client was the last to ask for the resource before the first of
    /// these; `min`: none was.
    instant others_led = instant::min();
    /// The nodes that had its token then.
    std::uint32_t had_by = 0;
    // What was asked for.
    nanos ttl{};
    nanos min_validity{};
    nanos deadline{};
    core::operation* op = nullptr;
    core::lease* lease = nullptr;
    std::uint32_t attempts = 0;
    std::uint32_t most_attempts = unlimited;
    bool cancelled = false;
    /// Of an acquire: on behalf of an owner.
    bool owned = false;
    /// Of an acquire: it stands in line behind others of its client.
    bool may_wait = false;
    /// Of an acquire: the line that it wants to stand in has no room for it.
    bool is_too_many = false;
    /// Of a release: the lock is held besides.
    bool is_nested = false;
    /// Of a wait for a loss: the lock is kept alive, without a limit.
    bool is_kept = false;
};

/// What came of it.
struct ending {
    error_code error;
    release_result released{};
    inspection found;
    /// Of an acquire or adopt that succeeded.
    core::lease* held = nullptr;
};

}  // namespace redlock::sim
