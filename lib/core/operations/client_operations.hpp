#pragma once

#include <redlock/config.hpp>
#include <redlock/error.hpp>
#include <redlock/report.hpp>
#include <redlock/resource_names.hpp>

#include "base/instant.hpp"
#include "base/owner_token.hpp"
#include "core/lease.hpp"
#include "core/operation.hpp"
#include "core/operations/context.hpp"
#include "core/operations/operation_coroutine.hpp"

#include <cstddef>
#include <string_view>

namespace redlock::core {

/**
 * The operations of callers: begins them, cancels them, and passes them back at their end.
 *
 * The engine has validated the arguments. Each function that begins an operation may throw
 * `std::bad_alloc`; no operation has begun then. An operation is valid until the engine takes it
 * from take_finished() and calls `recycle`.
 */
class client_operations {
public:
    explicit client_operations(operation_context& c) noexcept : c_(c) {}

    operation& acquire(base::instant now, const resource_names& names, const acquire_options& o);
    operation& adopt(base::instant now, const resource_names& names, const base::owner_token& owner,
                     base::nanos ttl, report* r);
    operation& extend(base::instant now, lease& l, base::nanos ttl, report* r);
    /// Takes over the caller's reference to the lease.
    operation& release(base::instant now, lease& l, report* r);
    operation& inspect(base::instant now, std::string_view resource, const inspect_options& o);
    /// Completes with `lost`, or with `not_held` when the lease is released or detached.
    operation& wait_lost(base::instant now, lease& l);
    /// The operation completes with `operation_aborted`, unless it is decided already.
    void cancel(base::instant now, operation& op) noexcept;
    /// The lock object is gone: releases the lease, for no caller. Takes over the caller's
    /// reference.
    void drop(base::instant now, lease& l) noexcept;
    /// Forgets a lease without a release. Takes over the caller's reference.
    void detach(base::instant now, lease& l) noexcept;

    /// Takes an operation that has ended; the engine must complete it at once. The lease of a
    /// success may have ended since, as after a suspension of the process. Then the success becomes
    /// an error, or an acquire goes on.
    [[nodiscard]] operation* take_finished(base::instant now) noexcept;
    [[nodiscard]] std::size_t finished() const noexcept { return c_.scheduler.finished(); }
    /// The number of finished waits for a loss, which are taken before all others.
    [[nodiscard]] std::size_t losses() const noexcept { return c_.scheduler.losses(); }
    /// The number of callers' operations that were not recycled.
    [[nodiscard]] std::size_t size() const noexcept
    {
        return c_.scheduler.size() - c_.scheduler.count_of(operation::kind::renew);
    }
    /// Whether `config::max_in_flight` lets one more begin.
    [[nodiscard]] bool has_room_for(operation::kind what) const noexcept;
    /// Whether the reentrant owner of such an acquire holds the resources already.
    [[nodiscard]] bool is_held_by_owner(const resource_names& names,
                                        const acquire_options& o) const;
    void recycle(operation& op) noexcept { c_.recycle(op); }

    // The core.
    /// Ends all operations but releases with `closed`. A lock that is granted later is not kept
    /// alive.
    void close() noexcept;
    /// Ends all operations with `closed`.
    void stop() noexcept;
    /// Ends an operation, unless it is decided already.
    void call_off(operation& op, error_code why) noexcept;

private:
    template <class Which>
    void call_off_all(Which which) noexcept;
    [[nodiscard]] operation& new_operation(operation::kind what, const resource_names& names,
                                           report* r);
    void begin(operation& op, operation_coroutine (*body)(operation_context&, operation&));
    void set_options(operation& op, const acquire_options& o);
    bool settle_success(operation& op) noexcept;
    void stop_waiting(operation& op, error_code why) noexcept;

    operation_context& c_;
    bool is_closed_ = false;
};

}  // namespace redlock::core
