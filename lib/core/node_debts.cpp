#include "core/coordinator.hpp"
#include "core/node.hpp"
#include "core/node_queue.hpp"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <new>

// Releases that a node could not be given: owed until it is back, and as long as the key could
// live.
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
    return l.keys_end + c_.settings_.stall_timeout + c_.settings_.drift(l.keys_end - l.t0);
}

/// The same, once the node moves: what it has from lost connections is executed now, or soon.
instant node::end_of_key_from_now(const lease& l) const noexcept
{
    if (l.adopted) {
        return instant::max();
    }
    const nanos life = std::max(l.ttl, l.keys_end - l.t0);
    const instant latest = c_.now_ + c_.settings_.stall_timeout + life + c_.settings_.drift(life);
    return std::min(end_of_key(l), latest);
}

void node::owe(debt what) noexcept
{
    if (c_.stopped_ || what.end <= what.due) {
        return;
    }
    try {
        if (owed_.size() >= c_.settings_.max_debts) {
            ++c_.stats_.debts_dropped;
            if (owed_.empty() || what.is_repeat()) {
                return;
            }
            forget_debt(owed_.pop_least());
        }
        owed_.reserve_one();
        debt& d = c_.debts_.take();
        d = what;
        c_.ref(*d.of);
        if (d.answers != nullptr) {
            c_.ref(*d.answers);
        }
        owed_.push(d);
    } catch (const std::bad_alloc&) {
        // The key expires by itself; that the release was given up can be seen in the stats.
        ++c_.stats_.debts_dropped;
    }
    wake_up_ = is_ready() ? std::min(wake_up_, what.due) : wake_up_;
}

/// A release that has not been sent, or whose answer was lost with its connection.
void node::owe_now(lease& l, round* answers, bool sent_before) noexcept
{
    owe({&l, answers, c_.now_, end_of_key(l), nanos{}, sent_before});
}

/// The same release, whose answer is not to come or says nothing of the key. `sent_before`: it may
/// have been executed.
void node::owe_instead_of(const pending& p, bool sent_before) noexcept
{
    if (p.what == command::release) {
        round& r = *static_cast<round*>(p.subject);
        owe_now(*r.of, &r, sent_before);
    } else if (p.what == command::give_back) {
        owe_now(*static_cast<lease*>(p.subject), nullptr, sent_before);
    } else {
        assert(p.what == command::owed);
        debt& d = *static_cast<debt*>(p.subject);
        owe({d.of, d.answers, c_.now_, d.end, nanos{}, sent_before || d.sent_before});
        forget_debt(d);
    }
}

/// One more release, after a pause: the last one was answered, but the key is there, or may come
/// yet. `last`: the debt that it paid, if any.
void node::owe_again(lease& l, const debt* last, bool failed) noexcept
{
    const bool is_first = failed || last == nullptr || !last->is_repeat();
    const nanos pause = is_first ? first_pause : std::min(last->pause * 2, longest_pause);
    const instant end = last == nullptr ? end_of_key_from_now(l) : last->end;
    owe({&l, nullptr, c_.now_ + pause, end, pause, true});
}

/// `all`: on a new connection, whatever their time.
void node::pay_debts(bool all)
{
    // What is left waits for the next reply: there has to be one, though there is no room.
    while (!owed_.empty() && ailing_until_ <= c_.now_ && fifo_.size() < debts_at_once &&
           (has_room() || fifo_.empty())) {
        debt& d = owed_.front();
        if (!all && d.due > c_.now_) {
            return;
        }
        if (d.end <= c_.now_) {
            forget_debt(owed_.pop());
            continue;
        }
        if (d.due > c_.now_) {
            d.pause /= 2;  // it is sent early, and the next one is not to come later for that
        }
        const form f = release_form(*d.of);
        queue(command::owed, &d, f, [&] { append_release(*d.of, f); });
        owed_.pop();
        if (ailing_until_ != instant{}) {
            ailing_until_ = c_.now_ + first_pause;
        }
        d.end = std::min(d.end, end_of_key_from_now(*d.of));
    }
}

void node::forget_debt(debt& d) noexcept
{
    if (d.answers != nullptr) {
        c_.unref(*d.answers);
    }
    c_.unref(*d.of);
    d = {};
    c_.debts_.give(d);
}

/// Of a node that stays away: keys that have expired need no release.
void node::forget_pointless_debts() noexcept
{
    owed_.remove_ended(c_.now_, [this](debt& d) { forget_debt(d); });
}

/// The connection is gone, and with it the answer to `p`.
void node::forget_command(const pending& p) noexcept
{
    switch (p.what) {
        case command::set:
        case command::set_asked:
        case command::take:
        case command::marker:
        case command::holder_ttl:
        case command::increment:
        case command::count:
        case command::extend:
        case command::inspect: {
            round& r = *static_cast<round*>(p.subject);
            if (!r.tally.has_voted(index_)) {
                const bool known = r.refused_itself(index_);
                c_.record(r, index_, known ? node_outcome::refused : node_outcome::disconnected,
                          trouble_);
            }
            return;
        }
        case command::raise:
            c_.on_not_raised(*static_cast<round*>(p.subject), index_, trouble_);
            return;
        case command::release:
        case command::give_back:
        case command::owed: owe_instead_of(p, true); return;
        case command::caching: note_lost_watch(); return;  // there is one in each such row
        case command::admission:
        case command::mend:
        case command::tracking:
        case command::watch:
        case command::ping:
        case command::handshake: return;
    }
}

}  // namespace redlock::core
