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

    // Its place in `debts`.
    boost::intrusive::list_member_hook<> among_unsent{};
    boost::intrusive::set_member_hook<> among_repeats{};

    [[nodiscard]] bool is_repeat() const noexcept { return pause != base::nanos{}; }
    friend bool operator<(const debt& a, const debt& b) noexcept { return a.due < b.due; }
};

/// What is owed to one node: first what has not been sent, the oldest first, then what is to be
/// repeated, the longest due first.
class debts {
public:
    [[nodiscard]] bool empty() const noexcept { return size() == 0; }
    [[nodiscard]] std::size_t size() const noexcept { return unsent_.size() + repeats_.size(); }
    /// Those that have not been sent since their connection was lost, or at all.
    [[nodiscard]] std::size_t unsent() const noexcept { return unsent_.size(); }

    [[nodiscard]] debt& front() noexcept
    {
        assert(!empty());
        return unsent_.empty() ? *repeats_.begin() : unsent_.front();
    }

    /// Whether one that waits for its repetition fits.
    template <class Fits>
    [[nodiscard]] bool any_repeat(Fits fits) const
    {
        return std::any_of(repeats_.begin(), repeats_.end(), fits);
    }

    void push(debt& d) noexcept
    {
        if (d.is_repeat()) {
            repeats_.insert(d);
        } else {
            unsent_.push_back(d);
        }
    }

    debt& pop() noexcept
    {
        debt& first = front();
        remove(first);
        return first;
    }

    /// The one that is missed least: the repeat that is due last, else the oldest.
    debt& pop_least() noexcept
    {
        debt& least = repeats_.empty() ? unsent_.front() : *repeats_.rbegin();
        remove(least);
        return least;
    }

    /// Takes out those of keys that are alive no more, each told to `gone`.
    template <class Gone>
    void remove_ended(base::instant now, Gone gone) noexcept
    {
        const auto has_ended = [now](const debt& d) { return d.end <= now; };
        unsent_.remove_and_dispose_if(has_ended, [&gone](debt* d) { gone(*d); });
        for (auto at = repeats_.begin(); at != repeats_.end();) {
            debt& d = *at++;
            if (has_ended(d)) {
                repeats_.erase(repeats_.iterator_to(d));
                gone(d);
            }
        }
    }

private:
    void remove(debt& d) noexcept
    {
        if (d.among_repeats.is_linked()) {
            repeats_.erase(repeats_.iterator_to(d));
        } else {
            unsent_.erase(unsent_.iterator_to(d));
        }
    }

    boost::intrusive::list<debt,
                           boost::intrusive::member_hook<debt, boost::intrusive::list_member_hook<>,
                                                         &debt::among_unsent>>
        unsent_;
    /// Those that are due at one time in the order in which they came.
    boost::intrusive::multiset<
        debt, boost::intrusive::member_hook<debt, boost::intrusive::set_member_hook<>,
                                            &debt::among_repeats>>
        repeats_;
};

}  // namespace redlock::core
