#pragma once

#include "base/entropy.hpp"

#include <cstddef>
#include <span>

namespace redlock::engine {

/**
 * Entropy for one turn, which needs one token at a time. It draws from another source in a few
 * large calls, because each call is a system call. `end_turn` ends the turn and starts the next
 * one.
 *
 * Bytes that are drawn in advance never outlive their turn. They don't appear in core dumps or in a
 * child that is forked during the turn. If the system can't promise that, nothing is drawn in
 * advance.
 *
 * Not thread-safe.
 */
class turn_entropy final : public base::entropy {
public:
    /// The largest number of bytes that are drawn in advance.
    static constexpr std::size_t most = 2048;

    explicit turn_entropy(base::entropy& source) noexcept;
    turn_entropy(const turn_entropy&) = delete;
    turn_entropy& operator=(const turn_entropy&) = delete;
    ~turn_entropy() override;

    [[nodiscard]] bool fill(std::span<std::byte> out) noexcept override;

    /// Overwrites the unused bytes. The next turn that draws is expected to use as much as the last
    /// one that drew.
    void end_turn() noexcept;

private:
    struct ahead;

    [[nodiscard]] bool draw(std::size_t least) noexcept;

    base::entropy& source_;
    /// Lies in pages of its own. Null if nothing may be drawn in advance.
    ahead* ahead_;
    std::size_t used_ = 0;
    std::size_t expected_ = 0;
};

}  // namespace redlock::engine
