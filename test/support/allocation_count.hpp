#pragma once

#include <cstdint>

namespace redlock::test {

/// What a thread has asked of operator new.
struct allocations {
    std::uint64_t blocks = 0;
    std::uint64_t bytes = 0;
};

/**
 * What the calling thread has allocated with new until now, in any of its forms.
 *
 * A program that calls this gets counting replacements for all forms of operator new and delete.
 */
[[nodiscard]] allocations allocated_here() noexcept;

}  // namespace redlock::test
