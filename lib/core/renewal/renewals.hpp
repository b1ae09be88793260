#pragma once

#include <redlock/error.hpp>
#include <redlock/keep_alive.hpp>
#include <redlock/report.hpp>

#include "base/instant.hpp"
#include "core/lease.hpp"
#include "core/node/context.hpp"
#include "core/operation.hpp"
#include "core/pool.hpp"
#include "core/renewal/renewal.hpp"
#include "core/timer_heap.hpp"

#include <cstddef>
#include <memory>

namespace redlock::core {

/// The outcome of a renewal, for `config::on_renewal`.
struct renewal_news {
    /// Counted; released by `renewals::forget`.
    lease* of = nullptr;
    renewal_outcome outcome = renewal_outcome::renewed;
    std::unique_ptr<redlock::report> report{};
};

/// Acts on leases for the renewals.
class renewal_listener {
public:
    /// The validity of the lease has ended.
    virtual void on_expired(lease& l) noexcept = 0;
    /// The lease should be extended for `ttl`. Calls `renewals::on_begun`. May throw
    /// `std::bad_alloc`.
    virtual void on_due(renewal& k, base::nanos ttl) = 0;
    /// The renewal under way must end.
    virtual void on_abandoned(operation& renewal, error_code why) noexcept = 0;
    /// The end that the operation has waited for has come.
    virtual void on_end(operation& wait, error_code why) noexcept = 0;

protected:
    ~renewal_listener() = default;
};

/// Renews the leases that holds want to keep, notices when the validity of a lease ends, and
/// reports that end to the callers that wait for it.
class renewals {
public:
    /// All arguments must outlive the object.
    renewals(node_context& shared, renewal_listener& listener)
        : shared_(shared),
          settings_(shared.settings),
          listener_(listener)
    {}

    /// A record for a lease that a caller waits for, or wants to keep. May throw `std::bad_alloc`.
    [[nodiscard]] renewal& create();
    [[nodiscard]] renewal& create(const keep_alive& how, base::nanos ttl);
    /// Takes back a record that was not used.
    void discard(renewal& unused) noexcept { records_.give(unused); }

    /// Begins to watch a held lease.
    void begin(renewal& k, lease& l) noexcept;
    /// Begins to renew the lease of the hold as `request` says.
    void keep(renewal& request, lease& hold) noexcept;
    /// The hold has ended, and others go on.
    void end_hold(lease& hold) noexcept;
    /// The lease has ended. Does nothing if the lease has no record. If the validity has ended
    /// before, the lease is lost for its waiters.
    void end(lease& l, error_code why) noexcept;
    void end_all(error_code why) noexcept;
    /// Adds an operation that waits for the end of a watched lease.
    void add_waiter(operation& op, lease& l) noexcept;
    /// False: the end has come already.
    [[nodiscard]] bool remove_waiter(operation& op) noexcept;

    /// Reports leases that have expired, and queues renewals that are due.
    void on_time() noexcept;
    /// Begins the renewals that are due, as far as there is room. False: none was begun.
    bool renew_due() noexcept { return !turns_.empty() && begin_due(); }
    /// The operation has begun to renew the lease.
    void on_begun(renewal& k, operation& renewal) noexcept;
    /// The renewal of the lease has succeeded, or its outcome is not known.
    void on_renewed(renewal& k, base::nanos ttl) noexcept;
    void on_unknown(renewal& k, base::nanos ttl) noexcept;
    /// The operation of a renewal, which may have been abandoned, is over.
    void on_finished() noexcept { --under_way_; }
    /// Time from a renewal that failed to the next one.
    [[nodiscard]] base::nanos spacing(base::nanos ttl) noexcept;

    /// The oldest outcome that was not reported yet. False: there is none.
    [[nodiscard]] bool take_news(renewal_news& told) noexcept;
    void forget(const renewal_news& told) noexcept { shared_.unref(*told.of); }
    [[nodiscard]] std::size_t news() const noexcept { return news_.size(); }

    [[nodiscard]] bool empty() const noexcept { return watched_.empty(); }
    [[nodiscard]] base::instant next() const noexcept
    {
        return watched_.empty() ? base::instant::max() : watched_.next();
    }
    [[nodiscard]] std::size_t records_in_use() const noexcept { return records_.in_use(); }

private:
    bool begin_due() noexcept;
    [[nodiscard]] static bool has_asked(renewal& k) noexcept;
    void rest(renewal& k) noexcept;
    void stop_renewals(renewal& k) noexcept;
    void abandon(renewal& k, error_code why) noexcept;
    void leave_turn(renewal& k) noexcept;
    void leave_news(renewal& k) noexcept;
    void end_wait(operation& op, error_code why) noexcept;
    void forget_if_idle(renewal& k) noexcept;
    void forget_unless_news(renewal& k) noexcept;
    void end_keeping(renewal& k, error_code why) noexcept;
    void renew(renewal& k) noexcept;
    void announce(renewal& k, renewal_outcome what) noexcept;
    [[nodiscard]] base::nanos life_wanted(const renewal& k) const noexcept;
    [[nodiscard]] base::instant next_renewal(base::instant end, base::nanos ttl) noexcept;

    node_context& shared_;
    const base::settings& settings_;
    renewal_listener& listener_;
    pool<renewal> records_;
    /// By the instant at which their leases expire or need a renewal.
    timer_heap watched_;
    renewal_queue turns_;
    renewal_reports news_;
    std::size_t under_way_ = 0;
};

}  // namespace redlock::core
