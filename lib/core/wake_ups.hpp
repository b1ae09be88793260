#pragma once

#include "base/instant.hpp"

#include <cstddef>
#include <vector>

namespace redlock::core {

/// Whatever wants to be woken at an instant.
struct sleeper {
    /// A place in the heap, and when; `no_wake_up` when it stands in none.
    std::size_t heap_place = no_wake_up;
    base::instant wake_up{};

    static constexpr std::size_t no_wake_up = static_cast<std::size_t>(-1);
};

/// Those who sleep, by the instant at which they wake: a binary heap from which any one can be
/// taken.
class wake_ups {
public:
    [[nodiscard]] bool empty() const noexcept { return heap_.empty(); }
    [[nodiscard]] base::instant next() const noexcept { return heap_.front()->wake_up; }

    [[nodiscard]] sleeper& front() const noexcept { return *heap_.front(); }

    /// Makes room for `count` of them in all, so that no `set` of theirs can throw.
    void reserve(std::size_t count);

    /// Wakes `s` at that instant, and no more at another. May throw `std::bad_alloc`; nothing
    /// changes then.
    void set(sleeper& s, base::instant when);

    /// Does nothing when `s` is not in the heap.
    void remove(sleeper& s) noexcept;

    /// Who wakes first, if it is due; it stays in the heap.
    [[nodiscard]] sleeper* due(base::instant now) const noexcept
    {
        return heap_.empty() || heap_.front()->wake_up > now ? nullptr : heap_.front();
    }

private:
    void place(sleeper& s, std::size_t at) noexcept;
    void sift_up(std::size_t at) noexcept;
    void sift_down(std::size_t at) noexcept;

    std::vector<sleeper*> heap_;
};

}  // namespace redlock::core
