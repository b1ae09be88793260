#include "core/scheduler.hpp"

#include <memory>
#include <utility>

namespace redlock::core {

using base::instant;
using base::nanos;

operation& scheduler::begin(operation::kind what, report* r)
{
    auto inspection =
        what == operation::kind::inspect ? std::make_unique<redlock::inspection>() : nullptr;
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
    op.inspection = std::move(inspection);
    op.renewal = nullptr;
    op.may_wait = op.may_be_roused = false;
    op.wait = {};
    op.since = instant{};
    op.queue_position = 0;
    under_way_.push_back(op);
    ++by_kind_[static_cast<std::size_t>(what)];
    return op;
}

}  // namespace redlock::core
