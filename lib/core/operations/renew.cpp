#include "core/coordinator.hpp"
#include "core/waits.hpp"

#include <memory>
#include <new>
#include <utility>

// Renewals, waits for a loss, and the loss itself.
namespace redlock::core {

using base::instant;

void coordinator::on_due(keeper& k, base::nanos ttl)
{
    operation& op = new_operation(operation::kind::renew, nullptr);
    ref(*k.of);
    op.subject = k.of;
    op.ttl = ttl;
    op.keeper = &k;
    renewals_.on_begun(k, op);
    try {
        run_renewal(op);
    } catch (...) {
        end_renewal(op);
        throw;
    }
}

void coordinator::on_end(operation& wait, error_code why) noexcept
{
    wait.error = why;
    (why == errc::lost ? losses_ : finished_).push_back(wait);
}

flow coordinator::run_renewal(operation& op)
{
    {
        const held_round r{*this, new_round(op, round_kind::extend)};
        rounds_.fan_out(*r);
        co_await verdict_of{*r};
        if (op.keeper != nullptr) {
            op.keeper->failure = report_of_failure(op, *r);
            conclude_renewal(*op.keeper, *r);
        }
    }
    end_renewal(op);
}

/// For `config::on_renewal`; null: the renewal has succeeded, or there is no memory for a report.
std::unique_ptr<report> coordinator::report_of_failure(operation& op, const round& r) const noexcept
{
    if (r.details == nullptr || rounds_.outcome_of(r) == verdict::won) {
        return nullptr;
    }
    try {
        auto made = std::make_unique<redlock::report>();
        op.report = made.get();
        fill_report(op, r);
        op.report = nullptr;
        return made;
    } catch (const std::bad_alloc&) {
        op.report = nullptr;
        return nullptr;
    }
}

/// Ends a renewal that was not abandoned.
void coordinator::conclude_renewal(keeper& k, const round& r) noexcept
{
    lease& l = *k.of;
    k.asking = nullptr;
    const error_code ec = l.valid_until() <= shared_.now ? leases_.lose(l) : conclude_extend(l, r);
    if (!ec) {
        renewals_.on_renewed(k, r.ttl);
    } else if (ec != errc::lost) {
        renewals_.on_unknown(k, r.ttl);
    }
}

/// Memory ran out on its way.
void coordinator::fail_renewal(operation& op) noexcept
{
    if (op.keeper != nullptr) {
        renewals_.on_unknown(*op.keeper, op.ttl);
    }
    end_renewal(op);
}

void coordinator::end_renewal(operation& op) noexcept
{
    unref(*std::exchange(op.subject, nullptr));
    op.keeper = nullptr;
    renewals_.on_finished();
    recycle(op);
}

operation& coordinator::wait_lost(instant now, lease& given)
{
    shared_.now = now;
    lease& l = given.root();
    operation& op = new_operation(operation::kind::wait_lost, nullptr);
    ref(given);
    op.subject = &given;
    if (l.left || l.given_back || given.given_back) {
        // Left without memory it may be given back before this was begun.
        finish(op, errc::not_held);
        return op;
    }
    if (l.lost || l.valid_until() <= shared_.now) {
        finish(op, leases_.lose(l));
        run();
        return op;
    }
    if (l.kept_by == nullptr) {
        try {
            renewals_.begin(renewals_.create(), l);
        } catch (...) {
            unref(given);
            recycle(op);
            throw;
        }
    }
    renewals_.add_waiter(op, l);
    return op;
}

/// Ends the wait for a loss, unless it has ended already.
void coordinator::stop_waiting(operation& op, error_code why) noexcept
{
    if (renewals_.remove_waiter(op)) {
        finish(op, why);
    }
}

}  // namespace redlock::core
