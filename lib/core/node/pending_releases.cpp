#include "core/node/commands.hpp"
#include "core/node/node.hpp"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <new>

// Releases that a node could not be given: owed until it is back, and as long as the key could
// live. And the ttls of counters that may have been begun without one.
namespace redlock::core {

using base::instant;
using base::nanos;

namespace {

/// Commands without an answer up to which debts are sent, so that a long list of them does not come
/// in one flood.
constexpr std::size_t debts_at_once = 1024;

}  // namespace

/// The server may execute the SET at any time still: its connection was lost before the answer.
bool node::may_be_set_yet(const lease& l) const noexcept
{
    return (l.asked & bit(index_)) != 0 && (l.answered & bit(index_)) == 0;
}

/// The node set the key, or another client did, or nobody knows.
bool node::may_have_key(const lease& l) const noexcept
{
    return l.adopted || may_be_set_yet(l) ||
           (l.granted.load(std::memory_order_relaxed) & bit(index_)) != 0;
}

/// From when on the node can have the key no more; `max` while that is not known: the SET may lie
/// in a node that does not move, or be another client's, of any ttl.
instant node::end_of_key(const lease& l) const noexcept
{
    if (l.adopted || may_be_set_yet(l)) {
        return instant::max();
    }
    // What was sent and not answered within the stall timeout took its connection with it.
    return l.keys_end + context_.settings.stall_timeout +
           context_.settings.drift(l.keys_end - l.t0);
}

/// The same, once the node moves: what it has from lost connections is executed now, or soon.
instant node::end_of_key_from_now(const lease& l) const noexcept
{
    if (l.adopted) {
        return instant::max();
    }
    const nanos life = std::max(l.ttl, l.keys_end - l.t0);
    const instant latest =
        context_.now + context_.settings.stall_timeout + life + context_.settings.drift(life);
    return std::min(end_of_key(l), latest);
}

/// False: it was not taken. Who waits for its answer is not told here.
bool node::owe(const debt& what) noexcept
{
    if (context_.stopped || what.end <= what.due) {
        return false;
    }
    try {
        if (debts() >= context_.settings.max_pending_releases && !unmended_.empty()) {
            context_.unref(*unmended_.pop());  // it is missed less
        } else if (debts() >= context_.settings.max_pending_releases) {
            ++context_.stats.pending_releases_dropped;
            if (owed_.empty() || what.is_repeat()) {
                return false;
            }
            give_up_debt(owed_.pop_least());
        }
        debt& d = context_.pending_releases.take();
        d = what;
        ++d.of->references;
        if (d.answers != nullptr) {
            ++d.answers->references;
        }
        owed_.push(d);
    } catch (const std::bad_alloc&) {
        // The key expires by itself; that the release was given up can be seen in the stats.
        ++context_.stats.pending_releases_dropped;
        return false;
    }
    wake_up_ = is_ready() ? std::min(wake_up_, what.due) : wake_up_;
    return true;
}

/// A release that has not been sent, or whose answer was lost with its connection.
bool node::owe_now(lease& l, round* answers, bool sent_before) noexcept
{
    return owe({&l, answers, context_.now, end_of_key(l), nanos{}, sent_before});
}

/// The same release, whose answer is not to come or says nothing of the key. `sent_before`: it may
/// have been executed.
void node::owe_instead_of(const pending& p, bool sent_before) noexcept
{
    if (p.what == command::release) {
        round& r = p.of_round();
        if (!owe_now(*r.of, &r, sent_before)) {
            tell_not_owed(&r, end_of_key(*r.of), sent_before);
        }
    } else if (p.what == command::background_release) {
        static_cast<void>(owe_now(p.of_lease(), nullptr, sent_before));
    } else {
        assert(p.what == command::pending_release);
        debt& d = p.of_debt();
        d.sent_before = d.sent_before || sent_before;
        if (owe({d.of, d.answers, context_.now, d.end, nanos{}, d.sent_before})) {
            forget_debt(d);
        } else {
            give_up_debt(d);
        }
    }
}

/// No release will be sent any more that `waits` could have its answer from. The key is certainly
/// gone from `end` on; whether a release that was sent has deleted it nobody knows.
void node::tell_not_owed(round* waits, instant end, bool sent_before) noexcept
{
    if (waits == nullptr || waits->tally.has_voted(index_)) {
        return;
    }
    const bool is_gone = end <= context_.now && !sent_before;
    vote(*waits, is_gone ? node_outcome::refused : node_outcome::disconnected, trouble_);
}

/// One more release, after a pause: the last one was answered, but the key is there, or may come
/// yet. `last`: the debt that it paid, if any.
void node::owe_again(lease& l, const debt* last, bool failed) noexcept
{
    const bool is_first = failed || last == nullptr || !last->is_repeat();
    const nanos pause = is_first ? first_pause : std::min(last->pause * 2, longest_pause);
    const instant end = last == nullptr ? end_of_key_from_now(l) : last->end;
    static_cast<void>(owe({&l, nullptr, context_.now + pause, end, pause, true, failed}));
}

/// The error of a release, if the key in the way of `wanted` may be the key of that release. Then
/// perhaps no other client has the lock.
std::string_view node::own_key_error(const lease& wanted) const noexcept
{
    if (release_error_.empty()) {
        return {};  // without a look at all releases that wait
    }
    const auto is_wanted = [&wanted](const std::string& resource) {
        const auto names = wanted.resources();
        return std::find(names.begin(), names.end(), resource) != names.end();
    };
    const auto is_in_the_way = [&](const debt& d) {
        const auto names = d.of->resources();
        return d.has_failed && d.end > context_.now &&
               std::any_of(names.begin(), names.end(), is_wanted);
    };
    return owed_.any_repeat(is_in_the_way) ? release_error_ : std::string_view();
}

/// `all`: on a new connection, whatever their time.
void node::pay_debts(bool all)
{
    // What is left waits for the next reply: there has to be one, though there is no room.
    while (!owed_.empty() && ailing_until_ <= context_.now && fifo_.size() < debts_at_once &&
           (has_room() || fifo_.empty())) {
        debt& d = owed_.front();
        if (!all && d.due > context_.now) {
            return;
        }
        if (d.end <= context_.now) {
            give_up_debt(owed_.pop());
            continue;
        }
        if (d.due > context_.now) {
            d.pause /= 2;  // it is sent early, and the next one is not to come later for that
        }
        send(command::pending_release, d, release_form(*d.of));
        owed_.pop();
        if (ailing_until_ != instant{}) {
            ailing_until_ = context_.now + first_pause;
        }
        d.end = std::min(d.end, end_of_key_from_now(*d.of));
    }
}

void node::give_up_debt(debt& d) noexcept
{
    tell_not_owed(d.answers, d.end, d.sent_before);
    forget_debt(d);
}

void node::forget_debt(debt& d) noexcept
{
    if (d.answers != nullptr) {
        context_.unref(*d.answers);
    }
    context_.unref(*d.of);
    d = {};
    context_.pending_releases.give(d);
}

/// Of a node that stays away: keys that have expired need no release.
void node::forget_pointless_debts() noexcept
{
    owed_.remove_ended(context_.now, [this](debt& d) { give_up_debt(d); });
}

/// Nobody hears what an increment was answered, or the script that was to give its counter a ttl
/// has failed: that script is sent once more.
void node::owe_mend(lease& l) noexcept
{
    if (context_.stopped || debts() >= context_.settings.max_pending_releases) {
        return;  // the counter stays until the resource is locked again
    }
    try {
        unmended_.push(&l);
        ++l.references;
    } catch (const std::bad_alloc&) {
        // The same.
    }
}

/// Behind the releases. Of those that failed one a second.
void node::pay_mends()
{
    while (is_ready() && !unmended_.empty() && mends_due_ <= context_.now &&
           fifo_.size() < debts_at_once && (has_room() || fifo_.empty())) {
        lease& l = *unmended_.front();
        send(command::repair_expiry, l);
        context_.unref(*unmended_.pop());
        if (mends_due_ != instant{}) {
            mends_due_ = context_.now + first_pause;
        }
    }
}

// The connection was lost before the reply to `p`.

void node::on_increment_lost(const pending& p) noexcept
{
    on_vote_lost(p);
    owe_mend(*p.of_round().of);
}

void node::on_repair_lost(const pending& p) noexcept
{
    owe_mend(p.of_lease());
}

void node::on_release_lost(const pending& p) noexcept
{
    owe_instead_of(p, true);
}

}  // namespace redlock::core
