#include "core/contention/fair_queue.hpp"
#include "core/node/ranking.hpp"

#include <algorithm>
#include <new>
#include <utility>

// The places of waiters.
namespace redlock::core {

using base::instant;
using base::nanos;

/// `member`: the number of the resource among several.
std::string_view fair_queue::name_of(const lease& l, unsigned member) noexcept
{
    return l.group ? (*l.group)[member - 1] : l.resource;
}

/// The resource that the operation was refused.
std::string_view fair_queue::awaited_resource(const operation& op) noexcept
{
    return name_of(*op.subject, op.wait.member);
}

/// For `recent_uses`. One resource is another subject than several that begin with it.
std::uint64_t fair_queue::key_of_use(const lease& l) noexcept
{
    return l.group ? ~l.resource_hash : l.resource_hash;
}

/// The node that all clients prefer for the resource, of those for which `may` is true.
std::optional<unsigned> fair_queue::preferred(std::string_view resource,
                                              bool (*may)(const node&)) const
{
    const std::uint64_t hash = name_hash(resource);
    std::optional<unsigned> best;
    for (unsigned i = 0; i < nodes_.size(); ++i) {
        const node& n = *nodes_[i];
        if (n.takes_requests() && !n.is_quarantined() && may(n) &&
            (!best || rank(hash, n.name()) > rank(hash, nodes_[*best]->name()))) {
            best = i;
        }
    }
    return best;
}

std::optional<unsigned> fair_queue::queue_node(std::string_view resource) const
{
    return preferred(resource, [](const node& n) { return n.tickets().can_serve(); });
}

turn fair_queue::next_turn(operation& op)
{
    wait_state& w = op.wait;
    if (w.attempt_due) {
        return {};
    }
    switch (w.at) {
        case stage::none: {
            if (shared_.now < w.poll_at) {
                return {turn::kind::pause, end_of_pause(op)};
            }
            // Others wait, so this newcomer does not ask for the lock before them.
            const auto* const use = uses_.find(key_of_use(*op.subject), shared_.now);
            const lease& l = *op.subject;
            const bool do_others_wait = use != nullptr && use->do_others_wait &&
                                        (use->member > 0) == static_cast<bool>(l.group) &&
                                        use->member <= l.resources().size();
            if (op.attempts_made > 0 || !op.may_wait || !do_others_wait) {
                return {};
            }
            w.backoff = round_trip_ + shared_.random_below(settings_.backoff_min);
            move_to_queue_of(op, use->member);
            break;
        }
        case stage::behind:
            if (shared_.now >= w.poll_at) {
                w.is_poll = w.is_watched;
                break;
            }
            [[fallthrough]];
        case stage::asked:
        case stage::first:
            if (shared_.now >= w.poll_at) {
                return {};
            }
            return {turn::kind::pause, end_of_pause(op)};
    }
    const bool is_poll = w.at == stage::behind && !w.is_notified;
    if (!ask_place(op)) {
        w.attempt_due = w.is_notified;
        return {};
    }
    shared_.stats.polls += is_poll ? 1 : 0;
    w.is_notified = false;
    return {turn::kind::pause, end_of_pause(op)};
}

void fair_queue::on_attempt(operation& op) noexcept
{
    wait_state& w = op.wait;
    // A waiter that took over a wait polls by its first attempt.
    const bool is_poll = (op.attempts_made > 0 || w.is_watched) && !w.attempt_due;
    shared_.stats.polls += is_poll ? 1 : 0;
    w.is_poll = is_poll && w.is_watched;
    w.attempt_due = false;
    w.was_notified = std::exchange(w.is_notified, false);
    w.is_watched = false;
}

void fair_queue::on_answers(operation& op, const round& r) noexcept
{
    const verdict v = r.tally.of_acquire();
    const nanos took = shared_.now - r.t0;
    // A longer time shows that the process was suspended.
    if ((v == verdict::won || v == verdict::refused) && took <= settings_.node_timeout) {
        round_trip_ = round_trip_ == nanos{} ? took : round_trip_ + (took - round_trip_) / 8;
    }
    wait_state& w = op.wait;
    shared_.stats.notified_attempts_refused += w.was_notified && v != verdict::won ? 1 : 0;
    if (w.is_poll && ((r.keyed | r.tally.granted_by()) & bit(w.node)) != 0 &&
        w.refused_until > shared_.now + settings_.node_timeout) {
        note_silence(op);
    }
    w.is_poll = false;
}

void fair_queue::on_granted(operation& op, instant end) noexcept
{
    lease& l = *op.subject;
    shared_.stats.notified_attempts_granted += op.wait.was_notified ? 1 : 0;
    const bool is_new_use = op.wait.has_ticket && uses_.find(key_of_use(l), shared_.now) == nullptr;
    recent_uses::use& use = uses_.note(key_of_use(l), shared_.now, end);
    if (op.wait.has_ticket) {
        use.asked = shared_.now;
        if (is_new_use) {
            use.do_others_wait = true;  // until the node answers whether they do
            use.member = op.wait.member;
        }
        leave(op);
        return;
    }
    leave(op);
    if (settings_.fair_queue && shared_.now - use.asked >= recent_uses::remembered) {
        use.asked = shared_.now;
        try {
            ask_for_others(l);
        } catch (const std::bad_alloc&) {
            return;  // it asks after a later use
        }
    }
}

/// A client that uses the lock without a break does not hear of others otherwise.
void fair_queue::ask_for_others(lease& l)
{
    for (std::size_t i = 0; i < l.resources().size(); ++i) {
        const std::string& resource = l.resources()[i];
        if (const auto index = queue_node(resource)) {
            nodes_[*index]->tickets().leave(l, resource, {},
                                            l.group ? static_cast<unsigned>(i) + 1 : 0);
        }
    }
}

instant fair_queue::begin_pause(operation& op, const round& r, verdict v, nanos backoff)
{
    wait_state& w = op.wait;
    w.backoff = backoff;
    const bool is_known = op.subject->group ? r.member > 0 : op.subject->leads;
    if (v != verdict::won && r.tally.refused() > 0) {
        w.refused_until = r.holder_ttl ? shared_.now + *r.holder_ttl : unknown_end;
    }
    if (w.attempt_due) {
        w.poll_at = shared_.now + std::min(backoff, least_wait);
    } else if (v == verdict::refused && is_known) {
        move_to_queue_of(op, r.member);
        if (!ask_place(op)) {
            watch_without_ticket(op);
        }
    } else {
        leave(op);
        w.poll_at = shared_.now + backoff;
    }
    return end_of_pause(op);
}

/// Among several resources, another one is in the way now. The acquire keeps its ticket, so that
/// clients after it leave it the first resource until the other one is free, too.
void fair_queue::move_to_queue_of(operation& op, unsigned member)
{
    wait_state& w = op.wait;
    if (w.member == member) {
        return;
    }
    if (w.has_ticket) {
        w.kept.push_back({w.member, w.node});
        w.has_ticket = false;
    }
    if (w.at != stage::none) {
        end_wait(op);
    }
    w.member = member;
    w.predecessor = {};
    w.idle_since.reset();
    const auto its = std::ranges::find(w.kept, member, &wait_state::kept_ticket::member);
    if (its != w.kept.end()) {
        w.has_ticket = true;
        w.node = its->node;
        w.kept.erase(its);
    }
}

/// False: no node can be asked for a place.
bool fair_queue::ask_place(operation& op)
{
    wait_state& w = op.wait;
    const auto index = queue_node(awaited_resource(op));
    if (!index) {
        leave(op);
        return false;
    }
    if (w.has_ticket && w.node != *index) {
        give_ticket_back(op);
    }
    if (w.own == ticket{}) {
        const auto made = ticket::make(shared_.random);
        if (!made) {
            return false;
        }
        w.own = *made;
    }
    enter(op, stage::asked, *index);
    nodes_[*index]->tickets().ask_place(
        *op.subject, {.resource = awaited_resource(op),
                      .own = w.own,
                      .number = w.number,
                      .ttl = std::chrono::ceil<std::chrono::milliseconds>(2 * longest_poll()),
                      .still_before = is_idle(op) ? w.before.value_or(0) : 0});
    w.has_ticket = true;
    // If the client reports the queue, the node may change the key that is watched, and does not
    // notify this client of that.
    w.is_watched = w.is_watched && !is_idle(op);
    set_poll(op, shared_.now + settings_.node_timeout);
    return true;
}

/// The acquire goes on, and asks for its place.
void fair_queue::ask_again(operation& op) noexcept
{
    wait_state& w = op.wait;
    w.at = stage::behind;
    w.is_notified = true;
    w.is_watched = false;
    go_on(op);
}

void fair_queue::on_place(const lease& l, unsigned index, place_answer what,
                          const queue_place& found) noexcept
{
    operation* const op = waiter_of(l, index);
    if (op == nullptr || op->wait.at != stage::asked) {
        return;
    }
    switch (what) {
        case place_answer::placed: on_placed(*op, found); return;
        case place_answer::again: ask_again(*op); return;
        case place_answer::refused:
            give_ticket_back(*op);
            watch_without_ticket(*op);
            return;
    }
}

void fair_queue::on_placed(operation& op, const queue_place& found) noexcept
{
    wait_state& w = op.wait;
    const bool is_watched = note_place(op, found) && w.is_watched;
    if (found.before == 0) {
        enter(op, stage::first, w.node);
        if (found.lock_ttl == no_key) {
            on_lock_free(op);
        } else {
            watch(op);
        }
    } else if (found.predecessor) {
        enter(op, stage::behind, w.node);
        if (is_watched && !nodes_[w.node]->notifications().is_silent()) {
            w.is_watched = true;
            w.watched_since = shared_.now;
            set_poll(op, end_of_watch(op));
        } else {
            watch(op);
        }
    } else if (found.removed > 0) {
        ask_again(op);  // the node removes 100 at most
    } else {
        // The ticket before is of a stranger, and cannot be watched.
        enter(op, stage::behind, w.node);
        set_poll(op, shared_.now + std::max<nanos>(settings_.backoff_max, least_wait));
    }
}

/// True: the ticket before its own is the same as by the last answer.
bool fair_queue::note_place(operation& op, const queue_place& found) noexcept
{
    wait_state& w = op.wait;
    const ticket predecessor = found.predecessor.value_or(ticket{});
    const bool is_same = predecessor == w.predecessor;
    const bool was_poll = std::exchange(w.is_poll, false);
    if (was_poll && !is_same) {
        note_silence(op);
    }
    // After a notification, the lock is often free for a moment.
    const bool may_be_idle = was_poll || found.before == 1 || !found.predecessor ||
                             !nodes_[w.node]->notifications().can_track();
    if (found.lock_ttl != no_key) {
        w.found_free = false;
        w.refused_until = end_of_key(found.lock_ttl);
    }
    const bool has_moved = !is_same || w.before != found.before;
    if (found.lock_ttl != no_key || (has_moved && found.before > 1)) {
        w.idle_since.reset();
    } else if (may_be_idle && (has_moved || !w.idle_since)) {
        w.idle_since = shared_.now;
    }
    if (!is_same) {
        w.watched_since = shared_.now;
    }
    w.predecessor = predecessor;
    w.before = found.before;
    if (std::exchange(w.number, found.number) == 0) {
        ++shared_.stats.tickets;
        shared_.stats.ticket_positions += found.before;
    }
    shared_.stats.tickets_skipped += found.removed;
    if (found.removed > 0) {
        // One that was taken for dead may be alive. Then it comes back at its next poll.
        const instant next_poll = shared_.now + settings_.max_poll_interval;
        uses_.note(key_of_use(*op.subject), shared_.now, next_poll).may_return_until = next_poll;
    }
    return is_same;
}

void fair_queue::leave(operation& op) noexcept
{
    wait_state& w = op.wait;
    w.poll_at = {};
    give_ticket_back(op);
    for (const wait_state::kept_ticket& each : w.kept) {
        give_back(op, each.member, each.node);
    }
    w.kept.clear();
    if (w.at != stage::none) {
        end_wait(op);
    }
}

void fair_queue::give_ticket_back(operation& op) noexcept
{
    if (std::exchange(op.wait.has_ticket, false)) {
        give_back(op, op.wait.member, op.wait.node);
    }
}

void fair_queue::give_back(operation& op, unsigned member, unsigned node) noexcept
{
    const std::string_view resource = name_of(*op.subject, member);
    const ticket& own = op.wait.own;
    tickets& of_node = nodes_[node]->tickets();
    if (!of_node.can_serve()) {
        of_node.leave_later(resource, own);
        return;
    }
    try {
        of_node.leave(*op.subject, resource, own.name(), member);
    } catch (const std::bad_alloc&) {
        return;  // the next waiter finds out
    }
    on_ticket_gone(resource, own);
}

void fair_queue::pass_on(operation& op, operation& next) noexcept
{
    if (op.wait.at == stage::none) {
        return;
    }
    // A single resource, so this needs no memory.
    next.wait = std::exchange(op.wait, {});
    // An answer on its way is for the lease of `op`, so the next one asks again.
    if (next.wait.at == stage::asked || !next.wait.is_watched) {
        next.wait.at = next.wait.has_ticket ? stage::behind : stage::first;
        next.wait.poll_at = shared_.now;
        next.wait.is_notified = next.wait.has_ticket;
    }
}

void fair_queue::on_left(const lease& l, unsigned member, bool others_wait) noexcept
{
    recent_uses::use* const use = uses_.find(key_of_use(l), shared_.now);
    if (use == nullptr || (!others_wait && use->member != member)) {
        return;
    }
    if (others_wait) {
        // One that wants several resources may leave to wait for another one of them.
        use->may_return_until =
            std::max(use->may_return_until, shared_.now + recent_uses::remembered);
    }
    use->do_others_wait = others_wait || shared_.now < use->may_return_until;
    use->member = member;
}

/// The acquire waits for something else, or at another node.
void fair_queue::enter(operation& op, stage at, unsigned node)
{
    wait_state& w = op.wait;
    if (w.at == stage::none) {
        if (op.subject->group) {
            groups_[hash_of(awaited_resource(op))].push_back(op);
        }
    } else {
        --shared_.waiters_at[w.node];
    }
    // While it asks for its place, the node may still notify it of the ticket before its own.
    w.is_watched = w.is_watched && at == stage::asked && w.node == node;
    w.at = at;
    w.node = static_cast<std::uint8_t>(node);
    ++shared_.waiters_at[node];
}

/// The acquire waits for nothing any more.
void fair_queue::end_wait(operation& op) noexcept
{
    wait_state& w = op.wait;
    --shared_.waiters_at[w.node];
    w.at = stage::none;
    w.is_watched = w.is_poll = false;
    if (op.subject->group) {
        const auto its = groups_.find(hash_of(awaited_resource(op)));
        its->second.remove(op);
        if (its->second.empty()) {
            groups_.erase(its);
        }
    }
}

}  // namespace redlock::core
