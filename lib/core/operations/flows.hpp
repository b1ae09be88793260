#pragma once

#include <redlock/error.hpp>

#include "base/instant.hpp"
#include "core/lease.hpp"
#include "core/operation.hpp"
#include "core/operations/context.hpp"
#include "core/operations/flow.hpp"
#include "core/renewal/renewal.hpp"
#include "core/round.hpp"

namespace redlock::core {

// The coroutines of operations, one file each. Each ends with `operation_context::finish`, but an
// acquire that `run_hold` goes on with. To begin one may throw `std::bad_alloc`.

flow run_acquire(operation_context& c, operation& op);
flow run_adopt(operation_context& c, operation& op);
flow run_extend(operation_context& c, operation& op);
/// One more hold of the lease that the owner of an acquire holds: `op.subject` is within it.
flow run_hold(operation_context& c, operation& op);
flow run_inspect(operation_context& c, operation& op);
flow run_release(operation_context& c, operation& op);

/// Begins an acquire that has waited in the queue without a coroutine.
void start_acquire(operation_context& c, operation& op) noexcept;
/// The lock was granted, and its validity ended before the caller was told: the acquire goes on, as
/// after any attempt that was granted too late. False: it has ended with `op.error`.
bool acquire_again(operation_context& c, operation& op) noexcept;
/// Whether a lock that is valid until `end` is valid for long enough.
[[nodiscard]] bool is_worth_having(const operation& op, base::instant end,
                                   base::instant now) noexcept;
/// What the answers to an extend mean for the lease.
[[nodiscard]] error_code conclude_extend(operation_context& c, lease& l, const round& r);

/// Extends a kept lease, for no caller. May throw `std::bad_alloc`.
void begin_renewal(operation_context& c, renewal& k, base::nanos ttl);
/// Memory has run out.
void fail_renewal(operation_context& c, operation& op) noexcept;

}  // namespace redlock::core
