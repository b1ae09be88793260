#pragma once

#include "base/entropy.hpp"

#include <cstddef>
#include <span>

namespace redlock::engine {

/**
 * What one turn draws, a token at a time, taken from another source in few calls, where each is
 * a system call. A turn ends with `end_turn`, and the next one begins.
 *
 * What is drawn ahead never outlives its turn, stands in no core dump, and is gone in a child that
 * is forked within the turn. Where the system does not promise all of that, nothing is drawn ahead.
 *
 * To be used by one thread at a time.
 */
class turn_entropy final : public base::entropy {
public:
    /// As much is drawn ahead at most, in bytes.
    static constexpr std::size_t most = 2048;

    explicit turn_entropy(base::entropy& source) noexcept;
    turn_entropy(const turn_entropy&) = delete;
    turn_entropy& operator=(const turn_entropy&) = delete;
    ~turn_entropy() override;

    [[nodiscard]] bool fill(std::span<std::byte> out) noexcept override;

    /// What was drawn and not used is overwritten. The next turn that draws is expected to use as
    /// much as the last one that did.
    void end_turn() noexcept;

private:
    struct ahead;

    [[nodiscard]] bool draw(std::size_t least) noexcept;

    base::entropy& source_;
    /// In pages of its own; null where nothing may be drawn ahead.
    ahead* ahead_;
    std::size_t used_ = 0;
    std::size_t expected_ = 0;
};

}  // namespace redlock::engine
