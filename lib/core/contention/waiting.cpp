#include "core/contention/contention.hpp"
#include "core/quorum/reports.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>

// Who of this client may ask the masters for a resource, and who waits for it in line.
namespace redlock::core {

using base::instant;
using base::nanos;

namespace {

/// After so many hand-overs within the client, or so long, other clients are let in. It costs some
/// round trips, and so some percent of what the client alone could do.
constexpr unsigned most_hand_overs = 16;
constexpr nanos longest_run = std::chrono::milliseconds{100};
/// A client that no server tells got it by chance, and may not do so soon again: all who stood in
/// its line have it once, for so long at most.
constexpr nanos longest_run_of_untold = std::chrono::seconds{1};
/// Clients that no server tells are let in by longer pauses, which cost more: so often, or each
/// time where this client is not told either.
constexpr nanos between_long_rests = std::chrono::seconds{1};
/// They may be there and never be met, as they hardly ever find the lock free. It is left free so
/// often for as long as one of them sleeps at most; more often where no server tells this client
/// either, as then they are the rule.
constexpr nanos between_longest_rests = std::chrono::seconds{15};
/// Of the time for which the client had it: what others are let in for at least.
constexpr int share_of_run = 64;
/// Others find it free often enough, be it for moments, where it is so for this share of the time.
constexpr int share_left_free = 8;
/// The longest pause: for as long as those sleep by default who ask by chance.
constexpr nanos most_rest = std::chrono::milliseconds{250};

/// Others may have the same.
std::uint64_t hash_of_owner(const operation& op, std::string_view resource) noexcept
{
    return hash_of(resource) ^ std::hash<const char*>{}(op.owner.get());
}

}  // namespace

/// Of the resource of `l`; that lease itself from now on, if nobody does. One whose validity has
/// passed leads no more.
lease& contention::who_leads(lease& l) noexcept
{
    lease& first = leading_.find_or_add(l);
    if (&first == &l || !first.is_granted || first.valid_until() > shared_.now) {
        return first;
    }
    end_turn(first);
    return leading_.find_or_add(l);
}

/// The acquire leads its resource within the client, and may ask the nodes. False: it waits in the
/// queue until it is resumed.
bool contention::lead_or_wait(operation& op)
{
    lease& l = *op.subject;
    if (!l.leads && !l.group) {
        lease& first = who_leads(l);
        if (&first != &l && op.may_wait) {
            stand_in_line(op, first);
            return false;
        }
    }
    l.sought_by = &op;
    return true;
}

bool contention::has_room_behind(const lease& first) const noexcept
{
    const std::size_t there = first.line == nullptr ? 0 : first.line->waiting.size();
    return waiting_ < settings_.max_waiters && there < settings_.max_waiters_per_resource;
}

/// Who has made an attempt stands in front: it was its turn already.
void contention::stand_in_line(operation& op, lease& first)
{
    if (first.line == nullptr) {
        line& made = lines_.take();
        made.behind = &first;
        const stint* const known = sought_after_.find(first.resource_hash, shared_.now);
        made.of_client = known != nullptr ? *known : stint::begun(shared_.now);
        first.line = &made;
    }
    scheduler_.set_timer(op, availability_.next_look(op));
    if (op.owner) {
        try {
            waiting_for_[hash_of_owner(op, first.resource)].push_back(op);
        } catch (...) {
            scheduler_.cancel_timer(op);
            throw;
        }
    }
    line& q = *first.line;
    const bool is_first = op.attempts_made > 0 || q.waiting.empty();
    op.in_line = &q;
    if (op.attempts_made == 0) {
        op.queue_position = q.waiting.size();
    }
    if (is_first) {
        q.waiting.push_front(op);
    } else {
        q.waiting.push_back(op);
    }
    ++waiting_;
    if (is_first) {
        watch_over(q);
    }
}

void contention::leave_line(operation& op) noexcept
{
    line& q = *std::exchange(op.in_line, nullptr);
    const bool was_first = &q.waiting.front() == &op;
    q.waiting.remove(op);
    --waiting_;
    scheduler_.cancel_timer(op);
    if (op.owner) {
        leave_company(waiting_for_, hash_of_owner(op, op.subject->resource), op);
    }
    if (was_first && !q.waiting.empty()) {
        watch_over(q);
    }
}

/// However many they are, it takes no longer.
void contention::leave_company(std::unordered_map<std::uint64_t, company>& from, std::uint64_t key,
                               operation& op) noexcept
{
    const auto its = from.find(key);
    its->second.remove(op);
    if (its->second.empty()) {
        from.erase(its);
    }
}

/// The first in line looks after who leads, which may have a lock that it will never give back.
void contention::watch_over(line& q) noexcept
{
    operation& first = q.waiting.front();
    const lease& l = *q.behind;
    // It is in the heap, where it can be moved without memory.
    const instant end = availability_.next_look(first);
    scheduler_.set_timer(first, l.is_granted ? std::min(end, l.valid_until()) : end);
}

namespace {

/// Until when the key lives that those behind `first` wait for; the epoch, or `unknown_end`: not
/// known.
instant known_end(const lease& first) noexcept
{
    if (first.sought_by != nullptr && first.sought_by->refused_until != unknown_end) {
        return first.sought_by->refused_until;
    }
    return first.is_granted ? first.valid_until() : instant{};
}

}  // namespace

/// It is time for one who stands in line.
void contention::on_time(operation& op) noexcept
{
    lease& l = *op.in_line->behind;
    if (shared_.now >= op.deadline) {
        report_holder(op, known_end(l), shared_.now);
        resume(op);
    } else if (availability_.is_out_too_long(op)) {
        resume(op);
    } else if (&op != &op.in_line->waiting.front()) {
        scheduler_.set_timer(op, availability_.next_look(op));
    } else if (l.is_granted && l.valid_until() <= shared_.now) {
        end_turn(l);
    } else {
        watch_over(*op.in_line);
    }
}

/// Who leads is done with the resource. The first in line goes on, and asks for it right behind
/// what gives it back.
void contention::end_turn(lease& l) noexcept
{
    l.sought_by = nullptr;
    if (l.is_granted) {
        wake_groups(l);
    }
    if (!l.leads) {
        if (l.is_granted) {
            rouse_seekers(l);
            count_turn(l);
        }
        return;
    }
    if (l.line == nullptr || l.line->waiting.empty()) {
        leading_.remove(l);
        if (l.line != nullptr) {
            keep_stint(l);
            lines_.give(*std::exchange(l.line, nullptr));
        }
        if (l.is_granted) {
            count_turn(l);
        }
        return;
    }
    operation& next = l.line->waiting.front();
    if (l.is_granted) {
        ++shared_.stats.hand_overs;
        l.is_counted = true;
        count_hand_over(l.line->of_client, false);
        next.is_next = l.is_released && l.line->of_client.rest == nanos{};
    }
    pass_lead(l, *next.subject, next);
    resume(next);
}

/// Who led was refused, is to be told, and leaves: to whoever comes next the masters would say the
/// same. Or a lock that somebody else keeps would be asked for as often as a deadline ends behind
/// it.
void contention::bequeath_pause(operation& op) noexcept
{
    const lease& l = *op.subject;
    const bool is_told = op.watches != 0 && !op.is_woken && !op.was_roused;
    if (!is_told || !l.leads || l.line == nullptr || l.line->waiting.empty()) {
        return;
    }
    operation& next = l.line->waiting.front();
    watch_no_more(next);
    next.is_heir = true;
    next.looks_at = op.looks_at;
    next.watches = std::exchange(op.watches, 0);
    next.refused_until = op.refused_until;
    next.refused_within = op.refused_within;
    next.refused_at = op.refused_at;
    next.doubts = op.doubts;
    next.is_rushed = op.is_rushed;
}

/// Who goes on with another's pause is told as that one was.
instant contention::end_of_inherited(const operation& op) const noexcept
{
    const bool pauses = op.is_heir && !op.is_woken && !op.was_roused;
    return pauses ? std::min(op.looks_at, op.deadline) : shared_.now;
}

/// To another lease of the same resource, by which `op` asks for it.
void contention::pass_lead(lease& from, lease& to, operation& op) noexcept
{
    leading_.replace(from, to);
    from.sought_by = nullptr;
    to.sought_by = &op;
    to.line = std::exchange(from.line, nullptr);
    if (to.line != nullptr) {
        to.line->behind = &to;
    }
}

/// A lock that did not lead, as one of several resources, is given back.
void contention::rouse_seekers(const lease& l) noexcept
{
    for (const std::string& resource : l.resources()) {
        if (lease* const first = leading_.find(resource)) {
            rouse(*first);
        }
    }
}

/// Who asks for it and was refused need not wait any longer before it asks again.
void contention::rouse(const lease& first) noexcept
{
    if (operation* const op = first.sought_by) {
        op->was_roused = true;  // if its attempt is under way, it may have come too early
        if (op->may_be_roused) {
            resume(*op);
        }
    }
}

/// Every now and then it pauses before the next one asks, for long enough that another client which
/// is woken by the release, or asks by chance, comes first. Who believes itself alone pauses for
/// none but those whom it can never meet.
void contention::count_hand_over(stint& s, bool is_alone) noexcept
{
    s.freed = shared_.now;
    if (s.hand_overs++ == 0) {
        s.since = shared_.now;
    }
    const nanos run = shared_.now - s.since;
    if ((s.hand_overs < most_hand_overs && run < longest_run) ||
        (s.hand_overs < s.stood_in_line && run < longest_run_of_untold)) {
        return;
    }
    s.hand_overs = 0;
    s.stood_in_line = 0;
    const nanos share = std::min(run / share_of_run, longest_rest() / 2);
    const nanos some = is_alone ? nanos{} : std::max(2 * spread_of(s.refusals), share);
    const bool is_met = std::exchange(s.met_others, false);
    s.lonely_rests = is_met ? 0 : std::min(s.lonely_rests + 1, sought_after::most_lonely_rests);
    s.rest = std::max({s.rest, some + shared_.random_below(some), long_rest(s, is_met)});
}

/// For those who ask by chance, or from far away. Who was met finds it free the more often the
/// longer the pauses are; who never was is sure to only in one that is as long as he sleeps at
/// most.
nanos contention::long_rest(stint& s, bool is_met) noexcept
{
    if (is_met && (shared_.now - s.rested_long >= between_long_rests || !is_told())) {
        s.rested_long = shared_.now;
        return shared_.random_below(longest_rest());
    }
    const nanos between = is_told() ? between_longest_rests : s.until_longest;
    if (!is_met && shared_.now - s.rested_longest >= between) {
        s.until_longest = std::min(2 * s.until_longest, stint::most_until_longest);
        s.rested_long = s.rested_longest = shared_.now;
        return longest_rest();
    }
    return nanos{};
}

nanos contention::longest_rest() const noexcept
{
    return std::min<nanos>(settings_.backoff_max, most_rest);
}

/// The acquire has it. Whom a deadline has kept from resting to the end leaves the rest of it to
/// the next one; and who leaves it free by himself for long enough need not rest for long.
void contention::count_gap(const operation& op) noexcept
{
    const lease& l = *op.subject;
    stint* const s = stint_of(l);
    if (s == nullptr) {
        return;
    }
    // A line may have begun behind the attempt that was won.
    const nanos gap = std::max(l.t0 - s->freed, nanos{});
    const nanos left_free = std::max(gap - s->rest, nanos{});
    s->rest = std::max(s->rest - gap, nanos{});
    if (op.attempts_made == 1) {
        s->rested_longest = std::min(shared_.now, s->rested_longest + share_left_free * left_free);
    } else {
        s->hand_overs = 0;  // others had it
        s->stood_in_line = is_told() || l.line == nullptr ? 0 : l.line->waiting.size();
        s->refusals = (3 * s->refusals + op.refusals + 2) / 4;
    }
}

/// Nobody of the client stood behind it, but it may well take it again.
void contention::count_turn(lease& l) noexcept
{
    if (std::exchange(l.is_counted, true)) {
        return;  // lost before it was given back
    }
    stint* const s =
        l.group ? stint_of(l) : sought_after_.note_turn(l.resource_hash, shared_.now, l.t0);
    if (s != nullptr) {
        count_hand_over(*s, s->lonely_rests >= sought_after::most_lonely_rests);
    }
    if (!l.group) {
        sought_after_.keep(l.resource_hash, shared_.now, shared_.now);
    }
}

/// The line ends; others are remembered for a while.
void contention::keep_stint(const lease& l) noexcept
{
    if (stint* const known = sought_after_.note_turn(l.resource_hash, shared_.now, l.t0)) {
        const stint before = std::exchange(*known, l.line->of_client);
        known->contended_until = before.contended_until;
        known->met_others = known->met_others || before.met_others;
    }
}

/// Of the resource, or of the first of several, of which anything is remembered.
const stint* contention::remembered(const lease& l) const noexcept
{
    if (!l.group) {
        return sought_after_.find(l.resource_hash, shared_.now);
    }
    for (const std::string& resource : *l.group) {
        if (const stint* const s = sought_after_.find(hash_of(resource), shared_.now)) {
            return s;
        }
    }
    return nullptr;
}

/// Of the resource, while there is a line for it, or others were seen to want it.
stint* contention::stint_of(const lease& l) noexcept
{
    return l.line != nullptr ? &l.line->of_client : const_cast<stint*>(remembered(l));
}

/// Until when other clients go first.
instant contention::end_of_rest(const operation& op) noexcept
{
    const stint* const s = op.may_wait ? stint_of(*op.subject) : nullptr;
    if (s == nullptr || s->freed + s->rest <= shared_.now) {
        return shared_.now;
    }
    return std::min(s->freed + s->rest, shared_.now + (op.deadline - shared_.now) / 2);
}

/// Whoever waits on behalf of an owner that has the lock now would wait for itself.
void contention::call_in(const operation& had) noexcept
{
    for (const std::string& resource : had.subject->resources()) {
        const auto its = waiting_for_.find(hash_of_owner(had, resource));
        operation* next = its == waiting_for_.end() ? nullptr : &its->second.front();
        while (next != nullptr) {
            operation& op = *next;
            next = its->second.after(op);  // of a list that may end with it
            if (op.owner == had.owner && op.subject->resource == resource) {
                resume(op);
            }
        }
    }
}

/// A node refused what the attempt asks for. Whoever has it, and comes from elsewhere, is to be let
/// in sooner or later.
void contention::on_refused(const round& r) noexcept
{
    const lease& l = *r.of;
    const bool is_named = l.group != nullptr && r.held > 0;
    const std::string& resource = is_named ? (*l.group)[r.held - 1] : l.resource;
    const lease* const first = leading_.find(resource);
    if (first != nullptr && first != &l && first->valid_until() > shared_.now) {
        return;  // it is this client that has it
    }
    const std::uint64_t hash = is_named ? hash_of(resource) : l.resource_hash;
    sought_after_.note(hash, shared_.now, l.is_granted ? l.valid_until() : shared_.now)
        .meet_others();
    if (first != nullptr && first->line != nullptr) {
        first->line->of_client.meet_others();
    }
    if (l.is_granted) {
        note_key_in_the_way(l, r.tally.refused_by());
    }
}

/// The lock was had though these nodes refused it. If one of them is asked first, it would keep the
/// client waiting for a key that nobody else has.
void contention::note_key_in_the_way(const lease& l, node_mask refused) noexcept
{
    const auto gate = refused != 0 ? gate_of(l) : std::nullopt;
    stint* const s = sought_after_.find(l.resource_hash, shared_.now);
    if (gate && (refused & bit(*gate)) != 0 && s != nullptr) {
        s->contended_until = {};
    }
}

/// An attempt was lost to others.
void contention::note_contention(const lease& l) noexcept
{
    if (const stint* const s = remembered(l)) {
        const_cast<stint*>(s)->contended_until = shared_.now + sought_after::long_enough;
    }
}

}  // namespace redlock::core
