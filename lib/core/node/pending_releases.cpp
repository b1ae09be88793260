#include "core/node/commands.hpp"
#include "core/node/node.hpp"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <new>

// Releases that a node has not acknowledged. The client keeps them until the node is back, for as
// long as the key can live. Also repairs of fencing counters that may have no ttl.
namespace redlock::core {

using base::instant;
using base::nanos;

namespace {

/// Pending releases are sent while fewer commands than this are unanswered, so that a long list of
/// them does not flood the node.
constexpr std::size_t most_unanswered = 1024;

}  // namespace

/// Whether the server may still execute the SET, since the connection was lost before the answer.
bool node::may_be_set_yet(const lease& l) const noexcept
{
    return (l.asked & bit(index_)) != 0 && (l.answered & bit(index_)) == 0;
}

/// Whether the key may be on the node: set by this client, or by the one that detached the lease.
bool node::may_have_key(const lease& l) const noexcept
{
    return l.adopted || may_be_set_yet(l) ||
           (l.granted.load(std::memory_order_relaxed) & bit(index_)) != 0;
}

/// The instant from which the key cannot be on the node; `max` if that is not known, since a node
/// that stands still may have the SET, or another client set the key with any ttl.
instant node::end_of_key(const lease& l) const noexcept
{
    if (l.adopted || may_be_set_yet(l)) {
        return instant::max();
    }
    // A connection is closed if a command stays unanswered for the stall timeout.
    return l.keys_end + context_.settings.stall_timeout +
           context_.settings.drift(l.keys_end - l.t0);
}

/// The same for a node that answers: it executes the commands of lost connections now, or soon.
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

/// False: the client does not keep the release. The caller must report that.
bool node::add_pending(const pending_release& what) noexcept
{
    if (context_.stopped || what.end <= what.due) {
        return false;
    }
    try {
        if (pending_releases() >= context_.settings.max_pending_releases && !unrepaired_.empty()) {
            context_.unref(*unrepaired_.pop());  // a missing repair does less harm
        } else if (pending_releases() >= context_.settings.max_pending_releases) {
            ++context_.stats.pending_releases_dropped;
            if (pending_.empty() || what.is_repeat()) {
                return false;
            }
            drop_release(pending_.pop_least());
        }
        pending_release& d = context_.pending_releases.take();
        d = what;
        ++d.of->references;
        if (d.answers != nullptr) {
            ++d.answers->references;
        }
        pending_.push(d);
    } catch (const std::bad_alloc&) {
        // The key expires by itself. The statistics count the dropped release.
        ++context_.stats.pending_releases_dropped;
        return false;
    }
    wake_up_ = is_ready() ? std::min(wake_up_, what.due) : wake_up_;
    return true;
}

/// Keeps a release that was not sent, or whose answer was lost with its connection.
bool node::release_later(lease& l, round* answers, bool sent_before) noexcept
{
    return add_pending({&l, answers, context_.now, end_of_key(l), nanos{}, sent_before});
}

/// Keeps the release of `p`, whose answer will not come or says nothing about the key.
/// `sent_before`: the node may have executed it.
void node::release_instead_of(const pending& p, bool sent_before) noexcept
{
    if (p.what == command::release) {
        round& r = p.of_round();
        if (!release_later(*r.of, &r, sent_before)) {
            report_dropped(&r, end_of_key(*r.of), sent_before);
        }
    } else if (p.what == command::background_release) {
        static_cast<void>(release_later(p.of_lease(), nullptr, sent_before));
    } else {
        assert(p.what == command::pending_release);
        pending_release& d = p.of_pending_release();
        d.sent_before = d.sent_before || sent_before;
        if (add_pending({d.of, d.answers, context_.now, d.end, nanos{}, d.sent_before})) {
            forget_release(d);
        } else {
            drop_release(d);
        }
    }
}

/// Reports to the round `waits` that no release will be sent that could answer it. From `end` on
/// the key is not on the node. A release that was sent may or may not have deleted it.
void node::report_dropped(round* waits, instant end, bool sent_before) noexcept
{
    if (waits == nullptr || waits->tally.has_voted(index_)) {
        return;
    }
    const bool is_gone = end <= context_.now && !sent_before;
    vote(*waits, is_gone ? node_outcome::refused : node_outcome::disconnected, trouble_);
}

/// Keeps one more release for later: the node answered the last one, but the key is there, or may
/// still come. `last`: the pending release that was answered; null: it was sent at once.
void node::release_again(lease& l, const pending_release* last, bool failed) noexcept
{
    const bool is_first = failed || last == nullptr || !last->is_repeat();
    const nanos pause = is_first ? first_pause : std::min(last->pause * 2, longest_pause);
    const instant end = last == nullptr ? end_of_key_from_now(l) : last->end;
    static_cast<void>(add_pending({&l, nullptr, context_.now + pause, end, pause, true, failed}));
}

/// The error of a release, if the key in the way of `wanted` may be the key of that release. Then
/// perhaps no other client has the lock.
std::string_view node::own_key_error(const lease& wanted) const noexcept
{
    if (release_error_.empty()) {
        return {};  // need not search all pending releases
    }
    const auto is_wanted = [&wanted](const std::string& resource) {
        const auto names = wanted.resources();
        return std::find(names.begin(), names.end(), resource) != names.end();
    };
    const auto is_in_the_way = [&](const pending_release& d) {
        const auto names = d.of->resources();
        return d.has_failed && d.end > context_.now &&
               std::any_of(names.begin(), names.end(), is_wanted);
    };
    return pending_.any_repeat(is_in_the_way) ? release_error_ : std::string_view();
}

/// `all`: also those whose time has not come, on a new connection.
void node::send_pending_releases(bool all)
{
    // The rest waits for the next reply. So there must be one, though there is no room.
    while (!pending_.empty() && ailing_until_ <= context_.now && fifo_.size() < most_unanswered &&
           (has_room() || fifo_.empty())) {
        pending_release& d = pending_.front();
        if (!all && d.due > context_.now) {
            return;
        }
        if (d.end <= context_.now) {
            drop_release(pending_.pop());
            continue;
        }
        if (d.due > context_.now) {
            d.pause /= 2;  // it is sent early, and the next one must not be late for that
        }
        send(command::pending_release, d, release_form(*d.of));
        pending_.pop();
        if (ailing_until_ != instant{}) {
            ailing_until_ = context_.now + first_pause;
        }
        d.end = std::min(d.end, end_of_key_from_now(*d.of));
    }
}

void node::drop_release(pending_release& d) noexcept
{
    report_dropped(d.answers, d.end, d.sent_before);
    forget_release(d);
}

void node::forget_release(pending_release& d) noexcept
{
    if (d.answers != nullptr) {
        context_.unref(*d.answers);
    }
    context_.unref(*d.of);
    d = {};
    context_.pending_releases.give(d);
}

/// For a node that stays away: keys that have expired need no release.
void node::drop_expired_releases() noexcept
{
    pending_.remove_ended(context_.now, [this](pending_release& d) { drop_release(d); });
}

/// Keeps a repair of the counter's ttl: the answer to an increment was lost, or the script that
/// gives the counter a ttl has failed.
void node::repair_later(lease& l) noexcept
{
    if (context_.stopped || pending_releases() >= context_.settings.max_pending_releases) {
        return;  // the counter stays until the resource is locked again
    }
    try {
        unrepaired_.push(&l);
        ++l.references;
    } catch (const std::bad_alloc&) {
        // As above: the counter stays.
    }
}

/// Sends repairs, after the releases. Of repairs that failed, one a second.
void node::send_repairs()
{
    while (is_ready() && !unrepaired_.empty() && repairs_due_ <= context_.now &&
           fifo_.size() < most_unanswered && (has_room() || fifo_.empty())) {
        lease& l = *unrepaired_.front();
        send(command::repair_expiry, l);
        context_.unref(*unrepaired_.pop());
        if (repairs_due_ != instant{}) {
            repairs_due_ = context_.now + first_pause;
        }
    }
}

// The connection was lost before the reply to `p`.

void node::on_increment_lost(const pending& p) noexcept
{
    on_vote_lost(p);
    repair_later(*p.of_round().of);
}

void node::on_repair_lost(const pending& p) noexcept
{
    repair_later(p.of_lease());
}

void node::on_release_lost(const pending& p) noexcept
{
    release_instead_of(p, true);
}

}  // namespace redlock::core
