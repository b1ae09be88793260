#pragma once

#include <redlock/error.hpp>

#include "base/settings.hpp"
#include "core/contention/contention.hpp"
#include "core/contention/fair_queue.hpp"
#include "core/leases.hpp"
#include "core/node/context.hpp"
#include "core/node/node.hpp"
#include "core/operation.hpp"
#include "core/pool.hpp"
#include "core/quorum/availability.hpp"
#include "core/quorum/rounds.hpp"
#include "core/renewal/renewals.hpp"
#include "core/round.hpp"
#include "core/scheduler.hpp"

namespace redlock::core {

/// The parts of a client that the coroutines of its operations work with.
struct operation_context {
    node_context& shared;
    const base::settings& settings;
    const node_list& nodes;
    core::scheduler& scheduler;
    core::availability& availability;
    core::contention& contention;
    core::fair_queue& fair_queue;
    core::rounds& rounds;
    core::renewals& renewals;
    core::leases& leases;
    frame_pool frames{};

    /// A round of the operation, with one reference. May throw `std::bad_alloc`.
    [[nodiscard]] round& begin_round(const operation& op, round_kind what, bool asks_ttl = false);
    /// Another lease of the same resources for the operation. May throw `std::bad_alloc`.
    lease& change_lease(operation& op);
    /// A lease for a new attempt, to which no unanswered command refers. Commands of an earlier
    /// attempt may still refer to the present one. May throw `std::bad_alloc`.
    [[nodiscard]] lease& take_unused_lease(operation& op);

    /// The operation can go on.
    void resume(operation& op) noexcept
    {
        contention.leave_queue(op);
        scheduler.resume(op);
    }
    /// The operation has ended. The engine completes it next.
    void finish(operation& op, error_code ec) noexcept;
    /// Ends a cancelled operation.
    void give_up(operation& op) noexcept;
    /// Lets operations go on and due renewals begin, until each of them waits.
    void run() noexcept;
    /// The operation will not be used any more.
    void recycle(operation& op) noexcept;
};

}  // namespace redlock::core
