#pragma once

#include <cstddef>
#include <span>

namespace redlock::base {

/// The source of random bytes for owner tokens.
struct entropy {
    virtual ~entropy() = default;

    /**
     * Fills `out` with bytes that no attacker can guess.
     *
     * Returns false if that isn't possible. The caller must not use `out` then, nor replace it with
     * a weaker source.
     */
    [[nodiscard]] virtual bool fill(std::span<std::byte> out) noexcept = 0;
};

}  // namespace redlock::base
