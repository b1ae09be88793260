#pragma once

#include "base/instant.hpp"
#include "core/operation.hpp"

#include <cstddef>
#include <vector>

namespace redlock::core {

/// The operations that sleep, by the instant at which they wake: a binary heap from which any one
/// can be taken.
class wake_ups {
public:
    [[nodiscard]] bool empty() const noexcept { return heap_.empty(); }
    [[nodiscard]] base::instant next() const noexcept { return heap_.front()->wake_up; }

    /// `op` must not be in the heap. May throw `std::bad_alloc`; nothing changes then.
    void add(operation& op, base::instant when);

    /// Does nothing when `op` is not in the heap.
    void remove(operation& op) noexcept;

    /// The operation that wakes first, if it is due.
    [[nodiscard]] operation* pop_due(base::instant now) noexcept;

private:
    void place(operation& op, std::size_t at) noexcept;
    void sift_up(std::size_t at) noexcept;
    void sift_down(std::size_t at) noexcept;

    std::vector<operation*> heap_;
};

}  // namespace redlock::core
