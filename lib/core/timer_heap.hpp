#pragma once

#include "base/instant.hpp"

#include <cstddef>
#include <vector>

namespace redlock::core {

/// An object that waits for an instant.
struct sleeper {
    /// Its place in the heap, and its instant; `no_wake_up`: it is not in the heap.
    std::size_t heap_place = no_wake_up;
    base::instant wake_up{};

    static constexpr std::size_t no_wake_up = static_cast<std::size_t>(-1);
};

/// The sleepers by their instants: a binary heap from which any sleeper can be removed.
class timer_heap {
public:
    [[nodiscard]] bool empty() const noexcept { return heap_.empty(); }
    [[nodiscard]] base::instant next() const noexcept { return heap_.front()->wake_up; }

    [[nodiscard]] sleeper& front() const noexcept { return *heap_.front(); }

    /// Makes room for `count` sleepers in all, so that `set` cannot throw for them.
    void reserve(std::size_t count);

    /// Sets the instant of `s`, in place of an earlier one. May throw `std::bad_alloc`; nothing
    /// changes then.
    void set(sleeper& s, base::instant when);

    /// Does nothing when `s` is not in the heap.
    void remove(sleeper& s) noexcept;

    /// The sleeper with the earliest instant, if that has come; else null. It stays in the heap.
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
