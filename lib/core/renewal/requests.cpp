#include "core/renewal/renewals.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

// What each hold of a lease wants of its renewal, which serves them all: it goes on as long as one
// of them wants it, and asks for the longest life that one of them wants.
namespace redlock::core {

using base::instant;
using base::nanos;
using std::chrono::milliseconds;

renewal& renewals::create(const keep_alive& how, nanos ttl)
{
    renewal& k = create();
    k.renewals_left = how.max_renewals;
    k.ttl = ttl;
    k.max_hold = how.max_hold ? base::deadline_span(*how.max_hold) : nanos::max();
    return k;
}

/// Of a lock that was just had, or once more.
void renewals::keep(renewal& wish, lease& hold) noexcept
{
    lease& l = hold.root();
    wish.wanted_by = &hold;
    if (l.renewal == nullptr) {
        begin(wish, l);
    } else {
        wish.further = std::exchange(l.renewal->further, &wish);
    }
    renewal& k = *l.renewal;
    if (!std::exchange(k.renews, true)) {
        ++shared_.stats.kept_alive;
    }
    k.next_renewal =
        std::min(k.next_renewal, std::max(next_renewal(l.valid_until(), wish.ttl), shared_.now));
    rest(k);
}

/// A hold that ends while others go on waits for nothing any more, and wants nothing.
void renewals::end_hold(lease& hold) noexcept
{
    renewal* const k = hold.root().renewal;
    if (k == nullptr) {
        return;
    }
    const lease& root = hold.root();
    const error_code why =
        root.valid_until() <= shared_.now && !root.left ? errc::lost : errc::not_held;
    for (operation* op = k->waiters.empty() ? nullptr : &k->waiters.front(); op != nullptr;) {
        operation* const next = k->waiters.after(*op);
        if (op->subject == &hold) {
            k->waiters.remove(*op);
            end_wait(*op, why);
        }
        op = next;
    }
    if (k->wanted_by == &hold) {
        k->wanted_by = nullptr;
    }
    for (renewal** at = &k->further; *at != nullptr; at = &(*at)->further) {
        if ((*at)->wanted_by == &hold) {
            renewal& wish = **at;
            *at = wish.further;
            records_.give(wish);
            break;
        }
    }
    if (k->renews && k->wanted_by == nullptr && k->further == nullptr) {
        stop_renewals(*k);
    }
    forget_if_idle(*k);
}

/// The validity that it has stands.
void renewals::stop_renewals(renewal& k) noexcept
{
    k.renews = false;
    --shared_.stats.kept_alive;
    k.next_renewal = instant::max();
    leave_turn(k);
    leave_news(k);
    abandon(k, errc::not_held);
    rest(k);
}

/// How long the keys are to live from now on, for the hold that wants most; zero if none wants more
/// than was asked for.
nanos renewals::life_wanted(const renewal& k) const noexcept
{
    nanos most{};
    for (const renewal* wish = &k; wish != nullptr; wish = wish->further) {
        // Servers count in whole milliseconds.
        const nanos left = std::chrono::floor<milliseconds>(wish->hold_end() - shared_.now);
        const bool is_held_to_the_end =
            left <= nanos{} || wish->hold_end() - k.of->asked_until < milliseconds{1};
        if (wish->wanted_by != nullptr && wish->renewals_left != 0 && !is_held_to_the_end) {
            most = std::max(most, std::min(wish->ttl, left));
        }
    }
    return most;
}

}  // namespace redlock::core
