#include "core/coordinator.hpp"
#include "core/waits.hpp"

#include <span>
#include <string>
#include <string_view>
#include <utility>

// Several holds of one lease, all of one owner. Those within the first are records of their own, of
// which nothing is on the nodes.
namespace redlock::core {

using base::instant;
using base::nanos;

bool coordinator::is_had(std::string_view resource, const acquire_options& o) const
{
    if (o.reentrant_owner == nullptr) {
        return false;
    }
    const std::string name(resource);
    return leases_.find(o.reentrant_owner->identity(), std::span(&name, 1)) != nullptr;
}

bool coordinator::is_had(const group& resources, const acquire_options& o) const
{
    return o.reentrant_owner != nullptr &&
           leases_.find(o.reentrant_owner->identity(), *resources) != nullptr;
}

/// Another lease of what the operation is about, instead of the one it has.
lease& coordinator::change_subject(operation& op)
{
    lease& next = leases_.create(op.subject->resource);
    next.group = op.subject->group;
    unref(*std::exchange(op.subject, &next));
    return next;
}

/// Commands of an earlier attempt may still speak of its lease, so that each attempt has its own.
lease& coordinator::fresh_subject(operation& op)
{
    if (lease& before = *op.subject; before.references > 1) {
        lease& next = change_subject(op);
        contention_.on_new_lease(before, next, op);
    }
    leases_.leave_root(*op.subject);
    return *op.subject;
}

/// A hold more.
void coordinator::nest(operation& op, lease& root)
{
    contention_.abandon_turn(op);
    leases_.add_hold(fresh_subject(op), root);
    if (op.keeper != nullptr) {
        op.keeper->since = shared_.now;
    }
}

/// Whether it lasts for who asks now as if it had been taken anew, or half as long.
bool coordinator::is_enough(const operation& op, instant end) const noexcept
{
    const nanos wanted =
        op.min_validity > nanos{} ? op.min_validity : settings_.validity(op.ttl) / 2;
    return end - shared_.now >= wanted;
}

flow coordinator::run_hold(operation& op)
{
    lease& held = op.subject->root();
    error_code ec;
    if (op.fencing && held.fencing_token == 0) {
        ec = errc::no_fencing_token;
    }
    while (!ec) {
        if (held.left || held.lost || held.valid_until() <= shared_.now) {
            ec = leases_.lose(held);
            break;
        }
        if (is_enough(op, held.valid_until())) {
            break;
        }
        {
            const held_round r{*this, new_round(op, round_kind::extend)};
            rounds_.fan_out(*r);
            co_await verdict_of{*r};
            if (op.cancelled) {
                break;
            }
            fill_report(op, *r);
            if (held.left || held.valid_until() <= shared_.now) {
                continue;
            }
            ec = conclude_extend(held, *r);
        }
        op.attempts_left -= op.attempts_left != unlimited;
        const instant next = shared_.now + renewals_.spacing(op.ttl);
        if (ec != errc::unavailable || op.attempts_left == 0 || next >= held.valid_until()) {
            break;
        }
        if (next >= op.deadline) {
            ec = errc::timed_out;
            break;
        }
        co_await sleep_until{next};
        if (op.cancelled) {
            break;
        }
        // Woken late, it begins nothing any more.
        ec = shared_.now >= op.deadline ? make_error_code(errc::timed_out) : error_code();
    }
    if (op.cancelled) {
        leases_.give_back(*op.subject);
        co_return give_up(op);
    }
    if (ec == errc::not_held) {
        // Detached. Who asks once more relies on what it has had all the time.
        ec = errc::lost;
    }
    if (!ec && !is_worth_having(op, held.valid_until())) {
        ec = errc::expired;
    }
    if (ec) {
        leases_.give_back(*op.subject);
    }
    co_return finish(op, ec);
}

}  // namespace redlock::core
