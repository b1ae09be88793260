#pragma once

#include <redlock/config.hpp>

#include "core/votes.hpp"

#include <array>
#include <cstdint>
#include <optional>

namespace redlock::core {

/// A counter below this was never set by a clock: it is new, or was lost. Under the restart guard
/// so is one that was last set before the node was admitted: `node::least_counter`.
inline constexpr std::int64_t least_seeded_counter = 1'000'000'000'000'000;

/// Scripts count in doubles: the last whole number that all of them can tell from its neighbours.
inline constexpr std::int64_t largest_counter = (std::int64_t{1} << 53) - 3;

/**
 * What the nodes' counters say of one attempt, and the fencing token that comes of it.
 *
 * A node has voted v for a lease when it granted the key and its counter became v by that lease's
 * doing. As values of a counter only grow, each is voted once, and two majorities share a node, so
 * that a value voted by a majority is a token nobody else gets, larger than any that was known when
 * the lease was begun. No clock is part of that, nor that the keys are still held:
 * docs/design/models.md.
 */
class fencing_votes {
public:
    /// `date_us`: the wall clock as the attempt begins.
    void reset(unsigned nodes, std::int64_t date_us) noexcept;

    /// For counters that are new.
    [[nodiscard]] std::int64_t date_us() const noexcept { return date_us_; }

    /// The client asks the node to align its counter, until `end_alignment` or `end_alignments`.
    void begin_alignment(unsigned node) noexcept { aligning_ |= bit(node); }
    void end_alignment(unsigned node) noexcept { aligning_ &= ~bit(node); }
    void end_alignments() noexcept { aligning_ = 0; }
    /// Nodes that have not answered their last alignment.
    [[nodiscard]] node_mask aligning() const noexcept { return aligning_; }

    /// What the node's counter became, while its vote lacks something else.
    void hold(unsigned node, std::int64_t value) noexcept
    {
        values_[node] = value;
        held_ |= bit(node);
    }
    [[nodiscard]] std::optional<std::int64_t> held(unsigned node) const noexcept
    {
        return (held_ & bit(node)) != 0 ? std::optional{values_[node]} : std::nullopt;
    }
    /// The node's counter became `value` by this lease's doing. One that is new yet, or of an
    /// earlier time, may have voted that before: it is no vote.
    void vote(unsigned node, std::int64_t value, bool is_new) noexcept;
    /// The node's counter stands at `value`, by another's doing unless it voted that.
    void found(unsigned node, std::int64_t value) noexcept;
    /// The node does not let its counter be raised to `value`, which is too far beyond its date.
    void bound(unsigned node, std::int64_t value) noexcept;
    /// The node is raised no more: what it has voted it has voted.
    void settle(unsigned node) noexcept;
    /// What the node has told is no vote: its key has gone, or its counter is none.
    void drop(unsigned node) noexcept { known_ &= ~bit(node); }

    /// Nodes that have told their counter, and whose votes count.
    [[nodiscard]] node_mask known() const noexcept { return known_; }
    /// What a quorum voted.
    [[nodiscard]] std::optional<std::uint64_t> agreed() const noexcept;
    /// The least that a quorum of `nodes` has voted or can be raised to, so that neither a counter
    /// that ran away nor one that lags decides alone. Nothing if there is no such value.
    /// `headroom`: how far above a counter to aim that others went on with.
    [[nodiscard]] std::optional<std::int64_t> target(node_mask nodes,
                                                     std::int64_t headroom) const noexcept;
    /// How many nodes have voted one value, or could.
    [[nodiscard]] unsigned most_followers() const noexcept;
    /// The node has voted `value`.
    [[nodiscard]] bool has_voted(unsigned node, std::int64_t value) const noexcept
    {
        return (known_ & voted_ & bit(node)) != 0 && values_[node] == value;
    }
    /// The node could be raised to `value`.
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
