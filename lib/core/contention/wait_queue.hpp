#pragma once

#include "core/lease.hpp"
#include "core/operation.hpp"

namespace redlock::core {

/**
 * The acquires of one client that wait for one resource, the oldest first.
 *
 * The lease that has the resource, or whose acquire asks the nodes for it, leads: it is in the
 * `leader_table`, and has the queue while there is one. At its end the queue goes to the first
 * waiter.
 */
struct wait_queue {
    operation_queue waiting;
    lease* leader = nullptr;
};

}  // namespace redlock::core
