#include "core/scheduler.hpp"

namespace redlock::core {

using base::instant;
using base::nanos;

operation& scheduler::begin(operation::kind what, report* r)
{
    operation& op = records_.take();
    op.what = what;
    op.subject = nullptr;
    op.ttl = op.min_validity = nanos{};
    op.deadline = instant{};
    op.attempts_left = 1;
    op.fencing = false;
    op.every_node = false;
    op.owner.reset();
    op.max_outage.reset();
    op.label.reset();
    op.report = r;
    op.serial = ++serials_;
    op.user = nullptr;
    op.frame = nullptr;
    op.attempts_made = 0;
    op.cancelled = {};
    op.error = {};
    op.released = release_result::not_held;
    if (what == operation::kind::inspect) {
        op.inspection = {};
    }
    op.renewal = nullptr;
    op.has_rested = op.was_woken = false;
    op.may_wait = op.may_be_roused = op.was_roused = op.is_woken = op.is_rushed = false;
    op.is_next = op.is_heir = op.is_watch_asked = false;
    op.looks_at = instant{};
    op.watches = 0;
    op.held = 0;
    op.refusals = 0;
    op.refused_until = instant{};
    op.looked_at = 0;
    op.refused_within = nanos{};
    op.refused_at = instant{};
    op.doubts = 0;
    op.is_listed = false;
    op.since = instant{};
    op.queue_position = 0;
    under_way_.push_back(op);
    ++by_kind_[static_cast<std::size_t>(what)];
    return op;
}

}  // namespace redlock::core
