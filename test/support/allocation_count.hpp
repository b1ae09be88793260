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

/// While one lives, every `nth` allocation of its thread fails, counted on from the last one that
/// lived. Zero: none does.
class scarce_memory {
public:
    explicit scarce_memory(unsigned nth) noexcept;
    ~scarce_memory();
    scarce_memory(const scarce_memory&) = delete;
    scarce_memory& operator=(const scarce_memory&) = delete;
};

}  // namespace redlock::test
