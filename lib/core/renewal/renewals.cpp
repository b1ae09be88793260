#include "core/renewal/renewals.hpp"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <new>
#include <utility>

// Held leases are renewed while a hold wants that, and are lost when their validity ends.
namespace redlock::core {

using base::instant;
using base::nanos;
using std::chrono::milliseconds;

namespace {

/// Maximum number of renewals under way. It limits their memory, and the commands that a node gets
/// at once after the program was suspended. Even with nodes that answer as late as they may, the
/// client can renew 80 000 locks a second.
constexpr std::size_t most_renewals = 4096;

/// Renewals are due on multiples of this time or less, so that many of them share a write.
constexpr nanos longest_beat = milliseconds{10};

/// The least time between two renewals of one lock.
constexpr nanos least_spacing = milliseconds{1};

}  // namespace

/// The instant of the next renewal of a lease that is valid until `end`. It comes after a quarter
/// to a third of the ttl, which leaves time for two more tries. The end of the keys is no measure,
/// because an extend for a longer ttl leaves them longer than `end`. The time is random for each
/// renewal, so that locks that were taken together are soon renewed apart.
instant renewals::next_renewal(instant end, nanos ttl) noexcept
{
    const instant begun = end - settings_.validity(ttl);
    const instant when = begun + ttl / 4 + shared_.random_below(ttl / 12);
    const nanos beat = std::min(longest_beat, ttl / 128 + nanos{1});
    return when - when.time_since_epoch() % beat;
}

/// Short enough for several tries while the lease is valid.
nanos renewals::spacing(nanos ttl) noexcept
{
    return std::max(ttl / 24 + shared_.random_below(ttl / 24), least_spacing);
}

renewal& renewals::create()
{
    renewal& k = records_.take();
    try {
        watched_.reserve(records_.in_use());
    } catch (...) {
        records_.give(k);
        throw;
    }
    k.of = nullptr;
    k.asking = nullptr;
    k.renews = false;
    k.next_renewal = instant::max();
    k.further = nullptr;
    k.wanted_by = nullptr;
    k.failure.reset();
    return k;
}

void renewals::begin(renewal& k, lease& l) noexcept
{
    ++l.references;
    k.of = &l;
    l.renewal = &k;
    rest(k);
}

/// Whether a renewal is under way, or waits in the queue.
bool renewals::has_asked(renewal& k) noexcept
{
    return k.asking != nullptr || static_cast<list_hook<in_turn>&>(k).is_linked();
}

/// Waits for the next renewal or the end of the validity.
void renewals::rest(renewal& k) noexcept
{
    const instant end = k.of->valid_until();
    // There is room: create() made it.
    watched_.set(k, has_asked(k) ? end : std::min(k.next_renewal, end));
}

void renewals::end(lease& l, error_code why) noexcept
{
    renewal* const k = std::exchange(l.renewal, nullptr);
    if (k == nullptr) {
        return;
    }
    if (l.valid_until() <= shared_.now && !l.is_detached) {
        why = errc::lost;
    }
    watched_.remove(*k);
    leave_turn(*k);
    abandon(*k, why);
    while (operation* op = k->waiters.pop_front()) {
        end_wait(*op, why);
    }
    while (renewal* const request = k->further) {
        k->further = request->further;
        records_.give(*request);
    }
    if (k->renews) {
        end_keeping(*k, why);
    }
    forget_unless_news(*k);
}

void renewals::end_wait(operation& op, error_code why) noexcept
{
    op.renewal = nullptr;
    listener_.on_end(op, why);
}

void renewals::abandon(renewal& k, error_code why) noexcept
{
    if (operation* const renewal = std::exchange(k.asking, nullptr)) {
        renewal->renewal = nullptr;
        listener_.on_abandoned(*renewal, why);
    }
}

void renewals::leave_turn(renewal& k) noexcept
{
    if (static_cast<list_hook<in_turn>&>(k).is_linked()) {
        turns_.remove(k);
    }
}

/// Drops an outcome that was not reported.
void renewals::leave_news(renewal& k) noexcept
{
    if (static_cast<list_hook<in_news>&>(k).is_linked()) {
        news_.remove(k);
    }
}

void renewals::forget_if_idle(renewal& k) noexcept
{
    if (!k.renews && k.waiters.empty()) {
        end(*k.of, errc::not_held);
    }
}

void renewals::end_keeping(renewal& k, error_code why) noexcept
{
    --shared_.stats.kept_alive;
    if (why == errc::lost) {
        ++shared_.stats.kept_alive_lost;
        announce(k, renewal_outcome::lost);
    } else {
        leave_news(k);
    }
}

/// Leases that are still held expire by themselves.
void renewals::end_all(error_code why) noexcept
{
    while (!watched_.empty()) {
        end(*static_cast<renewal&>(watched_.front()).of, why);
    }
}

/// A record that is not needed any more stays until its loss is reported.
void renewals::forget_unless_news(renewal& k) noexcept
{
    if (!static_cast<list_hook<in_news>&>(k).is_linked()) {
        shared_.unref(*std::exchange(k.of, nullptr));
        records_.give(k);
    }
}

// Renewals that are due.

/// No renewal begins here, so that callers learn of losses first.
void renewals::on_time() noexcept
{
    while (sleeper* s = watched_.due(shared_.now)) {
        renewal& k = *static_cast<renewal*>(s);
        if (k.of->valid_until() <= shared_.now) {
            listener_.on_expired(*k.of);
            continue;
        }
        // An extend of the caller's own may have moved the end while a renewal is under way.
        if (!has_asked(k) && k.next_renewal <= shared_.now) {
            turns_.push_back(k);
        }
        rest(k);
    }
}

/// False: no renewal could begin.
bool renewals::begin_due() noexcept
{
    bool any = false;
    while (under_way_ < most_renewals && !turns_.empty()) {
        renew(*turns_.pop_front());
        any = true;
    }
    return any;
}

void renewals::renew(renewal& k) noexcept
{
    assert(k.asking == nullptr);
    if (k.of->valid_until() <= shared_.now) {
        listener_.on_expired(*k.of);  // it has expired while it waited for its turn
        return;
    }
    const nanos life = life_wanted(k);
    if (life <= nanos{}) {
        k.next_renewal = instant::max();
        ++shared_.stats.limits_reached;
        announce(k, renewal_outcome::limit_reached);
        rest(k);
        return;
    }
    shared_.stats.late_renewals += shared_.now - k.next_renewal >= settings_.node_timeout;
    try {
        listener_.on_due(k, life);
    } catch (const std::bad_alloc&) {
        on_unknown(k, life);
    }
}

void renewals::on_begun(renewal& k, operation& renewal) noexcept
{
    ++under_way_;
    k.asking = &renewal;
    rest(k);
}

void renewals::on_renewed(renewal& k, nanos ttl) noexcept
{
    k.asking = nullptr;
    ++shared_.stats.renewed;
    for (renewal* request = &k; request != nullptr; request = request->further) {
        request->renewals_left -=
            request->renewals_left != unlimited && request->renewals_left != 0;
    }
    k.next_renewal = std::max(next_renewal(k.of->valid_until(), ttl), shared_.now + least_spacing);
    announce(k, renewal_outcome::renewed);
    rest(k);
}

void renewals::on_unknown(renewal& k, nanos ttl) noexcept
{
    k.asking = nullptr;
    ++shared_.stats.renewal_unknown;
    k.next_renewal = shared_.now + spacing(ttl);
    announce(k, renewal_outcome::unknown);
    rest(k);
}

void renewals::add_waiter(operation& op, lease& l) noexcept
{
    op.renewal = l.renewal;
    l.renewal->waiters.push_back(op);
}

bool renewals::remove_waiter(operation& op) noexcept
{
    if (op.renewal == nullptr) {
        return false;
    }
    renewal& k = *std::exchange(op.renewal, nullptr);
    k.waiters.remove(op);
    forget_if_idle(k);
    return true;
}

/// Keeps the outcome for `config::on_renewal`. It replaces an earlier one of the same lock that was
/// not reported.
void renewals::announce(renewal& k, renewal_outcome what) noexcept
{
    if (!settings_.on_renewal) {
        return;
    }
    k.news = what;
    if (what == renewal_outcome::renewed || what == renewal_outcome::limit_reached) {
        k.failure.reset();
    }
    if (!static_cast<list_hook<in_news>&>(k).is_linked()) {
        news_.push_back(k);
    }
}

bool renewals::take_news(renewal_news& told) noexcept
{
    renewal* const k = news_.pop_front();
    if (k == nullptr) {
        return false;
    }
    told = {k->of, k->news, std::move(k->failure)};
    ++told.of->references;
    if (k->of->renewal != k) {
        forget_unless_news(*k);
    }
    return true;
}

}  // namespace redlock::core
