#pragma once

#include <redlock/config.hpp>

#include "core/votes.hpp"

#include <array>
#include <cstdint>
#include <optional>

namespace redlock::core {

/// A counter below this was never set from a clock: it is new, or was lost and began again. Under
/// the restart guard the limit of a node is higher: see `least_counter`.
inline constexpr std::int64_t least_seeded_counter = 1'000'000'000'000'000;

/// The largest value of a counter. Scripts count in doubles, which are exact only up to 2^53.
inline constexpr std::int64_t largest_counter = (std::int64_t{1} << 53) - 3;

/**
 * The fencing counters of the nodes in one attempt, and the token that follows from them.
 *
 * A node has voted v for a lease if it granted the key, and a command of that lease changed its
 * counter to v. The values of a counter only grow, so a node votes for each value once. Two
 * majorities share a node. So a value with the votes of a majority is a token that no other lease
 * gets. It is also larger than every token that was known when the attempt began. No clock is part
 * of that, and the nodes need not hold the keys any longer: docs/design/models.md.
 */
class fencing_votes {
public:
    /// `date_us`: the wall clock when the attempt begins.
    void reset(unsigned nodes, std::int64_t date_us) noexcept;

    /// The seed of new counters.
    [[nodiscard]] std::int64_t date_us() const noexcept { return date_us_; }

    /// The client asks the node to align its counter, until `end_alignment` or `end_alignments`.
    void begin_alignment(unsigned node) noexcept { aligning_ |= bit(node); }
    void end_alignment(unsigned node) noexcept { aligning_ &= ~bit(node); }
    void end_alignments() noexcept { aligning_ = 0; }
    /// Nodes that have not answered their last alignment.
    [[nodiscard]] node_mask aligning() const noexcept { return aligning_; }

    /// Keeps the new value of the node's counter while the node's vote lacks something else.
    void hold(unsigned node, std::int64_t value) noexcept
    {
        values_[node] = value;
        held_ |= bit(node);
    }
    [[nodiscard]] std::optional<std::int64_t> held(unsigned node) const noexcept
    {
        return (held_ & bit(node)) != 0 ? std::optional{values_[node]} : std::nullopt;
    }
    /// A command of this lease changed the node's counter to `value`. `is_new`: the counter is new,
    /// or from before the node was admitted. The node may then have voted for the value before, so
    /// this is no vote.
    void vote(unsigned node, std::int64_t value, bool is_new) noexcept;
    /// The node's counter is at `value`. Another lease has changed it, unless the node has voted
    /// for that value.
    void found(unsigned node, std::int64_t value) noexcept;
    /// The node does not let its counter be aligned to `value`, which is too far beyond its date.
    void bound(unsigned node, std::int64_t value) noexcept;
    /// The client does not align the node's counter any more. A vote that the node has cast still
    /// counts.
    void settle(unsigned node) noexcept;
    /// The node's counter is of no use: the key has gone, or the value is not valid.
    void drop(unsigned node) noexcept { known_ &= ~bit(node); }

    /// Nodes that have returned their counter, and whose votes count.
    [[nodiscard]] node_mask known() const noexcept { return known_; }
    /// The value that a quorum has voted for; empty: there is none.
    [[nodiscard]] std::optional<std::uint64_t> agreed() const noexcept;
    /// The least value that a quorum of `nodes` has voted for or can be aligned to; empty: there is
    /// none. So neither a counter that is far ahead nor one that lags decides alone. `headroom`:
    /// how far to aim above counters that other clients increment.
    [[nodiscard]] std::optional<std::int64_t> target(node_mask nodes,
                                                     std::int64_t headroom) const noexcept;
    /// The number of nodes that have voted for one value, or could; the largest for any value.
    [[nodiscard]] unsigned most_followers() const noexcept;
    /// Whether the node has voted for `value`.
    [[nodiscard]] bool has_voted(unsigned node, std::int64_t value) const noexcept
    {
        return (known_ & voted_ & bit(node)) != 0 && values_[node] == value;
    }
    /// Whether the node's counter could be aligned to `value`.
    [[nodiscard]] bool is_below(unsigned node, std::int64_t value) const noexcept
    {
        const bool rises = (new_ & bit(node)) != 0 || values_[node] < value;
        return (known_ & bit(node)) != 0 && rises && value < bounds_[node];
    }

private:
    void set(unsigned node, std::int64_t value) noexcept;
    [[nodiscard]] unsigned followers(std::int64_t value, node_mask nodes,
                                     std::int64_t headroom) const noexcept;
    [[nodiscard]] std::int64_t least(unsigned node, std::int64_t headroom) const noexcept;

    std::array<std::int64_t, max_nodes> values_;
    std::array<std::int64_t, max_nodes> bounds_;
    node_mask held_ = 0;
    node_mask known_ = 0;
    node_mask voted_ = 0;
    node_mask new_ = 0;
    node_mask aligning_ = 0;
    unsigned nodes_ = 0;
    std::int64_t date_us_ = 0;
};

}  // namespace redlock::core
