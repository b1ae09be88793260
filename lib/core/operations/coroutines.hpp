#pragma once

#include <redlock/error.hpp>

#include "base/instant.hpp"
#include "core/lease.hpp"
#include "core/operation.hpp"
#include "core/operations/context.hpp"
#include "core/operations/operation_coroutine.hpp"
#include "core/renewal/renewal.hpp"
#include "core/round.hpp"

namespace redlock::core {

// The coroutines of operations, one file each. Each ends with `operation_context::finish`, except
// an acquire that goes on as `run_hold`. Each may throw `std::bad_alloc` when it begins.

operation_coroutine run_acquire(operation_context& c, operation& op);
operation_coroutine run_adopt(operation_context& c, operation& op);
operation_coroutine run_extend(operation_context& c, operation& op);
/// A further hold of a lease that the owner of the acquire holds: `op.subject` is within it.
operation_coroutine run_hold(operation_context& c, operation& op);
operation_coroutine run_inspect(operation_context& c, operation& op);
operation_coroutine run_release(operation_context& c, operation& op);

/// Begins an acquire that has waited in the queue without a coroutine.
void start_acquire(operation_context& c, operation& op) noexcept;
/// The lock was granted, but its validity ended before the acquire completed. The acquire goes on,
/// as after any attempt that was granted too late. False: it has ended with `op.error`.
bool acquire_again(operation_context& c, operation& op) noexcept;
/// Whether a lock that is valid until `end` is valid for long enough.
[[nodiscard]] bool is_worth_having(const operation& op, base::instant end,
                                   base::instant now) noexcept;
/// Updates the lease after an extend was decided. Returns the error of the extend.
[[nodiscard]] error_code conclude_extend(operation_context& c, lease& l, const round& r);

/// Extends a kept lease, for no caller. May throw `std::bad_alloc`.
void begin_renewal(operation_context& c, renewal& k, base::nanos ttl);
/// Ends a renewal that has run out of memory.
void fail_renewal(operation_context& c, operation& op) noexcept;

}  // namespace redlock::core
