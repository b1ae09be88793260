#include "core/quorum/rounds.hpp"

#include "base/text.hpp"
#include "core/operation.hpp"
#include "core/quorum/inspection.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

// The life of a round: it begins, asks the nodes, collects their votes, and is decided or expires.
namespace redlock::core {

namespace {

/// A held lease is extended on every node. Other answers are of no use if the node may have
/// forgotten locks.
constexpr bool may_be_asked_in_quarantine(round_kind what) noexcept
{
    return what == round_kind::extend;
}

}  // namespace

rounds::rounds(node_context& shared, const node_list& nodes, base::wall_clock& date,
               round_listener& listener)
    : shared_(shared),
      settings_(shared.settings),
      nodes_(nodes),
      date_(date),
      listener_(listener),
      not_in_time_("no answer within node_timeout, " +
                   base::duration_text(std::chrono::duration_cast<std::chrono::milliseconds>(
                       shared.settings.node_timeout)))
{}

round& rounds::begin(const round_request& request)
{
    round& r = records_.take();
    r.details = nullptr;
    if (request.wants_details) {
        try {
            r.details = &details_.take();
        } catch (...) {
            records_.give(r);
            throw;
        }
        std::fill_n(r.details->nodes.begin(), nodes_.size(), round_details::of_node{});
        r.details->clients_waiting.reset();
        r.details->first_waits_for.reset();
    }
    reset(r, request.what, request.of);
    r.asks_ttl = request.asks_ttl;
    r.asks_label = request.asks_label;
    r.every_node = request.every_node;
    r.deadline = shared_.now + settings_.node_timeout;
    r.ttl = request.ttl;
    by_deadline_.push_back(r);
    return r;
}

/// Sets what is equal in all new rounds, because the record may have served another one.
void rounds::reset(round& r, round_kind what, lease& of) noexcept
{
    r.what = what;
    r.of = &of;
    ++of.references;
    r.t0 = shared_.now;
    r.tally = votes{static_cast<unsigned>(nodes_.size())};
    r.parked = r.asks_queue = r.awaits_proof = r.keyed = 0;
    r.member = 0;
    r.every_node = r.asks_label = r.asks_ttl = false;
    r.closed = false;
    r.fencing = nullptr;
    r.partner = nullptr;
    r.target = 0;
    r.waiter = nullptr;
    r.holder_ttl.reset();
    r.references = 1;
}

void rounds::fan_out(round& r)
{
    encoded_row same;
    for (unsigned i = 0; i < nodes_.size(); ++i) {
        ask(r, i, same);
    }
    consider(r);
}

void rounds::ask(round& r, unsigned index, encoded_row& same)
{
    node& n = *nodes_[index];
    if (r.what == round_kind::align) {
        ask_to_align(r, index);
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

void rounds::send(round& r, unsigned index, encoded_row& same)
{
    // A node that was not ready at first gets the command later, and its key then ends later.
    if (r.what == round_kind::extend) {
        r.of->keys_end = std::max(r.of->keys_end, shared_.now + r.ttl);
    } else if (r.what != round_kind::inspect) {
        r.of->keys_end = std::max(r.of->keys_end, shared_.now + r.of->ttl);
    }
    nodes_[index]->ask_role_if_due();
    nodes_[index]->ask(r, same);
}

base::instant rounds::next_deadline() const noexcept
{
    return by_deadline_.empty() ? base::instant::max() : by_deadline_.front().deadline;
}

void rounds::on_time() noexcept
{
    while (next_deadline() <= shared_.now) {
        expire(by_deadline_.front());
    }
}

/// The deadline has passed. A node without a vote has failed, and gets no new requests until it has
/// caught up.
void rounds::expire(round& r) noexcept
{
    by_deadline_.remove(r);
    ++r.references;
    for (unsigned i = 0; i < nodes_.size(); ++i) {
        if ((r.tally.open_nodes() & bit(i)) == 0) {
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
        r.partner->fencing->end_alignments();  // the attempt waits for no answer to it
    }
    consider(r);
    shared_.unref(r);
}

verdict rounds::outcome_of_other(const round& r) const noexcept
{
    switch (r.what) {
        case round_kind::set:
        case round_kind::take: break;
        case round_kind::extend: return r.tally.of_extend();
        case round_kind::release: return r.tally.of_release();
        case round_kind::inspect:
            return r.every_node && r.tally.open() > 0 ? verdict::open : outcome_of_inspection(r);
        case round_kind::align: return outcome_of_alignment(r);
    }
    return r.tally.of_acquire();
}

/// Resumes the operation at the deciding vote.
void rounds::consider(round& r) noexcept
{
    if (r.closed) {
        return;
    }
    if (outcome_of(r) != verdict::open) {
        r.closed = true;
        if (r.waiter != nullptr) {
            listener_.on_decided(*r.waiter);
        }
    }
}

inline void rounds::set_vote(round& r, unsigned index, node_outcome outcome,
                             std::string_view error) noexcept
{
    switch (outcome) {
        case node_outcome::undecided: return;
        case node_outcome::granted: r.tally.grant(index); break;
        case node_outcome::refused:
        // Only for a release: the node was never asked to set the key, so it has none.
        case node_outcome::not_asked: r.tally.refuse(index); break;
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

void rounds::explain(round& r, unsigned index, std::string_view why) noexcept
{
    if (r.details == nullptr) {
        return;
    }
    std::string& told = r.details->nodes[index].error;
    try {
        told = why;
    } catch (const std::bad_alloc&) {
        told.clear();  // the vote counts without a text
    }
}

void rounds::on_vote(round& r, unsigned index, node_outcome outcome,
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
        // A node without a grant has no counter to align.
        r.partner->tally.fail(index);
        consider(*r.partner);
    }
}

void rounds::take_back(round& r) noexcept
{
    if (r.is_linked()) {
        by_deadline_.remove(r);
    }
    if (r.details != nullptr) {
        details_.give(*std::exchange(r.details, nullptr));
    }
    if (r.fencing != nullptr) {
        fencings_.give(*std::exchange(r.fencing, nullptr));
    }
    if (r.partner != nullptr) {
        shared_.unref(*std::exchange(r.partner, nullptr));
    }
    shared_.unref(*std::exchange(r.of, nullptr));
    records_.give(r);
}

// Changes of connections.

void rounds::on_ready(unsigned index)
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
}

void rounds::on_gone(unsigned index) noexcept
{
    for (round* r = by_deadline_.empty() ? nullptr : &by_deadline_.front(); r != nullptr;
         r = by_deadline_.after(*r)) {
        if ((r->parked & bit(index)) != 0) {
            r->parked &= ~bit(index);
            on_vote(*r, index, node_outcome::disconnected, nodes_[index]->trouble());
        }
    }
}

}  // namespace redlock::core
