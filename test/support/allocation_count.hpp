#pragma once

#include <cstdint>
#include <string_view>

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

/// While one lives, every `nth` allocation of its thread fails, with new or aligned_alloc, counted
/// on from the last one that lived. Zero: none does.
class scarce_memory {
public:
    explicit scarce_memory(unsigned nth) noexcept;
    ~scarce_memory();
    scarce_memory(const scarce_memory&) = delete;
    scarce_memory& operator=(const scarce_memory&) = delete;
};

/// Allocations, with new or aligned_alloc, of which `many` fail, behind the first `before` that do
/// not. Counted are those that a thread makes while it is in one of `in`.
class failing_allocations {
public:
    failing_allocations(unsigned before, unsigned many) noexcept : left_before_(before), left_(many)
    {}
    failing_allocations(const failing_allocations&) = delete;
    failing_allocations& operator=(const failing_allocations&) = delete;

    /// How many have failed.
    [[nodiscard]] unsigned failed() const noexcept { return failed_; }

    /// No further ones do.
    void end() noexcept { left_ = 0; }

    /// For operator new.
    [[nodiscard]] bool next_fails() noexcept;

    /// One at a time.
    class in {
    public:
        explicit in(failing_allocations& which) noexcept;
        ~in();
        in(const in&) = delete;
        in& operator=(const in&) = delete;
    };

private:
    unsigned left_before_;
    unsigned left_;
    unsigned failed_ = 0;
};

/// While it lives, counts the blocks that its thread frees with `text` in them. One at a time.
class freed_with {
public:
    /// `text` stays where it is. Blocks freed with it in them earlier may be met again.
    explicit freed_with(std::string_view text) noexcept;
    ~freed_with();
    freed_with(const freed_with&) = delete;
    freed_with& operator=(const freed_with&) = delete;

    [[nodiscard]] unsigned blocks() const noexcept;
};

}  // namespace redlock::test
