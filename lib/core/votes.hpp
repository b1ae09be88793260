#pragma once

#include <cstdint>

namespace redlock::core {

/// A set of nodes, one bit each, by index in `config::nodes`.
using node_mask = std::uint32_t;

[[nodiscard]] constexpr node_mask bit(unsigned node) noexcept
{
    return node_mask{1} << node;
}

[[nodiscard]] constexpr node_mask all_nodes(unsigned count) noexcept
{
    return count >= 32 ? ~node_mask{0} : bit(count) - 1;
}

/// How a round stands.
enum class verdict : std::uint8_t {
    open,         ///< the next answer may still decide
    won,          ///< a majority did what was asked
    refused,      ///< a majority that would do it can no longer be had, because of what nodes hold
    unavailable,  ///< it can no longer be had, because too few nodes can answer
};

/**
 * The votes of one round. A node votes once: `grant`, `refuse` or `fail` (no answer, or an error);
 * a node that never votes still counts among all of them.
 */
class votes {
public:
    constexpr explicit votes(unsigned nodes = 1) noexcept : nodes_(static_cast<std::uint8_t>(nodes))
    {}

    constexpr void grant(unsigned node) noexcept { add(node, granted_by_, granted_); }
    constexpr void refuse(unsigned node) noexcept { add(node, refused_by_, refused_); }
    constexpr void fail(unsigned node) noexcept { add(node, failed_by_, failed_); }

    [[nodiscard]] constexpr bool has_voted(unsigned node) const noexcept
    {
        return (voted_by() & bit(node)) != 0;
    }

    [[nodiscard]] constexpr unsigned nodes() const noexcept { return nodes_; }
    [[nodiscard]] constexpr unsigned quorum() const noexcept { return nodes_ / 2u + 1; }
    [[nodiscard]] constexpr node_mask granted_by() const noexcept { return granted_by_; }
    [[nodiscard]] constexpr node_mask refused_by() const noexcept { return refused_by_; }
    [[nodiscard]] constexpr node_mask failed_by() const noexcept { return failed_by_; }
    [[nodiscard]] constexpr node_mask open_nodes() const noexcept
    {
        return all_nodes(nodes_) & ~voted_by();
    }
    [[nodiscard]] constexpr unsigned granted() const noexcept { return granted_; }
    [[nodiscard]] constexpr unsigned refused() const noexcept { return refused_; }
    [[nodiscard]] constexpr unsigned failed() const noexcept { return failed_; }
    [[nodiscard]] constexpr unsigned open() const noexcept
    {
        return nodes_ - granted() - refused() - failed();
    }

    /// An acquire fails at the vote that makes a majority impossible, whatever made it so.
    [[nodiscard]] constexpr verdict of_acquire() const noexcept
    {
        if (granted() >= quorum()) {
            return verdict::won;
        }
        if (refused() + failed() <= spare()) {
            return verdict::open;
        }
        // With at most `spare` nodes failed a majority can be reached, so that somebody's key is in
        // the way.
        return failed() > spare() ? verdict::unavailable : verdict::refused;
    }

    /// An extend is lost only when a majority can no longer hold the key; otherwise too few
    /// answered.
    [[nodiscard]] constexpr verdict of_extend() const noexcept
    {
        if (granted() >= quorum()) {
            return verdict::won;
        }
        if (refused() > spare()) {
            return verdict::refused;
        }
        const bool may_win = granted() + open() >= quorum();
        const bool may_lose = refused() + open() > spare();
        return may_win || may_lose ? verdict::open : verdict::unavailable;
    }

    /// A release: grants are deletions, refusals mean the key was not there. `refused`: it was not
    /// held.
    [[nodiscard]] constexpr verdict of_release() const noexcept
    {
        if (granted() >= quorum()) {
            return verdict::won;
        }
        if (refused() > spare()) {
            return verdict::refused;
        }
        if (refused() + open() > spare()) {
            return verdict::open;
        }
        // From here on it was held by somebody who answered, or too few answer to tell.
        if (granted() + refused() >= quorum()) {
            return verdict::won;
        }
        return granted() + refused() + open() < quorum() ? verdict::unavailable : verdict::open;
    }

private:
    /// Counted as they come: the outcome is asked for at every vote, and code for any processor has
    /// no instruction that counts bits.
    static constexpr void add(unsigned node, node_mask& who, std::uint8_t& count) noexcept
    {
        if ((who & bit(node)) == 0) {
            who |= bit(node);
            ++count;
        }
    }

    [[nodiscard]] constexpr node_mask voted_by() const noexcept
    {
        return granted_by_ | refused_by_ | failed_by_;
    }

    /// How many nodes may be missing from a majority.
    [[nodiscard]] constexpr unsigned spare() const noexcept { return nodes_ - quorum(); }

    node_mask granted_by_ = 0;
    node_mask refused_by_ = 0;
    node_mask failed_by_ = 0;
    std::uint8_t granted_ = 0;
    std::uint8_t refused_ = 0;
    std::uint8_t failed_ = 0;
    std::uint8_t nodes_;
};

}  // namespace redlock::core
