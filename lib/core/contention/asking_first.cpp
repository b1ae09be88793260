#include "core/contention/contention.hpp"
#include "core/node/ranking.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

// Those who want a lock at one time, as they were woken together, ask one node first.
namespace redlock::core {

namespace {

/// Who has let others in so often, one time after the other, and met none of them is alone again.
constexpr unsigned believed_alone = 3;

}  // namespace

/// Of these nodes the one that all clients prefer for the resource, or for the same ones of
/// several, in whatever order they name them.
std::optional<unsigned> contention::first_for(const lease& l, node_mask these) const noexcept
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
std::optional<unsigned> contention::first_node(const operation& op) const noexcept
{
    // Only where it leaves time for the others.
    const bool is_late_comer = settings_.release_notifications && op.attempts_made == 0 &&
                               !op.is_next && op.deadline - shared_.now > settings_.node_timeout &&
                               is_contended(*op.subject);
    if (!(op.is_woken || is_late_comer) || op.attempts_left == 1) {
        return std::nullopt;
    }
    return gate_of(*op.subject);
}

std::optional<unsigned> contention::gate_of(const lease& l) const noexcept
{
    node_mask may_vote = 0;
    node_mask can_tell = 0;
    for (unsigned i = 0; i < nodes_.size(); ++i) {
        if (nodes_[i]->takes_requests() && !nodes_[i]->is_quarantined()) {
            may_vote |= bit(i);
            can_tell |= nodes_[i]->notifications().can_track() ? bit(i) : 0;
        }
    }
    // Better one that can tell at once when it is worth asking again.
    return first_for(l, can_tell != 0 ? can_tell : may_vote);
}

/// An acquire of the client was lost to others not long ago, and it has not let them in three times
/// in a row since and met nobody.
bool contention::is_contended(const lease& l) const noexcept
{
    const stint* const s = remembered(l);
    if (s == nullptr || s->contended_until <= shared_.now) {
        return false;
    }
    const stint& turns = l.line != nullptr ? l.line->of_client : *s;
    return turns.lonely_rests < believed_alone;
}

}  // namespace redlock::core
