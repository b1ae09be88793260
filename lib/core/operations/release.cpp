#include "core/coordinator.hpp"
#include "core/waits.hpp"

namespace redlock::core {

flow coordinator::run_release(operation& op)
{
    lease& l = op.subject->root();
    leases_.begin_release(*op.subject);
    const held_round r{*this, new_round(op, round_kind::release)};
    rounds_.fan_out(*r);
    leases_.drop_label(l);
    contention_.end_turn(l);
    co_await verdict_of{*r};
    if (op.cancelled) {
        co_return give_up(op);
    }
    fill_report(op, *r);
    switch (rounds_.outcome_of(*r)) {
        case verdict::won: op.released = release_result::released; co_return finish(op, {});
        case verdict::refused: op.released = release_result::not_held; co_return finish(op, {});
        case verdict::open:
        case verdict::unavailable: break;
    }
    co_return finish(op, errc::unavailable);
}

}  // namespace redlock::core
