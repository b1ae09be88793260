#include "core/fencing.hpp"

#include <algorithm>
#include <limits>

namespace redlock::core {

void fencing_votes::reset(unsigned nodes, std::int64_t date_us) noexcept
{
    nodes_ = nodes;
    date_us_ = date_us;
    held_ = known_ = voted_ = new_ = aligning_ = 0;
}

void fencing_votes::set(unsigned node, std::int64_t value) noexcept
{
    if ((known_ & bit(node)) == 0) {
        bounds_[node] = std::numeric_limits<std::int64_t>::max();
    }
    values_[node] = value;
    known_ |= bit(node);
}

void fencing_votes::vote(unsigned node, std::int64_t value, bool is_new) noexcept
{
    set(node, value);
    // A counter without a seed begins at one again after each loss, so the node may have voted for
    // this value before.
    if (is_new) {
        new_ |= bit(node);
        voted_ &= ~bit(node);
    } else {
        new_ &= ~bit(node);
        voted_ |= bit(node);
    }
}

void fencing_votes::found(unsigned node, std::int64_t value) noexcept
{
    if (!has_voted(node, value)) {
        set(node, value);
        new_ &= ~bit(node);
        voted_ &= ~bit(node);
    }
}

void fencing_votes::bound(unsigned node, std::int64_t value) noexcept
{
    bounds_[node] = value;
}

void fencing_votes::settle(unsigned node) noexcept
{
    if ((voted_ & bit(node)) != 0) {
        bound(node, 0);
    } else {
        drop(node);
    }
}

std::optional<std::uint64_t> fencing_votes::agreed() const noexcept
{
    const unsigned quorum = votes{nodes_}.quorum();
    const node_mask voted = known_ & voted_;
    for (unsigned i = 0; i < nodes_; ++i) {
        unsigned same = 0;
        for (unsigned j = i; j < nodes_ && (voted & bit(i)) != 0; ++j) {
            same += (voted & bit(j)) != 0 && values_[j] == values_[i] ? 1u : 0u;
        }
        if (same >= quorum) {
            return static_cast<std::uint64_t>(values_[i]);
        }
    }
    return std::nullopt;
}

/// The value that the node has voted for, or the least one that its counter can be aligned to. A
/// new counter can be aligned to any value. If that value is before the date, the node's script
/// goes up to the date.
std::int64_t fencing_votes::least(unsigned node, std::int64_t headroom) const noexcept
{
    if ((new_ & bit(node)) != 0) {
        return least_seeded_counter;
    }
    const std::int64_t value = values_[node];
    return (voted_ & bit(node)) != 0 ? value : value + 1 + headroom;
}

unsigned fencing_votes::followers(std::int64_t value, node_mask nodes,
                                  std::int64_t headroom) const noexcept
{
    unsigned count = 0;
    for (unsigned i = 0; i < nodes_; ++i) {
        const bool follows = (nodes & bit(i)) != 0 && least(i, headroom) <= value &&
                             (value < bounds_[i] || has_voted(i, value));
        count += follows ? 1u : 0u;
    }
    return count;
}

unsigned fencing_votes::most_followers() const noexcept
{
    unsigned most = 0;
    for (unsigned i = 0; i < nodes_; ++i) {
        if ((known_ & bit(i)) != 0) {
            most = std::max(most, followers(least(i, 0), known_, 0));
        }
    }
    return most;
}

std::optional<std::int64_t> fencing_votes::target(node_mask nodes,
                                                  std::int64_t headroom) const noexcept
{
    const node_mask asked = known_ & nodes;
    std::optional<std::int64_t> best;
    for (unsigned i = 0; i < nodes_; ++i) {
        const std::int64_t value = (asked & bit(i)) != 0 ? least(i, headroom) : -1;
        if (value >= 0 && (!best || value < *best) &&
            followers(value, asked, headroom) >= votes{nodes_}.quorum()) {
            best = value;
        }
    }
    return best;
}

}  // namespace redlock::core
