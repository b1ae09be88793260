#include "core/coordinator.hpp"
#include "core/node.hpp"
#include "core/node_queue.hpp"

#include <cassert>
#include <new>

// Releases that a node could not be given: owed until it is back, and as long as the key could
// live.
namespace redlock::core {

namespace {

/// Commands without an answer up to which debts are sent, so that a long list of them does not come
/// in one flood.
constexpr std::size_t debts_at_once = 1024;

}  // namespace

/// A SET is executed within its node's deadline of being sent, or its connection is taken for lost:
/// then its key lives its ttl.
bool node::may_be_alive(const lease& l) const noexcept
{
    const auto ttl = l.keys_end - l.t0;
    return c_.now_ < l.keys_end + c_.settings_.node_timeout + c_.settings_.drift(ttl);
}

void node::owe(lease& l, round* answers, bool sent_before, base::instant due) noexcept
{
    if (!may_be_alive(l) || c_.stopped_) {
        return;
    }
    try {
        if (owed_.size() >= c_.settings_.max_debts) {
            ++c_.stats_.debts_dropped;
            if (owed_.empty()) {
                return;
            }
            forget_debt(*owed_.pop());
        }
        owed_.reserve_one();
        debt& d = c_.debts_.take();
        d = {&l, answers, due, sent_before};
        c_.ref(l);
        if (answers != nullptr) {
            c_.ref(*answers);
        }
        owed_.push(&d);
    } catch (const std::bad_alloc&) {
        // The key expires by itself; that the release was given up can be seen in the stats.
        ++c_.stats_.debts_dropped;
    }
    wake_up_ = is_ready() ? std::min(wake_up_, due) : wake_up_;
}

/// A key whose SET had no answer before its connection was lost may be set even now, behind the
/// release.
void node::owe_again_if_pending(lease& l) noexcept
{
    if ((l.asked & bit(index_)) != 0 && (l.answered & bit(index_)) == 0) {
        owe(l, nullptr, true, c_.now_ + reissue_after);
    }
}

/// `all`: on a new connection, whatever their time.
void node::pay_debts(bool all)
{
    while (!owed_.empty() && fifo_.size() < debts_at_once && has_room()) {
        debt& d = *owed_.front();
        if (!all && d.due > c_.now_) {
            return;
        }
        owed_.pop();
        if (!may_be_alive(*d.of)) {
            forget_debt(d);
            continue;
        }
        const form f = release_form();
        queue(command::owed, &d, f, [&] { append_release(*d.of, f); });
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

/// Of a node that stays away: keys that have expired need no release. The debts behind a living one
/// wait with it.
void node::forget_pointless_debts() noexcept
{
    while (!owed_.empty() && !may_be_alive(*owed_.front()->of)) {
        forget_debt(*owed_.pop());
    }
}

/// The connection is gone, and with it the answer to `p`.
void node::lose(const pending& p)
{
    switch (p.what) {
        case command::set:
        case command::set_asked:
        case command::holder_ttl:
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
        case command::release: {
            round& r = *static_cast<round*>(p.subject);
            owe(*r.of, &r, true, c_.now_);
            return;
        }
        case command::give_back:
            owe(*static_cast<lease*>(p.subject), nullptr, true, c_.now_);
            return;
        case command::owed: {
            debt& d = *static_cast<debt*>(p.subject);
            owe(*d.of, d.answers, true, c_.now_);
            forget_debt(d);
            return;
        }
        case command::ping:
        case command::handshake: return;
    }
}

}  // namespace redlock::core
