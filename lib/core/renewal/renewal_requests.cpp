#include "core/renewal/renewals.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

// The renewals that the holds of a lease want. One renewal serves all holds. It goes on while one
// hold wants it, and asks for the longest ttl that a hold wants.
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

/// The lease was just granted, or has a further hold.
void renewals::keep(renewal& request, lease& hold) noexcept
{
    lease& l = hold.root();
    request.wanted_by = &hold;
    if (l.renewal == nullptr) {
        begin(request, l);
    } else {
        request.further = std::exchange(l.renewal->further, &request);
    }
    renewal& k = *l.renewal;
    if (!std::exchange(k.renews, true)) {
        ++shared_.stats.kept_alive;
    }
    k.next_renewal =
        std::min(k.next_renewal, std::max(next_renewal(l.valid_until(), request.ttl), shared_.now));
    rest(k);
}

/// Ends the waits of a hold and drops its request, while other holds go on.
void renewals::end_hold(lease& hold) noexcept
{
    renewal* const k = hold.root().renewal;
    if (k == nullptr) {
        return;
    }
    const lease& root = hold.root();
    const error_code why =
        root.valid_until() <= shared_.now && !root.is_detached ? errc::lost : errc::not_held;
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
            renewal& request = **at;
            *at = request.further;
            records_.give(request);
            break;
        }
    }
    if (k->renews && k->wanted_by == nullptr && k->further == nullptr) {
        stop_renewals(*k);
    }
    forget_if_idle(*k);
}

/// The lease keeps its validity.
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

/// The longest ttl from now on that a hold wants; zero if no hold wants more than was asked for.
nanos renewals::life_wanted(const renewal& k) const noexcept
{
    nanos most{};
    for (const renewal* request = &k; request != nullptr; request = request->further) {
        // Servers count in whole milliseconds.
        const nanos left = std::chrono::floor<milliseconds>(request->hold_end() - shared_.now);
        const bool is_held_to_the_end =
            left <= nanos{} || request->hold_end() - k.of->asked_until < milliseconds{1};
        if (request->wanted_by != nullptr && request->renewals_left != 0 && !is_held_to_the_end) {
            most = std::max(most, std::min(request->ttl, left));
        }
    }
    return most;
}

}  // namespace redlock::core
