#include "core/coordinator.hpp"
#include "core/waits.hpp"

namespace redlock::core {

/// An extend by resource and owner token, and a lock if that succeeds. What is not ours is not
/// given back either.
flow coordinator::run_adopt(operation& op)
{
    lease& l = *op.subject;
    const held_round r{*this, new_round(op, round_kind::extend)};
    rounds_.fan_out(*r);
    co_await verdict_of{*r};
    if (op.cancelled) {
        co_return give_up(op);
    }
    fill_report(op, *r);
    const error_code ec = conclude_extend(l, *r);
    l.is_had = !ec;
    co_return finish(op, ec);
}

}  // namespace redlock::core
