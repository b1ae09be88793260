#include "core/coordinator.hpp"
#include "core/waits.hpp"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <new>

// Held leases are looked after here: renewed while that is wanted, lost when their validity ends.
namespace redlock::core {

using base::instant;
using base::nanos;
using std::chrono::milliseconds;

namespace {

/// Renewals under way at one time, which bounds their memory and what a node is sent at once, as
/// after the program stood still. With nodes that are as slow as they may be it is enough to renew
/// 80 000 locks a second.
constexpr std::size_t most_renewals = 4096;

/// Long enough for many of very many locks, and not noticed by any of them.
constexpr nanos longest_beat = milliseconds{10};

/// Between two renewals of one lock, whatever becomes of the first.
constexpr nanos least_spacing = milliseconds{1};

}  // namespace

/// Of a lease that is valid until `end`: behind a quarter to a third of the ttl, as if it had been
/// had for that ttl, which leaves time to try twice more. When its keys end says nothing: after an
/// extend for much longer that is later than `end` by the drift of all that time. Drawn anew for
/// every renewal, so that many locks that were taken at one time are soon not renewed at one time;
/// and then on a beat, as those that share one share a write.
instant coordinator::next_renewal(instant end, nanos ttl) noexcept
{
    const instant begun = end - settings_.validity(ttl);
    const instant when = begun + ttl / 4 + shared_.random_below(ttl / 12);
    const nanos beat = std::min(longest_beat, ttl / 128 + nanos{1});
    return when - when.time_since_epoch() % beat;
}

/// Behind one that failed. There is validity left for some of these.
nanos coordinator::renewal_spacing(nanos ttl) noexcept
{
    return std::max(ttl / 24 + shared_.random_below(ttl / 24), least_spacing);
}

keeper& coordinator::new_keeper()
{
    keeper& k = keepers_.take();
    try {
        vigils_.reserve(keepers_.in_use());
    } catch (...) {
        keepers_.give(k);
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

/// Looks after a held lease from here on.
void coordinator::begin_vigil(keeper& k, lease& l) noexcept
{
    ref(l);
    k.of = &l;
    l.kept_by = &k;
    rest(k);
}

/// Its renewal is under way, or waits for its turn.
bool coordinator::has_asked(keeper& k) noexcept
{
    return k.asking != nullptr || static_cast<list_hook<in_turn>&>(k).is_linked();
}

/// Until there is something to do for it.
void coordinator::rest(keeper& k) noexcept
{
    const instant end = k.of->valid_until();
    // There is room: new_keeper made it.
    vigils_.set(k, has_asked(k) ? end : std::min(k.next_renewal, end));
}

/// Why it ends is told to those who wait for it: what ended before somebody ended it is lost. Does
/// nothing when nobody looks after the lease.
void coordinator::end_vigil(lease& l, error_code why) noexcept
{
    keeper* const k = std::exchange(l.kept_by, nullptr);
    if (k == nullptr) {
        return;
    }
    if (l.valid_until() <= shared_.now && !l.left) {
        why = errc::lost;
    }
    vigils_.remove(*k);
    leave_turn(*k);
    if (operation* renewal = std::exchange(k->asking, nullptr)) {
        renewal->keeper = nullptr;
        call_off(*renewal, why);
    }
    while (operation* op = k->waiters.pop_front()) {
        end_wait(*op, why);
    }
    while (keeper* const wish = k->further) {
        k->further = wish->further;
        keepers_.give(*wish);
    }
    if (k->renews) {
        end_keeping(*k, why);
    }
    forget_unless_news(*k);
}

void coordinator::end_wait(operation& op, error_code why) noexcept
{
    op.keeper = nullptr;
    op.error = why;
    (why == errc::lost ? losses_ : finished_).push_back(op);
}

void coordinator::leave_turn(keeper& k) noexcept
{
    if (static_cast<list_hook<in_turn>&>(k).is_linked()) {
        turns_.remove(k);
    }
}

/// What there was to tell is of what nobody keeps any more.
void coordinator::leave_news(keeper& k) noexcept
{
    if (static_cast<list_hook<in_news>&>(k).is_linked()) {
        news_.remove(k);
    }
}

void coordinator::forget_if_idle(keeper& k) noexcept
{
    if (!k.renews && k.waiters.empty()) {
        end_vigil(*k.of, errc::not_held);
    }
}

void coordinator::end_keeping(keeper& k, error_code why) noexcept
{
    --shared_.stats.kept_alive;
    if (why == errc::lost) {
        ++shared_.stats.kept_alive_lost;
        announce(k, renewal_outcome::lost);
    } else {
        leave_news(k);
    }
}

/// Of all leases: those that are still held are left to expire.
void coordinator::end_vigils(error_code why) noexcept
{
    while (!vigils_.empty()) {
        end_vigil(*static_cast<keeper&>(vigils_.front()).of, why);
    }
}

/// A keeper that looks after nothing any more stays until its loss is told.
void coordinator::forget_unless_news(keeper& k) noexcept
{
    if (!static_cast<list_hook<in_news>&>(k).is_linked()) {
        unref(*std::exchange(k.of, nullptr));
        keepers_.give(k);
    }
}

error_code coordinator::lose(lease& l) noexcept
{
    if (l.left) {
        end_vigil(l, errc::not_held);
        return errc::not_held;
    }
    l.lost = true;
    l.set_valid_until({});
    end_vigil(l, errc::lost);
    end_lead(l);
    return errc::lost;
}

// What is due.

/// First what is lost, then what is to be renewed.
void coordinator::look_after_leases() noexcept
{
    while (sleeper* s = vigils_.due(shared_.now)) {
        keeper& k = *static_cast<keeper*>(s);
        if (k.of->valid_until() <= shared_.now) {
            lose(*k.of);
            continue;
        }
        // An extend of the caller's own may have moved the end while a renewal is under way.
        if (!has_asked(k) && k.next_renewal <= shared_.now) {
            turns_.push_back(k);
        }
        rest(k);
    }
}

/// Those that are due, as many as may be under way. False: there was nothing to do.
bool coordinator::renew_in_turn() noexcept
{
    bool any = false;
    while (count_of(operation::kind::renew) < most_renewals && !turns_.empty()) {
        renew(*turns_.pop_front());
        any = true;
    }
    return any;
}

void coordinator::renew(keeper& k) noexcept
{
    assert(k.asking == nullptr);
    if (k.of->valid_until() <= shared_.now) {
        lose(*k.of);  // while it waited for its turn
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
    operation* op = nullptr;
    try {
        op = &new_operation(operation::kind::renew, nullptr);
        ref(*k.of);
        op->subject = k.of;
        op->ttl = life;
        op->keeper = &k;
        k.asking = op;
        rest(k);
        run_renewal(*op);
    } catch (const std::bad_alloc&) {
        put_off(k, life);
        if (op != nullptr) {
            end_renewal(*op);
        }
    }
}

flow coordinator::run_renewal(operation& op)
{
    {
        const held_round r{*this, new_round(op, round_kind::extend)};
        rounds_.fan_out(*r);
        co_await verdict_of{*r};
        if (op.keeper != nullptr) {
            op.keeper->failure = report_of_failure(op, *r);
            conclude_renewal(*op.keeper, *r);
        }
    }
    end_renewal(op);
}

/// For `config::on_renewal`; null: the renewal has succeeded, or there is no memory for a report.
std::unique_ptr<report> coordinator::report_of_failure(operation& op, const round& r) const noexcept
{
    if (r.details == nullptr || rounds_.outcome_of(r) == verdict::won) {
        return nullptr;
    }
    try {
        auto made = std::make_unique<redlock::report>();
        op.report = made.get();
        fill_report(op, r);
        op.report = nullptr;
        return made;
    } catch (const std::bad_alloc&) {
        op.report = nullptr;
        return nullptr;
    }
}

void coordinator::conclude_renewal(keeper& k, const round& r) noexcept
{
    lease& l = *k.of;
    k.asking = nullptr;
    const error_code ec = l.valid_until() <= shared_.now ? lose(l) : conclude_extend(l, r);
    if (ec == errc::lost) {
        return;  // nobody looks after it any more
    }
    if (!ec) {
        ++shared_.stats.renewed;
        for (keeper* wish = &k; wish != nullptr; wish = wish->further) {
            wish->renewals_left -= wish->renewals_left != unlimited && wish->renewals_left != 0;
        }
        k.next_renewal =
            std::max(next_renewal(l.valid_until(), r.ttl), shared_.now + least_spacing);
        announce(k, renewal_outcome::renewed);
        rest(k);
    } else {
        put_off(k, r.ttl);
    }
}

/// Nobody knows whether it was renewed.
void coordinator::put_off(keeper& k, nanos ttl) noexcept
{
    ++shared_.stats.renewal_unknown;
    k.asking = nullptr;
    k.next_renewal = shared_.now + renewal_spacing(ttl);
    announce(k, renewal_outcome::unknown);
    rest(k);
}

/// Memory ran out on its way.
void coordinator::fail_renewal(operation& op) noexcept
{
    if (op.keeper != nullptr) {
        put_off(*op.keeper, op.ttl);
    }
    end_renewal(op);
}

void coordinator::end_renewal(operation& op) noexcept
{
    unref(*std::exchange(op.subject, nullptr));
    op.keeper = nullptr;
    recycle(op);
}

// Who wants to know.

operation& coordinator::wait_lost(instant now, lease& given)
{
    shared_.now = now;
    lease& l = given.root();
    operation& op = new_operation(operation::kind::wait_lost, nullptr);
    ref(given);
    op.subject = &given;
    if (l.left || l.given_back || given.given_back) {
        // Left without memory it may be given back before this was begun.
        finish(op, errc::not_held);
        return op;
    }
    if (l.lost || l.valid_until() <= shared_.now) {
        finish(op, lose(l));
        run();
        return op;
    }
    if (l.kept_by == nullptr) {
        try {
            begin_vigil(new_keeper(), l);
        } catch (...) {
            unref(given);
            recycle(op);
            throw;
        }
    }
    op.keeper = l.kept_by;
    l.kept_by->waiters.push_back(op);
    return op;
}

/// Of who waits for a loss.
void coordinator::stop_waiting(operation& op, error_code why) noexcept
{
    if (op.keeper == nullptr) {
        return;  // it has been decided
    }
    keeper& k = *std::exchange(op.keeper, nullptr);
    k.waiters.remove(op);
    finish(op, why);
    forget_if_idle(k);
}

/// What was not told yet of the same lock is out of date.
void coordinator::announce(keeper& k, renewal_outcome what) noexcept
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

bool coordinator::take_news(renewal_news& told) noexcept
{
    keeper* const k = news_.pop_front();
    if (k == nullptr) {
        return false;
    }
    told = {k->of, k->news, std::move(k->failure)};
    ref(*told.of);
    if (k->of->kept_by != k) {
        forget_unless_news(*k);
    }
    return true;
}

}  // namespace redlock::core
