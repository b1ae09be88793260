#pragma once

#include "base/instant.hpp"

#include <boost/intrusive/list.hpp>
#include <boost/intrusive/set.hpp>

#include <algorithm>
#include <cassert>
#include <cstddef>

namespace redlock::core {

struct lease;
struct round;

/// A release that a node has not acknowledged, or that may come before the SET of its key.
struct pending_release {
    lease* of = nullptr;
    /// The round of the release, while its vote counts; null: none waits for the answer.
    round* answers = nullptr;
    base::instant due{};
    /// From this instant on the key cannot be on the node; `max` if that is not known.
    base::instant end{};
    /// The wait before the next of several releases; zero for a release that was not sent.
    base::nanos pause{};
    /// An earlier release of the same key may have been executed: a missing key counts as deleted.
    bool sent_before = false;
    /// The node answered the last release with an error.
    bool has_failed = false;

    // Its place in `pending_release_queue`.
    boost::intrusive::list_member_hook<> among_unsent{};
    boost::intrusive::set_member_hook<> among_repeats{};

    [[nodiscard]] bool is_repeat() const noexcept { return pause != base::nanos{}; }
    friend bool operator<(const pending_release& a, const pending_release& b) noexcept
    {
        return a.due < b.due;
    }
};

/// The pending releases of one node: first the unsent ones, the oldest first, then the repeats, in
/// the order in which they are due.
class pending_release_queue {
public:
    [[nodiscard]] bool empty() const noexcept { return size() == 0; }
    [[nodiscard]] std::size_t size() const noexcept { return unsent_.size() + repeats_.size(); }
    /// The number of releases that were never sent, or not since their connection was lost.
    [[nodiscard]] std::size_t unsent() const noexcept { return unsent_.size(); }

    [[nodiscard]] pending_release& front() noexcept
    {
        assert(!empty());
        return unsent_.empty() ? *repeats_.begin() : unsent_.front();
    }

    /// Whether `fits` is true for a release that waits to be repeated.
    template <class Fits>
    [[nodiscard]] bool any_repeat(Fits fits) const
    {
        return std::any_of(repeats_.begin(), repeats_.end(), fits);
    }

    void push(pending_release& d) noexcept
    {
        if (d.is_repeat()) {
            repeats_.insert(d);
        } else {
            unsent_.push_back(d);
        }
    }

    pending_release& pop() noexcept
    {
        pending_release& first = front();
        remove(first);
        return first;
    }

    /// The release that does the least harm if it is dropped: the repeat that is due last, else the
    /// oldest.
    pending_release& pop_least() noexcept
    {
        pending_release& least = repeats_.empty() ? unsent_.front() : *repeats_.rbegin();
        remove(least);
        return least;
    }

    /// Removes releases whose keys have ended, and calls `gone` with each.
    template <class Gone>
    void remove_ended(base::instant now, Gone gone) noexcept
    {
        const auto has_ended = [now](const pending_release& d) { return d.end <= now; };
        unsent_.remove_and_dispose_if(has_ended, [&gone](pending_release* d) { gone(*d); });
        for (auto at = repeats_.begin(); at != repeats_.end();) {
            pending_release& d = *at++;
            if (has_ended(d)) {
                repeats_.erase(repeats_.iterator_to(d));
                gone(d);
            }
        }
    }

private:
    void remove(pending_release& d) noexcept
    {
        if (d.among_repeats.is_linked()) {
            repeats_.erase(repeats_.iterator_to(d));
        } else {
            unsent_.erase(unsent_.iterator_to(d));
        }
    }

    boost::intrusive::list<
        pending_release,
        boost::intrusive::member_hook<pending_release, boost::intrusive::list_member_hook<>,
                                      &pending_release::among_unsent>>
        unsent_;
    /// Releases that are due at one time stay in the order in which they came.
    boost::intrusive::multiset<
        pending_release,
        boost::intrusive::member_hook<pending_release, boost::intrusive::set_member_hook<>,
                                      &pending_release::among_repeats>>
        repeats_;
};

}  // namespace redlock::core
