#pragma once

#include <cstddef>
#include <span>

namespace redlock::base {

/// Where the bytes of owner tokens come from.
struct entropy {
    virtual ~entropy() = default;

    /**
     * Fills `out` with bytes nobody can guess.
     *
     * False when that is not possible; `out` is of no use then, and nothing weaker may take its
     * place.
     */
    [[nodiscard]] virtual bool fill(std::span<std::byte> out) noexcept = 0;
};

}  // namespace redlock::base
