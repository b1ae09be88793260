#pragma once

#include "base/instant.hpp"

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
};

/// What is owed to one node, the longest due first.
class debts {
public:
    [[nodiscard]] bool empty() const noexcept { return heap_.empty(); }
    [[nodiscard]] std::size_t size() const noexcept { return heap_.size(); }
    /// Those that have not been sent since their connection was lost, or at all.
    [[nodiscard]] std::size_t unsent() const noexcept { return unsent_; }

    [[nodiscard]] debt& front() const noexcept
    {
        assert(!empty());
        return *heap_.front();
    }

    /// Makes room for one more, so that the next push cannot throw.
    void reserve_one()
    {
        if (heap_.size() == heap_.capacity()) {
            heap_.reserve(std::max<std::size_t>(16, heap_.size() * 2));
        }
    }

    void push(debt& d) noexcept
    {
        assert(heap_.size() < heap_.capacity());
        unsent_ += is_unsent(d) ? 1u : 0u;
        heap_.push_back(&d);
        std::push_heap(heap_.begin(), heap_.end(), &is_later);
    }

    debt& pop() noexcept
    {
        std::pop_heap(heap_.begin(), heap_.end(), &is_later);
        debt& d = *heap_.back();
        heap_.pop_back();
        unsent_ -= is_unsent(d) ? 1u : 0u;
        return d;
    }

    /// Those of keys that are alive no more, each told to `gone`.
    template <class Gone>
    void remove_ended(base::instant now, Gone gone) noexcept
    {
        const auto ended = std::partition(heap_.begin(), heap_.end(),
                                          [now](const debt* d) { return d->end > now; });
        for (auto at = ended; at != heap_.end(); ++at) {
            unsent_ -= is_unsent(**at) ? 1u : 0u;
            gone(**at);
        }
        heap_.erase(ended, heap_.end());
        std::make_heap(heap_.begin(), heap_.end(), &is_later);
    }

private:
    [[nodiscard]] static bool is_unsent(const debt& d) noexcept { return d.pause == base::nanos{}; }
    [[nodiscard]] static bool is_later(const debt* a, const debt* b) noexcept
    {
        return a->due > b->due;
    }

    std::vector<debt*> heap_;
    std::size_t unsent_ = 0;
};

}  // namespace redlock::core
