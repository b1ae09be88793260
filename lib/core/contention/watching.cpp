#include "core/contention/contention.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <string>
#include <string_view>
#include <utility>

// Who was refused, and is told by a server when the key has gone that was in its way.
namespace redlock::core {

using base::instant;
using base::nanos;

/// Whether any node tells this client what it waits for.
bool contention::is_told() const noexcept
{
    return std::any_of(nodes_.begin(), nodes_.end(), [](const auto& n) {
        return n->notifications().can_track() && !n->notifications().is_silent();
    });
}

/// One of the nodes that refused, or have yet to say whether they do, is to tell when the key goes.
void contention::watch(operation& op, const round& r, verdict v)
{
    const bool is_held = r.gate != 0 || v == verdict::refused;
    if (!is_held || op.watches != 0 || op.is_woken) {
        return;
    }
    const bool is_known = op.subject->group ? r.held > 0 : op.subject->leads;
    // Whose key is the attempt's own, though its vote may not be complete, has none in the way.
    const node_mask others = r.keyed | r.tally.granted_by() | r.tally.failed_by();
    node_mask can_tell = 0;
    for (unsigned i = 0; i < nodes_.size(); ++i) {
        can_tell |=
            nodes_[i]->notifications().can_track() && nodes_[i]->takes_requests() ? bit(i) : 0;
    }
    const auto first = first_for(*op.subject, (op.subject->asked | r.gate) & ~others & can_tell);
    if (first && is_known) {
        turn_to(op, r.held);
        nodes_[*first]->notifications().watch(*op.subject, in_the_way(op));
        op.is_watch_asked = true;
    }
}

/// Of several resources this one is in the way. Of another one's end nothing was to be told.
void contention::turn_to(operation& op, unsigned held) noexcept
{
    if (op.held != held) {
        watch_no_more(op);
        op.held = held;
        op.looked_at = 0;
    }
}

/// The resource that the operation was refused.
const std::string& contention::in_the_way(const operation& op) noexcept
{
    const lease& l = *op.subject;
    return l.group ? (*l.group)[op.held - 1] : l.resource;
}

void contention::watch_no_more(operation& op) noexcept
{
    stop_being_told(op);
    if (std::exchange(op.is_listed, false)) {
        leave_company(groups_watching_, hash_of(in_the_way(op)), op);
    }
}

void contention::stop_being_told(operation& op) noexcept
{
    for (unsigned i = 0; op.watches != 0 && i < nodes_.size(); ++i) {
        shared_.watchers[i] -= (op.watches & bit(i)) != 0 ? 1u : 0u;
    }
    op.watches = 0;
}

/// The node will tell when the key in the way of `l` goes; how long it lives until then. Below -1:
/// it has gone already; who finds that twice in a row pauses as if there was nobody to tell.
void contention::on_watched(const lease& l, unsigned index, unsigned held,
                            reported_ttl told) noexcept
{
    operation* const op = l.sought_by;
    if (op == nullptr || op->subject != &l || op->is_woken) {
        return;
    }
    if (held > 0) {
        turn_to(*op, held);
    }
    if (told.ms < -1) {
        if (!std::exchange(op->is_rushed, true)) {
            wake(*op);
        }
        return;
    }
    const bool ends = told.ms >= 0 && told.ms < base::max_ttl.count();
    const instant until = ends ? shared_.now + std::chrono::milliseconds{told.ms} : unknown_end;
    if (!compare_with_last_answer(*op, index, until, shared_.now - told.asked)) {
        op->refused_until = until;
        op->refused_within = shared_.now - told.asked;
        op->refused_at = shared_.now;
    }
    op->is_rushed = false;
    watch_no_more(*op);
    if (l.group) {
        try {
            groups_watching_[hash_of(in_the_way(*op))].push_back(*op);
            op->is_listed = true;
        } catch (const std::bad_alloc&) {
            return;  // it asks again by chance
        }
    }
    op->watches = bit(index);
    ++shared_.watchers[index];
    op->is_watch_asked = false;
    if (is_asleep(*op) && !op->was_roused) {
        scheduler_.set_timer(*op, begin_pause(*op, op->wake_up - shared_.now));
    }
}

/// What the client does to its own keys it is not told. A node has done it when it says so, and
/// what it says of the key before and behind that stands before and behind it.
void contention::on_extended(const lease& l) noexcept
{
    if (scheduler_.count_of(operation::kind::acquire) == 0) {
        return;
    }
    for (const std::string& resource : l.resources()) {
        const lease* const first = leading_.find(resource);
        if (first != nullptr && first != &l && first->sought_by != nullptr) {
            first->sought_by->refused_until = unknown_end;
        }
        for_groups(resource, [](operation& op) { op.refused_until = unknown_end; });
    }
}

bool contention::is_asleep(const operation& op) noexcept
{
    return op.may_be_roused && op.heap_place != sleeper::no_wake_up;
}

void contention::wake(operation& op, nanos later) noexcept
{
    watch_no_more(op);
    op.is_woken = true;
    look_by(op, shared_.now + later + wake_up_delay(op));
}

/// If it pauses, it does so no longer.
void contention::look_by(operation& op, instant when) noexcept
{
    op.looks_at = std::min(op.looks_at, when);
    if (is_asleep(op)) {
        scheduler_.set_timer(op, std::min(op.wake_up, when));
    }
}

/// Those that watch the resource as one of several.
template <class Do>
void contention::for_groups(std::string_view resource, Do each) noexcept
{
    const auto its = groups_watching_.empty() ? groups_watching_.end()
                                              : groups_watching_.find(hash_of(resource));
    operation* next = its == groups_watching_.end() ? nullptr : &its->second.front();
    while (next != nullptr) {
        operation& op = *next;
        next = its->second.after(op);  // whom waking takes out, and the list with the last one
        if (in_the_way(op) == resource) {
            each(op);
        }
    }
}

/// What the client gives back, or loses, was in their way.
void contention::wake_groups(const lease& l) noexcept
{
    for (const std::string& resource : l.resources()) {
        for_groups(resource, [this](operation& op) { wake(op); });
    }
}

void contention::on_key_gone(unsigned index, std::string_view resource) noexcept
{
    const lease* const l = leading_.find(resource);
    if (l != nullptr && l->sought_by != nullptr && (l->sought_by->watches & bit(index)) != 0) {
        wake(*l->sought_by);
    }
    for_groups(resource, [this, index](operation& op) {
        if ((op.watches & bit(index)) != 0) {
            wake(op);
        }
    });
}

template <class Do>
void contention::for_watchers(unsigned index, Do each) noexcept
{
    operation_list& all = scheduler_.under_way();
    for (operation* op = shared_.watchers[index] == 0 ? nullptr : &all.front(); op != nullptr;
         op = all.after(*op)) {
        if ((op->watches & bit(index)) != 0) {
            each(*op);
        }
    }
}

/// Of all that it was to tell of. Who waits for different ones does not ask at once either.
void contention::on_keys_gone(unsigned index) noexcept
{
    const nanos apart = time_between_looks(shared_.watchers[index]) - time_between_looks(1);
    for_watchers(index, [this, apart](operation& op) {
        wake(op, shared_.random_below(std::min(apart, (op.deadline - shared_.now) / 4)));
    });
}

/// It tells nothing any more: who relied on it looks soon, not all of them at once.
void contention::on_watch_lost(unsigned index) noexcept
{
    const nanos apart =
        std::max<nanos>(settings_.backoff_max, time_between_looks(shared_.watchers[index]));
    for_watchers(index, [this, apart](operation& op) {
        watch_no_more(op);
        look_by(op, shared_.now +
                        shared_.random_below(std::min(apart, (op.deadline - shared_.now) / 2)));
    });
}

}  // namespace redlock::core
