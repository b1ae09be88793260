#pragma once

#include "core/lease.hpp"

#include <atomic>

namespace redlock::engine {

/// Leases that were left on any thread while there was no memory to say so on the strand. Needs
/// none itself.
class left_leases {
public:
    /// The strand may do with it what it wants from here on.
    void push(core::lease& l) noexcept
    {
        l.left_before = last_.load(std::memory_order_relaxed);
        while (!last_.compare_exchange_weak(l.left_before, &l, std::memory_order_release,
                                            std::memory_order_relaxed)) {
        }
    }

    /// On the strand.
    template <class Take>
    void take_all(Take take) noexcept
    {
        if (last_.load(std::memory_order_relaxed) == nullptr) {
            return;
        }
        core::lease* l = last_.exchange(nullptr, std::memory_order_acquire);
        while (l != nullptr) {
            core::lease& taken = *l;
            l = taken.left_before;  // its record may serve another lease behind this
            take(taken);
        }
    }

private:
    std::atomic<core::lease*> last_ = nullptr;
};

}  // namespace redlock::engine
