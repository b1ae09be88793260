#include "core/node/pending_releases.hpp"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <new>

namespace redlock::core {

using base::instant;
using base::nanos;

namespace {

/// Pending releases are sent while fewer commands than this are unanswered, so that a long list of
/// them does not flood the node.
constexpr std::size_t most_unanswered = 1024;

/// The pause before a release is repeated whose key may still be set. It doubles each time, because
/// a SET that is still on its way comes soon, or is lost.
constexpr nanos first_repeat = std::chrono::seconds{1};
constexpr nanos last_repeat = std::chrono::seconds{64};

/// The pause after a release or a repair that the node answered with an error.
constexpr nanos pause_after_error = std::chrono::seconds{1};

}  // namespace

instant pending_releases::next() noexcept
{
    instant at = instant::max();
    const auto note = [&](instant due) { at = due > node_.now() ? std::min(at, due) : at; };
    if (!waiting_.empty()) {
        note(std::max(waiting_.front().due, one_by_one_from_));
    }
    if (!repairs_.empty()) {
        note(repairs_due_);
    }
    return at;
}

void pending_releases::on_ready() noexcept
{
    one_by_one_from_ = repairs_due_ = {};
    error_.clear();
}

void pending_releases::on_reply()
{
    send_due();
    send_due_repairs();
}

void pending_releases::drop_all() noexcept
{
    while (!waiting_.empty()) {
        forget(waiting_.pop());
    }
    while (!repairs_.empty()) {
        node_.shared.unref(*repairs_.pop());
    }
}

/// Whether the server may still execute the SET, since the connection was lost before the answer.
bool pending_releases::may_be_set_yet(const lease& l) const noexcept
{
    return (l.asked & bit(node_.index)) != 0 && (l.answered & bit(node_.index)) == 0;
}

/// Whether the key may be on the node: set by this client, or by the one that detached the lease.
bool pending_releases::may_have_key(const lease& l) const noexcept
{
    return l.adopted || may_be_set_yet(l) ||
           (l.granted.load(std::memory_order_relaxed) & bit(node_.index)) != 0;
}

/// The end of a key is not known if the node may still execute the SET, or if another client set
/// the key with any ttl.
instant pending_releases::end_of_key(const lease& l) const noexcept
{
    if (l.adopted || may_be_set_yet(l)) {
        return instant::max();
    }
    // A connection is closed if a command stays unanswered for the stall timeout.
    return l.keys_end + node_.shared.settings.stall_timeout +
           node_.shared.settings.drift(l.keys_end - l.t0);
}

/// The same for a node that answers: it executes the commands of lost connections now, or soon.
instant pending_releases::end_of_key_from_now(const lease& l) const noexcept
{
    if (l.adopted) {
        return instant::max();
    }
    const nanos life = std::max(l.ttl, l.keys_end - l.t0);
    const instant latest = node_.now() + node_.shared.settings.stall_timeout + life +
                           node_.shared.settings.drift(life);
    return std::min(end_of_key(l), latest);
}

/// False: the client does not keep the release. The caller must report that.
bool pending_releases::add(const pending_release& what) noexcept
{
    if (node_.shared.stopped || what.end <= what.due) {
        return false;
    }
    try {
        if (size() >= node_.shared.settings.max_pending_releases && !repairs_.empty()) {
            node_.shared.unref(*repairs_.pop());  // a missing repair does less harm
        } else if (size() >= node_.shared.settings.max_pending_releases) {
            ++node_.shared.stats.pending_releases_dropped;
            if (waiting_.empty() || what.is_repeat()) {
                return false;
            }
            drop(waiting_.pop_least());
        }
        pending_release& d = node_.shared.pending_releases.take();
        d = what;
        ++d.of->references;
        if (d.answers != nullptr) {
            ++d.answers->references;
        }
        waiting_.push(d);
    } catch (const std::bad_alloc&) {
        // The key expires by itself. The statistics count the dropped release.
        ++node_.shared.stats.pending_releases_dropped;
        return false;
    }
    if (node_.is_ready()) {
        node_.wake_by(what.due);
    }
    return true;
}

bool pending_releases::keep(lease& l, round* answers, bool sent_before) noexcept
{
    return add({&l, answers, node_.now(), end_of_key(l), nanos{}, sent_before});
}

void pending_releases::keep_instead_of(const pending& p, bool sent_before) noexcept
{
    if (p.what == command::release) {
        round& r = p.of_round();
        if (!keep(*r.of, &r, sent_before)) {
            report_dropped(&r, end_of_key(*r.of), sent_before);
        }
    } else if (p.what == command::background_release) {
        static_cast<void>(keep(p.of_lease(), nullptr, sent_before));
    } else {
        assert(p.what == command::pending_release);
        pending_release& d = p.of_pending_release();
        d.sent_before = d.sent_before || sent_before;
        if (add({d.of, d.answers, node_.now(), d.end, nanos{}, d.sent_before})) {
            forget(d);
        } else {
            drop(d);
        }
    }
}

/// Reports to the round `waits` that no release will be sent that could answer it. From `end` on
/// the key is not on the node. A release that was sent may or may not have deleted it.
void pending_releases::report_dropped(round* waits, instant end, bool sent_before) noexcept
{
    if (waits == nullptr || waits->tally.has_voted(node_.index)) {
        return;
    }
    const bool is_gone = end <= node_.now() && !sent_before;
    node_.vote(*waits, is_gone ? node_outcome::refused : node_outcome::disconnected,
               node_.trouble.text());
}

/// Keeps one more release for later: the node answered the last one, but the key is there, or may
/// still come. `last`: the pending release that was answered; null: it was sent at once.
void pending_releases::repeat(lease& l, const pending_release* last, bool failed) noexcept
{
    const bool is_first = failed || last == nullptr || !last->is_repeat();
    const nanos pause = is_first ? first_repeat : std::min(last->pause * 2, last_repeat);
    const instant end = last == nullptr ? end_of_key_from_now(l) : last->end;
    static_cast<void>(add({&l, nullptr, node_.now() + pause, end, pause, true, failed}));
}

void pending_releases::settle(const pending& p, node_outcome outcome, std::string_view error)
{
    assert(traits_of(p.what).is_for == command_traits::purpose::release);
    pending_release* const answered =
        p.what == command::pending_release ? &p.of_pending_release() : nullptr;
    round* const waits = p.what == command::release ? &p.of_round()
                         : answered != nullptr      ? answered->answers
                                                    : nullptr;
    lease* const l = answered != nullptr ? answered->of
                     : waits != nullptr  ? waits->of
                                         : &p.of_lease();
    if (waits != nullptr) {
        // An earlier release of this client, whose answer was lost, may have deleted the key.
        const bool was_ours =
            outcome == node_outcome::refused && answered != nullptr && answered->sent_before;
        node_.vote(*waits, was_ours ? node_outcome::granted : outcome, error);
    }
    if (outcome == node_outcome::granted && node_.shared.waiters_at[node_.index] > 0) {
        for (const std::string& resource : l->resources()) {
            // The server doesn't notify this connection of its own commands.
            node_.events.waiters.on_notification(node_.index, notification::key_gone, resource);
        }
    }
    const bool failed = outcome == node_outcome::failed;
    one_by_one_from_ = failed ? node_.now() + pause_after_error : instant{};
    if (failed ? may_have_key(*l) : outcome == node_outcome::refused && may_be_set_yet(*l)) {
        repeat(*l, answered, failed);
    }
    if (answered != nullptr) {
        forget(*answered);
    }
}

std::string_view pending_releases::own_key_error(const lease& wanted) const noexcept
{
    if (error_.empty()) {
        return {};  // need not search all pending releases
    }
    const auto is_wanted = [&wanted](const std::string& resource) {
        const auto names = wanted.resources();
        return std::find(names.begin(), names.end(), resource) != names.end();
    };
    const auto is_in_the_way = [&](const pending_release& d) {
        const auto names = d.of->resources();
        return d.has_failed && d.end > node_.now() &&
               std::any_of(names.begin(), names.end(), is_wanted);
    };
    return waiting_.any_repeat(is_in_the_way) ? error_ : std::string_view();
}

void pending_releases::send_due(bool all)
{
    // The rest waits for the next reply. So an idle node gets one release even without room.
    while (!waiting_.empty() && one_by_one_from_ <= node_.now() &&
           requests_.size() < most_unanswered && requests_.has_room_or_is_idle()) {
        pending_release& d = waiting_.front();
        if (!all && d.due > node_.now()) {
            return;
        }
        if (d.end <= node_.now()) {
            drop(waiting_.pop());
            continue;
        }
        if (d.due > node_.now()) {
            d.pause /= 2;  // It is sent early, so the next pause does not grow.
        }
        requests_.send_release(command::pending_release, d, *d.of);
        waiting_.pop();
        if (one_by_one_from_ != instant{}) {
            one_by_one_from_ = node_.now() + pause_after_error;
        }
        d.end = std::min(d.end, end_of_key_from_now(*d.of));
    }
}

void pending_releases::drop(pending_release& d) noexcept
{
    report_dropped(d.answers, d.end, d.sent_before);
    forget(d);
}

void pending_releases::forget(pending_release& d) noexcept
{
    if (d.answers != nullptr) {
        node_.shared.unref(*d.answers);
    }
    node_.shared.unref(*d.of);
    d = {};
    node_.shared.pending_releases.give(d);
}

void pending_releases::drop_expired() noexcept
{
    waiting_.remove_ended(node_.now(), [this](pending_release& d) { drop(d); });
}

void pending_releases::keep_repair(lease& l) noexcept
{
    if (node_.shared.stopped || size() >= node_.shared.settings.max_pending_releases) {
        return;  // the counter has no ttl until the resource is locked again
    }
    try {
        repairs_.push(&l);
        ++l.references;
    } catch (const std::bad_alloc&) {
        // As above: the counter has no ttl for now.
    }
}

void pending_releases::on_repair_failed(lease& l) noexcept
{
    keep_repair(l);
    repairs_due_ = node_.now() + pause_after_error;
    node_.wake_by(repairs_due_);
}

void pending_releases::send_due_repairs()
{
    while (node_.is_ready() && !repairs_.empty() && repairs_due_ <= node_.now() &&
           requests_.size() < most_unanswered && requests_.has_room_or_is_idle()) {
        lease& l = *repairs_.front();
        requests_.send(command::repair_expiry, l);
        node_.shared.unref(*repairs_.pop());
        if (repairs_due_ != instant{}) {
            repairs_due_ = node_.now() + pause_after_error;
        }
    }
}

}  // namespace redlock::core
