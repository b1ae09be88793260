#pragma once

#include "base/instant.hpp"
#include "core/lease.hpp"
#include "core/operation.hpp"

namespace redlock::core {

/**
 * Those of one client that want one resource and wait for their turn, the oldest first.
 *
 * Who has the resource, or asks the masters for it, leads: a lease that stands in `leading`, and
 * that has the line while there is one. With its end the line goes to the first who waits.
 */
struct line {
    operation_queue waiting;
    /// Who leads.
    lease* behind = nullptr;
    /// How often the resource went from one of the client to the next since other clients were last
    /// let in, and when it first did.
    unsigned hand_overs = 0;
    base::instant since{};
    /// The masters refused somebody of the client, who led or asked without waiting.
    bool met_others = false;
    /// Other clients go first until then.
    base::instant rests_until{};
};

}  // namespace redlock::core
