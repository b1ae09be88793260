#include "core/coordinator.hpp"
#include "core/waits.hpp"

#include <algorithm>

namespace redlock::core {

flow coordinator::run_extend(operation& op)
{
    lease& l = op.subject->root();
    if (l.left) {
        co_return finish(op, errc::not_held);
    }
    if (l.lost || l.valid_until() <= shared_.now) {
        // A lease once not believed in stays so, whatever its keys do: no one may have to hear
        // "lost" and then "held".
        co_return finish(op, leases_.lose(l));
    }
    const held_round r{*this, new_round(op, round_kind::extend)};
    rounds_.fan_out(*r);
    co_await verdict_of{*r};
    if (op.cancelled) {
        co_return give_up(op);
    }
    fill_report(op, *r);
    if (!l.given_back && !l.left && l.valid_until() <= shared_.now) {
        co_return finish(op, leases_.lose(l));
    }
    co_return finish(op, conclude_extend(l, *r));
}

error_code coordinator::conclude_extend(lease& l, const round& r)
{
    if (l.given_back || l.left) {
        // A release went out behind this extend, or the keys are another's now.
        return errc::not_held;
    }
    switch (rounds_.outcome_of(r)) {
        case verdict::won: break;
        case verdict::refused: return leases_.lose(l);
        case verdict::open:
        case verdict::unavailable: return errc::unavailable;
    }
    const auto end = settings_.validity_end(r.t0, r.ttl);
    if (std::max(end, l.valid_until()) <= shared_.now) {
        return leases_.lose(l);
    }
    l.t0 = std::max(l.t0, r.t0);
    l.asked_until = std::max(l.asked_until, r.t0 + r.ttl);
    l.set_valid_until(std::max(end, l.valid_until()));
    leases_.send_label(l);
    return {};
}

}  // namespace redlock::core
