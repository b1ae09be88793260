#pragma once

#include "core/lease.hpp"

#include <atomic>

namespace redlock::engine {

/// Abandoned leases that a thread couldn't post to the strand for lack of memory. Adding a lease
/// needs no memory.
class abandoned_leases {
public:
    /// Adds a lease. From here on the strand may do anything with it.
    void push(core::lease& l) noexcept
    {
        l.left_before = last_.load(std::memory_order_relaxed);
        while (!last_.compare_exchange_weak(l.left_before, &l, std::memory_order_release,
                                            std::memory_order_relaxed)) {
        }
    }

    /// Takes all leases out. Call it on the strand.
    template <class Take>
    void take_all(Take take) noexcept
    {
        if (last_.load(std::memory_order_relaxed) == nullptr) {
            return;
        }
        core::lease* l = last_.exchange(nullptr, std::memory_order_acquire);
        while (l != nullptr) {
            core::lease& taken = *l;
            l = taken.left_before;  // read first: `take` may let the record be reused
            take(taken);
        }
    }

private:
    std::atomic<core::lease*> last_ = nullptr;
};

}  // namespace redlock::engine
