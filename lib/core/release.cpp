#include "core/coordinator.hpp"
#include "core/waits.hpp"

namespace redlock::core {

flow coordinator::run_release(operation& op)
{
    lease& l = op.subject->root();
    static_cast<void>(end_hold(*op.subject));
    // Given back from here on, whatever the answers are: nobody may believe in it any more.
    renewals_.end(l, errc::not_held);
    l.set_valid_until({});
    l.given_back = true;
    const held_round r{*this, new_round(op, round_kind::release)};
    rounds_.fan_out(*r);
    drop_label(l);
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

/// With the last hold.
void coordinator::give_back(lease& held) noexcept
{
    if (!end_hold(held) || held.root().left) {
        return;
    }
    lease& l = held.root();
    renewals_.end(l, errc::not_held);
    l.set_valid_until({});
    l.given_back = true;
    encoded_row same;
    for (auto& n : nodes_) {
        n->give_back(l, same);
    }
    drop_label(l);
    if (l.is_had) {
        contention_.end_turn(l);
        l.is_had = false;
    }
}

}  // namespace redlock::core
