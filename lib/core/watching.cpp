#include "core/coordinator.hpp"
#include "core/ranking.hpp"
#include "core/waits.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

// Who was refused, and is told by a server when the key has gone that was in its way.
namespace redlock::core {

using base::instant;
using base::nanos;

namespace {

/// More who come together are spread as if they were so many.
constexpr std::uint32_t largest_crowd = 64;
/// Those of a client that are told look less often when they are many, so that all of them together
/// do a thousand times a second: who is told needs it hardly ever.
constexpr nanos between_looks = std::chrono::milliseconds{1};
/// Who has let others in so often, one time after the other, and met none of them is alone again.
constexpr unsigned believed_alone = 3;
/// Looks that find nothing missed, until who was let down by a server trusts it as before.
constexpr std::uint8_t most_doubts = 64;
/// The end of a key that has none, or that is the client's own and was kept alive since.
constexpr instant unknown = instant::max();

}  // namespace

/// Of the nodes that `may` speaks of the one that all clients prefer for the resource, or for the
/// same ones of several, in whatever order they name them.
template <class May>
std::optional<unsigned> coordinator::first_for(const lease& l, May may) const noexcept
{
    const auto names = l.resources();
    const std::uint64_t resource = name_hash(*std::min_element(names.begin(), names.end()));
    std::optional<unsigned> first;
    std::uint64_t best = 0;
    for (unsigned i = 0; i < nodes_.size(); ++i) {
        const std::uint64_t its = rank(resource, nodes_[i]->name());
        if (may(i) && (!first || its > best)) {
            first = i;
            best = its;
        }
    }
    return first;
}

/// Those who are woken together ask one node first, the same one, so that they do not split the
/// votes: the node that it is, if the operation is one of them. Who comes anew for what others want
/// does so too, or it would win against all of them. The last attempt asks all, as what it says is
/// of a majority.
std::optional<unsigned> coordinator::gate_for(const operation& op) const noexcept
{
    // Only where it leaves time for the others.
    const bool is_late_comer = settings_.wake_ups && op.attempts_made == 0 && !op.is_next &&
                               op.deadline - now_ > settings_.node_timeout &&
                               is_contended(*op.subject);
    if (!(op.is_woken || is_late_comer) || !settings_.asks_one_first || op.attempts_left == 1) {
        return std::nullopt;
    }
    return gate_of(*op.subject);
}

std::optional<unsigned> coordinator::gate_of(const lease& l) const noexcept
{
    const auto may = [this](unsigned i) {
        return nodes_[i]->takes_requests() && !nodes_[i]->is_quarantined();
    };
    // Better one that can tell at once when it is worth asking again.
    const auto best = first_for(l, [&](unsigned i) { return may(i) && nodes_[i]->can_track(); });
    return best ? best : first_for(l, may);
}

/// Whether any node tells this client what it waits for.
bool coordinator::is_told() const noexcept
{
    return std::any_of(nodes_.begin(), nodes_.end(),
                       [](const auto& n) { return n->can_track() && !n->is_silent(); });
}

void coordinator::ask_first(round& r, unsigned gate)
{
    r.gate = bit(gate);
    r.of->keys_end = std::max(r.of->keys_end, now_ + r.of->ttl);
    nodes_[gate]->send_first(r);
}

/// The node that was asked first has granted, or can say nothing: now all others are. False: it is
/// of no use, or too late for it.
bool coordinator::ask_the_others(operation& op, round& r)
{
    if ((r.gate & r.tally.refused_by()) != 0) {
        op.subject->asked &= ~r.gate;  // it has nothing that could be given back
        return false;
    }
    if (now_ >= op.deadline) {
        return false;
    }
    const node_mask gate = std::exchange(r.gate, 0);
    r.closed = false;
    if (op.report == nullptr && r.what == command::set_asked) {
        r.what = command::set;
    }
    if (r.is_linked()) {
        by_deadline_.remove(r);
    }
    r.deadline = now_ + settings_.node_timeout;
    by_deadline_.push_back(r);
    encoded same;
    for (unsigned i = 0; i < nodes_.size(); ++i) {
        if ((gate & bit(i)) == 0) {
            ask(r, i, same);
        } else if (!r.tally.has_voted(i)) {
            ask_for_the_rest(r, i);
        }
    }
    consider(r);
    return true;
}

/// Of the vote of the node that was asked first and set the key.
void coordinator::ask_for_the_rest(round& r, unsigned index)
{
    if (nodes_[index]->takes_requests()) {
        nodes_[index]->send_rest_of_vote(r);
    } else {
        set_vote(r, index, node_outcome::stalled, nodes_[index]->trouble());
    }
}

/// One of the nodes that refused, or have yet to say whether they do, is to tell when the key goes.
void coordinator::watch(operation& op, const round& r)
{
    const bool is_held = r.gate != 0 || outcome_of(r) == verdict::refused;
    if (!is_held || op.watches != 0 || op.is_woken) {
        return;
    }
    const bool is_known = op.subject->group ? r.held > 0 : op.subject->leads;
    // Whose key is the attempt's own, though its vote may not be complete, has none in the way.
    const node_mask others = r.keyed | r.tally.granted_by() | r.tally.failed_by();
    const auto first = first_for(*op.subject, [&](unsigned i) {
        return ((op.subject->asked | r.gate) & ~others & bit(i)) != 0 && nodes_[i]->can_track() &&
               nodes_[i]->takes_requests();
    });
    if (first && is_known) {
        turn_to(op, r.held);
        nodes_[*first]->watch(*op.subject, in_the_way(op));
        op.is_watch_asked = true;
    }
}

/// Of several resources this one is in the way. Of another one's end nothing was to be told.
void coordinator::turn_to(operation& op, unsigned held) noexcept
{
    if (op.held != held) {
        watch_no_more(op);
        op.held = held;
        op.looked_at = 0;
    }
}

/// The resource that the operation was refused.
const std::string& coordinator::in_the_way(const operation& op) noexcept
{
    const lease& l = *op.subject;
    return l.group ? (*l.group)[op.held - 1] : l.resource;
}

void coordinator::watch_no_more(operation& op) noexcept
{
    stop_being_told(op);
    if (std::exchange(op.is_listed, false)) {
        leave_company(groups_watching_, hash_of(in_the_way(op)), op);
    }
}

void coordinator::stop_being_told(operation& op) noexcept
{
    for (unsigned i = 0; op.watches != 0 && i < nodes_.size(); ++i) {
        watchers_[i] -= (op.watches & bit(i)) != 0 ? 1u : 0u;
    }
    op.watches = 0;
}

/// The node will tell when the key in the way of `l` goes; how long it lives until then. Below -1:
/// it has gone already; who finds that twice in a row pauses as if there was nobody to tell.
void coordinator::on_watched(const lease& l, unsigned index, told_ttl told) noexcept
{
    operation* const op = l.sought_by;
    if (op == nullptr || op->subject != &l || op->is_woken) {
        return;
    }
    if (told.ms < -1) {
        if (!std::exchange(op->is_rushed, true)) {
            wake(*op);
        }
        return;
    }
    const bool ends = told.ms >= 0 && told.ms < base::max_ttl.count();
    const instant until = ends ? now_ + std::chrono::milliseconds{told.ms} : unknown;
    if (!has_seen_the_same(*op, index, until, now_ - told.asked)) {
        op->refused_until = until;
        op->refused_within = now_ - told.asked;
        op->refused_at = now_;
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
    ++watchers_[index];
    op->is_watch_asked = false;
    if (is_asleep(*op) && !op->was_roused) {
        sleepers_.set(*op, begin_pause(*op, op->wake_up - now_));
    }
}

/// Who looked has found the key it knows of, as far as can be told: what it knew goes on, until the
/// key has outlived it, as where clocks run differently. Another one, or one that lives to another
/// time, was not told.
bool coordinator::has_seen_the_same(operation& op, unsigned index, instant until,
                                    nanos within) noexcept
{
    const bool looked = (std::exchange(op.looked_at, 0) & bit(index)) != 0;
    const bool is_known = until != unknown && op.refused_until != unknown;
    if (!looked) {
        return false;
    }
    const nanos moved =
        std::max(until - within - op.refused_until, op.refused_until - op.refused_within - until);
    if (is_known && moved > least_change(op)) {
        note_silence(op, index);
        return false;
    }
    if (op.doubts > 0 && !nodes_[index]->is_silent()) {
        --op.doubts;
    }
    return is_known && op.refused_until > now_;
}

/// Who looked has found that the key it watched has gone before its time, which was not told.
void coordinator::note_if_free(operation& op, const round& r) noexcept
{
    const node_mask free = op.looked_at & r.tally.granted_by();
    if (free != 0 && op.refused_until != unknown &&
        op.refused_until - op.refused_within - now_ > least_change(op)) {
        op.looked_at = 0;
        note_silence(op, static_cast<unsigned>(std::countr_zero(free)));
    }
}

/// A server that tells in time says nothing of what changes a moment later.
void coordinator::note_silence(operation& op, unsigned index) noexcept
{
    if (nodes_[index]->note_silence(op.subject->t0)) {
        ++stats_.wake_ups_missed;
        op.doubts = most_doubts;
    }
}

/// What the client does to its own keys it is not told. A node has done it when it says so, and
/// what it says of the key before and behind that stands before and behind it.
void coordinator::expect_longer(const lease& l) noexcept
{
    if (count_of(operation::kind::acquire) == 0) {
        return;
    }
    for (const std::string& resource : l.resources()) {
        const lease* const first = leading_.find(resource);
        if (first != nullptr && first != &l && first->sought_by != nullptr) {
            first->sought_by->refused_until = unknown;
        }
        for_groups(resource, [](operation& op) { op.refused_until = unknown; });
    }
}

/// The node that is to tell has told nobody since it let one down, or has let this one down not
/// long ago.
bool coordinator::is_doubtful(const operation& op) const noexcept
{
    return op.doubts > 0 ||
           nodes_[static_cast<unsigned>(std::countr_zero(op.watches))]->is_silent();
}

/// Of so many together.
nanos coordinator::time_between_looks(std::size_t watchers) noexcept
{
    return between_looks * static_cast<std::int64_t>(watchers);
}

/// By which the end of a key has to differ from what was said of it, if it is not to be the work of
/// clocks that run differently.
nanos coordinator::least_change(const operation& op) const noexcept
{
    return settings_.node_timeout + settings_.drift(now_ - op.refused_at);
}

/// When to look, as nothing was told.
instant coordinator::end_of_watch(const operation& op) noexcept
{
    const nanos longest = std::max(settings_.poll_max, time_between_looks(watching()));
    nanos wait = longest - random_below(longest / 4);
    if (op.refused_until != unknown) {
        const nanos lives = op.refused_until - now_;
        wait = std::min(wait, lives + random_below(std::max(round_trip_, least_wait)));
    }
    return now_ + std::max(wait, least_wait);
}

/// Until when who was refused waits, unless it is told something, or out of time.
instant coordinator::begin_pause(operation& op, nanos back_off) noexcept
{
    op.looks_at = end_of_pause(op, back_off);
    return std::min(op.looks_at, op.deadline);
}

instant coordinator::end_of_pause(const operation& op, nanos back_off) noexcept
{
    if (op.is_woken) {
        return now_ + wake_up_delay(op);
    }
    if (op.was_roused) {
        return now_ + std::min(back_off, least_wait);
    }
    if (op.watches == 0) {
        // Who is to be told hears that first, however soon it would ask again.
        const nanos answer = std::min(2 * round_trip_, settings_.node_timeout);
        return now_ + (op.is_watch_asked ? std::max(back_off, answer) : back_off);
    }
    return is_doubtful(op) ? end_of_doubt(op, back_off) : end_of_watch(op);
}

/// Who was let down looks as often as who is never told; many keep the distance that those keep who
/// are told.
instant coordinator::end_of_doubt(const operation& op, nanos back_off) noexcept
{
    return std::min(end_of_watch(op), now_ + std::max(back_off, time_between_looks(watching())));
}

bool coordinator::is_asleep(const operation& op) noexcept
{
    return op.may_be_roused && op.heap_place != sleeper::no_wake_up;
}

void coordinator::wake(operation& op, nanos later) noexcept
{
    watch_no_more(op);
    op.is_woken = true;
    look_by(op, now_ + later + wake_up_delay(op));
}

/// If it pauses, it does so no longer.
void coordinator::look_by(operation& op, instant when) noexcept
{
    op.looks_at = std::min(op.looks_at, when);
    if (is_asleep(op)) {
        sleepers_.set(op, std::min(op.wake_up, when));
    }
}

/// Servers tell those who wait always in the same order, and the last of many long after the first:
/// chance decides who comes first, and who was refused less often than is usual lets others go
/// before. More so where they are many.
nanos coordinator::wake_up_delay(const operation& op) noexcept
{
    const stint* const s = stint_of(*op.subject);
    const std::uint32_t usual = s != nullptr ? s->refusals : 0;
    const nanos spread = spread_of(std::max(usual, op.refusals));
    const nanos behind = op.refusals < usual ? spread * (usual - op.refusals) / usual : nanos{};
    return random_below(std::min(spread, (op.deadline - now_) / 4)) +
           std::min(behind, (op.deadline - now_) / 4);
}

/// In which those ask who are woken together, so many of them.
nanos coordinator::spread_of(std::uint32_t crowd) const noexcept
{
    return std::min(round_trip_, settings_.node_timeout) * (8 + std::min(crowd, largest_crowd)) / 8;
}

/// An acquire of the client was lost to others not long ago, and it has not let them in three times
/// in a row since and met nobody.
bool coordinator::is_contended(const lease& l) const noexcept
{
    const stint* const s = remembered(l);
    if (s == nullptr || s->contended_until <= now_) {
        return false;
    }
    const stint& turns = l.line != nullptr ? l.line->of_client : *s;
    return turns.lonely_rests < believed_alone;
}

/// Those that watch the resource as one of several.
template <class Do>
void coordinator::for_groups(std::string_view resource, Do each) noexcept
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
void coordinator::wake_groups(const lease& l) noexcept
{
    for (const std::string& resource : l.resources()) {
        for_groups(resource, [this](operation& op) { wake(op); });
    }
}

void coordinator::on_key_gone(unsigned index, std::string_view resource) noexcept
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

/// Of several resources one was refused by the node, which was told to watch it with the question.
void coordinator::on_group_watched(const lease& l, unsigned index, unsigned held,
                                   told_ttl told) noexcept
{
    operation* const op = l.sought_by;
    if (op != nullptr && op->subject == &l && !op->is_woken) {
        turn_to(*op, held);
        on_watched(l, index, told);
    }
}

template <class Do>
void coordinator::for_watchers(unsigned index, Do each) noexcept
{
    for (operation* op = watchers_[index] == 0 ? nullptr : &in_flight_.front(); op != nullptr;
         op = in_flight_.after(*op)) {
        if ((op->watches & bit(index)) != 0) {
            each(*op);
        }
    }
}

/// Of all that it was to tell of. Who waits for different ones does not ask at once either.
void coordinator::on_keys_gone(unsigned index) noexcept
{
    const nanos apart = time_between_looks(watchers_[index]) - between_looks;
    for_watchers(index, [this, apart](operation& op) {
        wake(op, random_below(std::min(apart, (op.deadline - now_) / 4)));
    });
}

/// It tells nothing any more: who relied on it looks soon, not all of them at once.
void coordinator::on_watch_lost(unsigned index) noexcept
{
    const nanos apart = std::max<nanos>(settings_.retry_max, time_between_looks(watchers_[index]));
    for_watchers(index, [this, apart](operation& op) {
        watch_no_more(op);
        look_by(op, now_ + random_below(std::min(apart, (op.deadline - now_) / 2)));
    });
}

}  // namespace redlock::core
