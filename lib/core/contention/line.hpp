#pragma once

#include "base/instant.hpp"
#include "core/contention/stint.hpp"
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
    stint of_client;
};

}  // namespace redlock::core
