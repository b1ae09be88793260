#include "core/coordinator.hpp"
#include "core/ranking.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

// Those who want a lock at one time, as they were woken together, ask one node first.
namespace redlock::core {

namespace {

/// Who has let others in so often, one time after the other, and met none of them is alone again.
constexpr unsigned believed_alone = 3;

}  // namespace

/// Of these nodes the one that all clients prefer for the resource, or for the same ones of
/// several, in whatever order they name them.
std::optional<unsigned> coordinator::first_for(const lease& l, node_mask these) const noexcept
{
    const auto names = l.resources();
    const std::uint64_t resource = name_hash(*std::min_element(names.begin(), names.end()));
    std::optional<unsigned> first;
    std::uint64_t best = 0;
    for (unsigned i = 0; i < nodes_.size(); ++i) {
        const std::uint64_t its = rank(resource, nodes_[i]->name());
        if ((these & bit(i)) != 0 && (!first || its > best)) {
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
    const bool is_late_comer = settings_.release_notifications && op.attempts_made == 0 &&
                               !op.is_next && op.deadline - shared_.now > settings_.node_timeout &&
                               is_contended(*op.subject);
    if (!(op.is_woken || is_late_comer) || !settings_.asks_one_first || op.attempts_left == 1) {
        return std::nullopt;
    }
    return gate_of(*op.subject);
}

std::optional<unsigned> coordinator::gate_of(const lease& l) const noexcept
{
    node_mask may_vote = 0;
    node_mask can_tell = 0;
    for (unsigned i = 0; i < nodes_.size(); ++i) {
        if (nodes_[i]->takes_requests() && !nodes_[i]->is_quarantined()) {
            may_vote |= bit(i);
            can_tell |= nodes_[i]->can_track() ? bit(i) : 0;
        }
    }
    // Better one that can tell at once when it is worth asking again.
    return first_for(l, can_tell != 0 ? can_tell : may_vote);
}

/// An acquire of the client was lost to others not long ago, and it has not let them in three times
/// in a row since and met nobody.
bool coordinator::is_contended(const lease& l) const noexcept
{
    const stint* const s = remembered(l);
    if (s == nullptr || s->contended_until <= shared_.now) {
        return false;
    }
    const stint& turns = l.line != nullptr ? l.line->of_client : *s;
    return turns.lonely_rests < believed_alone;
}

void coordinator::ask_first(round& r, unsigned gate)
{
    r.gate = bit(gate);
    r.of->keys_end = std::max(r.of->keys_end, shared_.now + r.of->ttl);
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
    if (shared_.now >= op.deadline) {
        return false;
    }
    const node_mask gate = std::exchange(r.gate, 0);
    r.closed = false;
    r.asks_ttl = r.asks_ttl && op.report != nullptr;
    if (r.is_linked()) {
        by_deadline_.remove(r);
    }
    r.deadline = shared_.now + settings_.node_timeout;
    by_deadline_.push_back(r);
    encoded_row same;
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

}  // namespace redlock::core
