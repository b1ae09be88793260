#pragma once

#include "base/instant.hpp"
#include "core/ring.hpp"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <vector>

namespace redlock::core {

struct lease;
struct round;

/// A release that a node could not be given, or whose key may still come to life behind it.
struct debt {
    lease* of = nullptr;
    /// The release that waits for the answer, while it may still count; else null.
    round* answers = nullptr;
    base::instant due{};
    /// From when on the key can be alive no more; `max` while that is not known.
    base::instant end{};
    /// Before the next of a row of releases; zero for one that has not been sent.
    base::nanos pause{};
    /// An earlier release of the same key may have been executed: a missing key counts as deleted.
    bool sent_before = false;
    /// The node answered the last release with an error.
    bool has_failed = false;

    [[nodiscard]] bool is_repeat() const noexcept { return pause != base::nanos{}; }
};

/// What is owed to one node: first what has not been sent, the oldest first, then what is to be
/// repeated, the longest due first.
class debts {
public:
    [[nodiscard]] bool empty() const noexcept { return size() == 0; }
    [[nodiscard]] std::size_t size() const noexcept { return unsent_.size() + repeats_.size(); }
    /// Those that have not been sent since their connection was lost, or at all.
    [[nodiscard]] std::size_t unsent() const noexcept { return unsent_.size(); }

    [[nodiscard]] debt& front() const noexcept
    {
        assert(!empty());
        return unsent_.empty() ? *repeats_.front() : *unsent_.front();
    }

    /// Whether one that waits for its repetition fits.
    template <class Fits>
    [[nodiscard]] bool any_repeat(Fits fits) const
    {
        return std::any_of(repeats_.begin(), repeats_.end(),
                           [&fits](const debt* d) { return fits(*d); });
    }

    /// Makes room for one more, so that the next push cannot throw.
    void reserve_one()
    {
        unsent_.reserve(1);
        if (repeats_.size() == repeats_.capacity()) {
            repeats_.reserve(std::max<std::size_t>(16, repeats_.size() * 2));
        }
    }

    void push(debt& d) noexcept
    {
        if (!d.is_repeat()) {
            unsent_.push(&d);  // cannot throw, after reserve_one
            return;
        }
        assert(repeats_.size() < repeats_.capacity());
        repeats_.push_back(&d);
        std::push_heap(repeats_.begin(), repeats_.end(), &is_later);
    }

    debt& pop() noexcept
    {
        if (!unsent_.empty()) {
            return *unsent_.pop();
        }
        std::pop_heap(repeats_.begin(), repeats_.end(), &is_later);
        return pop_last_repeat();
    }

    /// The one that is missed least: a repeat, else the oldest.
    debt& pop_least() noexcept
    {
        // Any leaf of the heap will do, and the last one leaves a heap behind.
        return repeats_.empty() ? *unsent_.pop() : pop_last_repeat();
    }

    /// Takes out those of keys that are alive no more, each told to `gone`.
    template <class Gone>
    void remove_ended(base::instant now, Gone gone) noexcept
    {
        for (std::size_t n = unsent_.size(); n > 0; --n) {
            debt* d = unsent_.pop();
            if (d->end > now) {
                unsent_.push(d);
            } else {
                gone(*d);
            }
        }
        const auto ended = std::partition(repeats_.begin(), repeats_.end(),
                                          [now](const debt* d) { return d->end > now; });
        std::for_each(ended, repeats_.end(), [&gone](debt* d) { gone(*d); });
        repeats_.erase(ended, repeats_.end());
        std::make_heap(repeats_.begin(), repeats_.end(), &is_later);
    }

private:
    [[nodiscard]] static bool is_later(const debt* a, const debt* b) noexcept
    {
        return a->due > b->due;
    }

    debt& pop_last_repeat() noexcept
    {
        debt& d = *repeats_.back();
        repeats_.pop_back();
        return d;
    }

    ring<debt*> unsent_;
    std::vector<debt*> repeats_;
};

}  // namespace redlock::core
