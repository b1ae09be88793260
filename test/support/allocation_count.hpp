#pragma once

#include <cstdint>
#include <string_view>

namespace redlock::test {

/// The requests of a thread to operator new.
struct allocations {
    std::uint64_t blocks = 0;
    std::uint64_t bytes = 0;
};

/**
 * The allocations of the calling thread until now, with any form of new.
 *
 * A program that calls this gets counting replacements for all forms of operator new and delete.
 */
[[nodiscard]] allocations allocated_here() noexcept;

/// While an object lives, every `nth` allocation of its thread fails, with new or aligned_alloc.
/// The count continues from the last object. Zero: none fails.
class scarce_memory {
public:
    explicit scarce_memory(unsigned nth) noexcept;
    ~scarce_memory();
    scarce_memory(const scarce_memory&) = delete;
    scarce_memory& operator=(const scarce_memory&) = delete;
};

/// Makes `many` allocations fail, with new or aligned_alloc, after the first `before` have
/// succeeded. Only allocations of a thread that is in one of `in` count.
class failing_allocations {
public:
    failing_allocations(unsigned before, unsigned many) noexcept : left_before_(before), left_(many)
    {}
    failing_allocations(const failing_allocations&) = delete;
    failing_allocations& operator=(const failing_allocations&) = delete;

    /// The number of allocations that failed.
    [[nodiscard]] unsigned failed() const noexcept { return failed_; }

    /// From now on no further allocation fails.
    void end() noexcept { left_ = 0; }

    /// For operator new.
    [[nodiscard]] bool next_fails() noexcept;

    /// Only one may live at a time.
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

/// While it lives, counts the blocks with `text` in them that its thread frees. Only one may live
/// at a time.
class freed_with {
public:
    /// `text` must stay in its place. The count may include blocks that were freed with it earlier.
    explicit freed_with(std::string_view text) noexcept;
    ~freed_with();
    freed_with(const freed_with&) = delete;
    freed_with& operator=(const freed_with&) = delete;

    [[nodiscard]] unsigned blocks() const noexcept;
};

}  // namespace redlock::test
