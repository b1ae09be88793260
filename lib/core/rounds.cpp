#include "core/coordinator.hpp"
#include "core/waits.hpp"

#include <algorithm>
#include <cassert>
#include <new>

// A round's life: begun, sent to every node, voted on, decided or expired.
namespace redlock::core {

namespace {

/// What is held is extended everywhere. What else a node says that may have forgotten locks is of
/// no use.
constexpr bool may_be_asked_in_quarantine(round_kind what) noexcept
{
    return what == round_kind::extend;
}

}  // namespace

round& coordinator::new_round(operation& op, round_kind what, bool asks_ttl)
{
    const bool is_told = op.what == operation::kind::renew && settings_.on_renewal;
    const bool wants_details =
        op.report != nullptr || is_told || asks_ttl || what == round_kind::inspect;
    round& r = rounds_.take();
    r.details = nullptr;
    if (wants_details) {
        try {
            r.details = &details_.take();
        } catch (...) {
            rounds_.give(r);
            throw;
        }
        std::fill_n(r.details->nodes.begin(), nodes_.size(), round_details::of_node{});
    }
    reset(r, what, op.subject->root());
    r.asks_ttl = asks_ttl;
    r.asks_label = op.what == operation::kind::adopt || (op.report != nullptr && is_attempt(what));
    r.deadline = shared_.now + settings_.node_timeout;
    r.ttl = op.ttl;
    by_deadline_.push_back(r);
    return r;
}

/// A record that may have served another round, but for its details.
void coordinator::reset(round& r, round_kind what, lease& of) noexcept
{
    r.what = what;
    r.of = &of;
    ref(of);
    r.t0 = shared_.now;
    r.tally = votes{static_cast<unsigned>(nodes_.size())};
    r.parked = r.gate = r.awaits_proof = r.keyed = r.sent_again = 0;
    r.held = 0;
    r.every_node = r.asks_label = r.asks_ttl = false;
    r.closed = false;
    r.fencing = nullptr;
    r.partner = nullptr;
    r.target = 0;
    r.waiter = nullptr;
    r.holder_ttl.reset();
    r.references = 1;
}

void coordinator::fan_out(round& r)
{
    encoded_row same;
    for (unsigned i = 0; i < nodes_.size(); ++i) {
        ask(r, i, same);
    }
    consider(r);
}

void coordinator::ask(round& r, unsigned index, encoded_row& same)
{
    node& n = *nodes_[index];
    if (r.what == round_kind::align) {
        ask_raise(r, index);
    } else if (r.what == round_kind::release) {
        if (const auto known = n.send_release(r, same)) {
            set_vote(r, index, *known, n.trouble());
        }
    } else if (n.is_quarantined() && !may_be_asked_in_quarantine(r.what)) {
        set_vote(r, index, node_outcome::quarantined, n.quarantine_reason());
    } else if (n.takes_requests()) {
        send(r, index, same);
    } else if (n.may_come()) {
        r.parked |= bit(index);
    } else {
        set_vote(r, index, n.is_ready() ? node_outcome::stalled : node_outcome::disconnected,
                 n.is_ready() ? n.why_stalled() : n.trouble());
    }
}

void coordinator::send(round& r, unsigned index, encoded_row& same)
{
    // Of nodes that were waited for it may be sent later than of the others.
    if (r.what == round_kind::extend) {
        r.of->keys_end = std::max(r.of->keys_end, shared_.now + r.ttl);
    } else if (r.what != round_kind::inspect) {
        r.of->keys_end = std::max(r.of->keys_end, shared_.now + r.of->ttl);
    }
    if (nodes_[index]->role_due() <= shared_.now) {
        nodes_[index]->ask_role();
    }
    nodes_[index]->ask(r, same);
}

/// The deadline has passed: whoever has not voted by now has failed, and is given nothing new until
/// it has caught up.
void coordinator::expire(round& r) noexcept
{
    by_deadline_.remove(r);
    ref(r);
    for (unsigned i = 0; i < nodes_.size(); ++i) {
        if ((r.tally.open_nodes() & bit(i)) == 0 || (r.gate != 0 && r.gate != bit(i))) {
            continue;
        }
        if ((r.parked & bit(i)) != 0) {
            set_vote(r, i, node_outcome::disconnected, nodes_[i]->trouble());
            continue;
        }
        if (r.refused_itself(i)) {
            const std::string_view own = nodes_[i]->own_key_error(*r.of);
            set_vote(r, i, own.empty() ? node_outcome::refused : node_outcome::failed, own);
            continue;
        }
        const bool was_asked =
            r.what != round_kind::align || (r.partner->fencing->known() & bit(i)) != 0;
        if (was_asked) {
            ++shared_.stats.node_timeouts;
        }
        if (was_asked && nodes_[i]->is_ready()) {
            nodes_[i]->mark_stalled();
        }
        set_vote(r, i, node_outcome::timed_out, not_in_time_);
    }
    r.parked = 0;
    if (r.what == round_kind::align) {
        r.partner->fencing->await_no_raise();  // nor is it waited for them any longer
    }
    consider(r);
    unref(r);
}

verdict coordinator::outcome_of(const round& r) const noexcept
{
    switch (r.what) {
        case round_kind::set:
        case round_kind::take: break;
        case round_kind::extend: return r.tally.of_extend();
        case round_kind::release: return r.tally.of_release();
        case round_kind::inspect:
            return r.every_node && r.tally.open() > 0 ? verdict::open : outcome_of_inspect(r);
        case round_kind::align: return outcome_of_raise(r);
    }
    return r.tally.of_acquire();
}

/// Wakes the flow at the vote that decides; what the node that is asked first does decides whether
/// others are.
void coordinator::consider(round& r) noexcept
{
    if (r.closed) {
        return;
    }
    const bool is_decided = r.gate != 0 ? (r.gate & (r.keyed | ~r.tally.open_nodes())) != 0
                                        : outcome_of(r) != verdict::open;
    if (is_decided) {
        r.closed = true;
        if (r.waiter != nullptr) {
            resume_later(*r.waiter);
        }
    }
}

void coordinator::set_vote(round& r, unsigned index, node_outcome outcome,
                           std::string_view error) noexcept
{
    switch (outcome) {
        case node_outcome::undecided: return;
        case node_outcome::granted: r.tally.grant(index); break;
        case node_outcome::refused:
            r.tally.refuse(index);
            if (is_attempt(r.what)) {
                note_refusal(r);
            }
            break;
        case node_outcome::not_asked:
            // Only of a release: a node that never was given the key has none.
            r.tally.refuse(index);
            break;
        case node_outcome::timed_out:
        case node_outcome::disconnected:
        case node_outcome::stalled:
        case node_outcome::quarantined:
        case node_outcome::failed: r.tally.fail(index); break;
    }
    if (r.details != nullptr) {
        r.details->nodes[index].outcome = outcome;
        r.details->nodes[index].elapsed = shared_.now - r.t0;
        explain(r, index, error);
    }
}

void coordinator::explain(round& r, unsigned index, std::string_view why) noexcept
{
    if (r.details == nullptr) {
        return;
    }
    std::string& told = r.details->nodes[index].error;
    try {
        told = why;
    } catch (const std::bad_alloc&) {
        told.clear();  // the vote counts, whatever can be said of it
    }
}

void coordinator::on_vote(round& r, unsigned index, node_outcome outcome,
                          std::string_view error) noexcept
{
    if (r.tally.has_voted(index)) {
        ++shared_.stats.late_replies;
        return;
    }
    set_vote(r, index, outcome, error);
    consider(r);
    const bool is_being_aligned = r.partner != nullptr && r.what != round_kind::align;
    if (is_being_aligned && outcome != node_outcome::granted &&
        !r.partner->tally.has_voted(index)) {
        // There will be nothing to raise.
        r.partner->tally.fail(index);
        consider(*r.partner);
    }
}

void coordinator::on_keys_set(round& r)
{
    if (r.what == round_kind::extend) {
        expect_longer(*r.of);
    } else if (r.gate != 0) {
        consider(r);  // the rest of the vote can be asked for now
    }
}

// Nodes come and go.

void coordinator::on_connection(unsigned index, connection_event what)
{
    switch (what) {
        case connection_event::ready:
            note_connections();
            on_ready(index);
            return;
        case connection_event::lost: note_connections(); return;
        case connection_event::unreachable: on_gone(index); return;
    }
}

void coordinator::on_ready(unsigned index)
{
    ++shared_.stats.connects;
    for (round* r = by_deadline_.empty() ? nullptr : &by_deadline_.front(); r != nullptr;
         r = by_deadline_.after(*r)) {
        const bool is_wanted = !r->closed || r->partner != nullptr;
        if ((r->parked & bit(index)) != 0 && is_wanted && r->deadline > shared_.now) {
            r->parked &= ~bit(index);
            if (nodes_[index]->is_quarantined() && !may_be_asked_in_quarantine(r->what)) {
                on_vote(*r, index, node_outcome::quarantined, nodes_[index]->quarantine_reason());
                continue;
            }
            encoded_row same;
            send(*r, index, same);
        }
    }
    on_contact();
}

/// Whoever waited for a node to become ready need not wait for it any longer.
void coordinator::on_gone(unsigned index) noexcept
{
    for (round* r = by_deadline_.empty() ? nullptr : &by_deadline_.front(); r != nullptr;
         r = by_deadline_.after(*r)) {
        if ((r->parked & bit(index)) != 0) {
            r->parked &= ~bit(index);
            on_vote(*r, index, node_outcome::disconnected, nodes_[index]->trouble());
        }
    }
    on_contact();
}

void coordinator::on_contact() noexcept
{
    while (!newcomers_.empty() && !is_settling()) {
        resume_later(newcomers_.front());
    }
}

void coordinator::note_connections() noexcept
{
    const auto ready =
        std::ranges::count_if(nodes_, [](const auto& n) noexcept { return n->is_ready(); });
    outage_.on_connections(shared_.now, static_cast<std::size_t>(ready) >= settings_.quorum);
}

/// Whether a majority is still being connected to for the first time.
bool coordinator::is_settling() const noexcept
{
    std::size_t ready = 0;
    bool unproven = false;
    for (const auto& n : nodes_) {
        ready += n->is_ready() ? 1u : 0u;
        unproven = unproven || n->is_unproven();
    }
    return unproven && ready < settings_.quorum;
}

}  // namespace redlock::core
