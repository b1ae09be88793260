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

/// The state of a round.
enum class verdict : std::uint8_t {
    open,         ///< The next answer may still decide.
    won,          ///< A majority did what was asked.
    refused,      ///< No majority can do it, because of the keys that nodes have or lack.
    unavailable,  ///< No majority can do it, because too few nodes can answer.
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

    /// The verdict of an acquire. It fails at the vote that makes a majority impossible.
    [[nodiscard]] constexpr verdict of_acquire() const noexcept
    {
        if (granted() >= quorum()) {
            return verdict::won;
        }
        if (refused() + failed() <= spare()) {
            return verdict::open;
        }
        // At most `spare` nodes have failed, so a majority can answer, and another owner's key is
        // in the way.
        return failed() > spare() ? verdict::unavailable : verdict::refused;
    }

    /// The verdict of an extend. It is lost only if a majority can no longer hold the key.
    /// Otherwise too few nodes have answered.
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

    /// The verdict of a release. A grant is a deletion, and a refusal means that there was no key.
    /// `refused`: the lock was not held.
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
        // No majority can lack the key any more. So the lock was held if a majority answers.
        // Otherwise too few nodes answer to know.
        if (granted() + refused() >= quorum()) {
            return verdict::won;
        }
        return granted() + refused() + open() < quorum() ? verdict::unavailable : verdict::open;
    }

private:
    /// Counts each vote at once, because every vote asks for the verdict. Code for any processor
    /// has no instruction that counts bits.
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

    /// The number of nodes that a majority can do without.
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
