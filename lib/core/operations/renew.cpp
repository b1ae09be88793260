#include "core/operations/coroutines.hpp"
#include "core/operations/waits.hpp"
#include "core/quorum/reports.hpp"

#include <memory>
#include <new>
#include <utility>

namespace redlock::core {

namespace {

/// For `config::on_renewal`; null: the renewal has succeeded, or there is no memory for a report.
std::unique_ptr<report> report_of_failure(operation_context& c, operation& op,
                                          const round& r) noexcept
{
    if (r.details == nullptr || c.rounds.outcome_of(r) == verdict::won) {
        return nullptr;
    }
    try {
        auto made = std::make_unique<redlock::report>();
        op.report = made.get();
        fill_report(op, r, c.nodes, c.shared.now);
        op.report = nullptr;
        return made;
    } catch (const std::bad_alloc&) {
        op.report = nullptr;
        return nullptr;
    }
}

/// Ends a renewal that was not abandoned.
void conclude_renewal(operation_context& c, renewal& k, const round& r) noexcept
{
    lease& l = *k.of;
    k.asking = nullptr;
    const error_code ec =
        l.valid_until() <= c.shared.now ? c.leases.lose(l) : conclude_extend(c, l, r);
    if (!ec) {
        c.renewals.on_renewed(k, r.ttl);
    } else if (ec != errc::lost) {
        c.renewals.on_unknown(k, r.ttl);
    }
}

void end_renewal(operation_context& c, operation& op) noexcept
{
    c.shared.unref(*std::exchange(op.subject, nullptr));
    op.renewal = nullptr;
    c.renewals.on_finished();
    c.recycle(op);
}

operation_coroutine run_renewal(operation_context& c, operation& op)
{
    {
        const held_round r{c.shared, c.begin_round(op, round_kind::extend)};
        c.rounds.fan_out(*r);
        co_await verdict_of{*r};
        if (op.renewal != nullptr) {
            op.renewal->failure = report_of_failure(c, op, *r);
            conclude_renewal(c, *op.renewal, *r);
        }
    }
    end_renewal(c, op);
}

}  // namespace

void begin_renewal(operation_context& c, renewal& k, base::nanos ttl)
{
    operation& op = c.scheduler.begin(operation::kind::renew, nullptr);
    ++k.of->references;
    op.subject = k.of;
    op.ttl = ttl;
    op.renewal = &k;
    c.renewals.on_begun(k, op);
    try {
        run_renewal(c, op);
    } catch (...) {
        end_renewal(c, op);
        throw;
    }
}

void fail_renewal(operation_context& c, operation& op) noexcept
{
    if (op.renewal != nullptr) {
        c.renewals.on_unknown(*op.renewal, op.ttl);
    }
    end_renewal(c, op);
}

}  // namespace redlock::core
