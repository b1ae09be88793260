#include "core/contention/fair_queue.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <string>
#include <utility>

// The notifications of waiters, and their polls for notifications that do not come.
namespace redlock::core {

using base::instant;
using base::nanos;

namespace {

/// The waiters of a client poll at most a thousand times a second together.
constexpr nanos poll_of_one = std::chrono::milliseconds{1};
/// The polls of all clients for one resource: the longer, the more tickets are before.
constexpr nanos poll_a_ticket = std::chrono::milliseconds{3};
/// A turn of a client without notifications takes at least as long.
constexpr int round_trips_a_turn = 4;
/// A poll also renews the ticket, whose ttl is twice as long. It is long, since each renewal
/// notifies the next waiter.
constexpr nanos usual_longest_poll = std::chrono::seconds{15};

struct ticket_key {
    std::string_view resource;
    ticket name;
};

/// Empty: the key is no ticket's.
std::optional<ticket_key> read_ticket_key(std::string_view key) noexcept
{
    constexpr std::size_t added = 1 + ticket::size + base::ticket_suffix.size();
    if (!key.ends_with(base::ticket_suffix) || key.size() <= added) {
        return std::nullopt;
    }
    const std::string_view resource = key.substr(0, key.size() - added);
    const auto name = ticket::parse(key.substr(resource.size() + 1, ticket::size));
    return name ? std::optional(ticket_key{resource, *name}) : std::nullopt;
}

}  // namespace

/// Asks the node for a notification of what the acquire waits for.
void fair_queue::watch(operation& op) noexcept
{
    wait_state& w = op.wait;
    notifications& of_node = nodes_[w.node]->notifications();
    if (!of_node.can_track()) {
        wait_without_notification(op);
        return;
    }
    try {
        of_node.watch(*op.subject, awaited_resource(op),
                      w.at == stage::behind ? std::optional(w.predecessor) : std::nullopt);
    } catch (const std::bad_alloc&) {
        wait_without_notification(op);
        return;
    }
    set_poll(op, shared_.now + std::max<nanos>(w.backoff, settings_.node_timeout));
}

/// The first waiter polls at its back-off. The others poll more rarely the farther back they are,
/// and the longer their place has stayed the same.
void fair_queue::wait_without_notification(operation& op) noexcept
{
    const wait_state& w = op.wait;
    nanos wait = w.backoff;
    if (w.at == stage::behind) {
        const auto before = static_cast<std::int64_t>(w.before.value_or(0));
        const nanos stayed = shared_.now - w.watched_since;
        wait = std::max(round_trips_a_turn * round_trip_ * before, stayed / 4);
        wait = std::min<nanos>(
            {wait, settings_.backoff_min + poll_a_ticket * before, settings_.backoff_max});
        wait -= shared_.random_below(wait / 4);
    }
    set_poll(op, shared_.now + std::max(wait, least_wait));
}

void fair_queue::watch_without_ticket(operation& op)
{
    const auto index = preferred(awaited_resource(op),
                                 [](const node& n) { return n.notifications().can_track(); });
    if (!index) {
        leave(op);
        set_poll(op, shared_.now + op.wait.backoff);
        return;
    }
    enter(op, stage::first, *index);
    watch(op);
}

void fair_queue::on_watched(const lease& l, unsigned index, std::int64_t ttl_ms) noexcept
{
    operation* const op = waiter_of(l, index);
    if (op == nullptr || op->wait.at == stage::asked) {
        return;
    }
    wait_state& w = op->wait;
    if (w.attempt_due || w.is_notified) {
        return;
    }
    if (ttl_ms == no_key) {
        if (w.at == stage::behind) {
            ask_again(*op);
        } else {
            on_lock_free(*op);
        }
        return;
    }
    if (!nodes_[index]->notifications().is_tracking()) {
        wait_without_notification(*op);
        return;
    }
    w.is_watched = true;
    w.watched_since = shared_.now;
    if (w.at != stage::behind) {
        w.found_free = false;
        w.refused_until = end_of_key(ttl_ms);
    }
    set_poll(*op, end_of_watch(*op));
}

/// The lock is free at the node. If it was so before an attempt that failed, too, its holder is
/// known to other nodes only, and the acquire polls.
void fair_queue::on_lock_free(operation& op) noexcept
{
    if (!std::exchange(op.wait.found_free, true)) {
        wake(op, false);
    } else {
        set_poll(op, shared_.now + std::max(op.wait.backoff, least_wait));
    }
}

/// Waiters without a ticket are all woken together, so chance decides which one asks first.
void fair_queue::wake(operation& op, bool is_notified) noexcept
{
    wait_state& w = op.wait;
    w.attempt_due = true;
    w.is_notified = is_notified;
    w.is_watched = false;
    if (w.has_ticket) {
        go_on(op);
    } else {
        poll_within(op, 4 * round_trip_);
    }
}

void fair_queue::go_on(operation& op) noexcept
{
    op.wait.poll_at = shared_.now;
    if (is_asleep(op)) {
        scheduler_.resume(op);
    }
}

bool fair_queue::is_asleep(const operation& op) noexcept
{
    return op.may_be_roused && op.heap_place != sleeper::no_wake_up;
}

void fair_queue::set_poll(operation& op, instant when) noexcept
{
    op.wait.poll_at = when;
    if (is_asleep(op)) {
        scheduler_.set_timer(op, end_of_pause(op));
    }
}

/// The next poll, or an earlier instant at which the acquire may end.
instant fair_queue::end_of_pause(const operation& op) const noexcept
{
    return std::min(op.wait.poll_at, availability_.next_look(op));
}

/// At a random time, but early enough for an attempt before the deadline.
void fair_queue::poll_within(operation& op, nanos longest) noexcept
{
    const nanos left = op.deadline - shared_.now;
    set_poll(op, shared_.now + shared_.random_below(std::min(longest, left / 4)));
}

nanos fair_queue::poll_of_many() const noexcept
{
    return poll_of_one * static_cast<std::int64_t>(size());
}

nanos fair_queue::longest_poll() const noexcept
{
    return std::max(usual_longest_poll, poll_of_many());
}

/// The time of the next poll if no notification comes.
instant fair_queue::end_of_watch(const operation& op) noexcept
{
    const wait_state& w = op.wait;
    nanos longest = settings_.max_poll_interval;
    if (w.at == stage::behind) {
        const auto before = static_cast<std::int64_t>(w.before.value_or(0));
        // The waiter before may be the first one by now, and may be dead.
        longest = std::max(longest / 2, poll_a_ticket * before);
    }
    longest = std::clamp(longest, poll_of_many(), longest_poll());
    nanos wait = longest - shared_.random_below(longest / 4);
    if (w.at != stage::behind && w.refused_until != unknown_end) {
        const nanos lives = w.refused_until - shared_.now;
        wait = std::min(wait, lives + shared_.random_below(std::max(round_trip_, least_wait)));
    }
    if (w.at == stage::behind && w.idle_since && !is_idle(op)) {
        wait = std::min(wait, *w.idle_since + idle_time(op) - shared_.now);
    }
    if (nodes_[w.node]->notifications().is_silent()) {
        wait = std::min(wait, std::max(w.backoff, poll_of_many()));
    }
    return shared_.now + std::max(wait, least_wait);
}

/// How long a waiter finds the lock free, and the queue before its ticket unchanged, until it takes
/// the waiters before it for dead. A waiter far from the nodes needs this time for an attempt, and
/// one without notifications until its next attempt. A waiter that made an attempt in vain waits
/// longer, since the lock may be held at other nodes.
nanos fair_queue::idle_time(const operation& op) const noexcept
{
    const nanos usual = std::max<nanos>(
        {3 * settings_.node_timeout, settings_.max_poll_interval / 4, settings_.backoff_max});
    return op.wait.found_free ? usual_longest_poll : std::min(usual, usual_longest_poll);
}

bool fair_queue::is_idle(const operation& op) const noexcept
{
    return op.wait.idle_since && shared_.now - *op.wait.idle_since >= idle_time(op);
}

/// `ttl_ms`: as PTTL returns it for a key.
instant fair_queue::end_of_key(std::int64_t ttl_ms) const noexcept
{
    const bool ends = ttl_ms >= 0 && ttl_ms < base::max_ttl.count();
    return ends ? shared_.now + std::chrono::milliseconds{ttl_ms} : unknown_end;
}

/// A poll has found what should have been notified.
void fair_queue::note_silence(operation& op) noexcept
{
    if (nodes_[op.wait.node]->notifications().note_silence(op.wait.watched_since)) {
        ++shared_.stats.notifications_missed;
    }
}

/// The acquire with this lease if it waits at the node.
operation* fair_queue::waiter_of(const lease& l, unsigned index) const noexcept
{
    operation* const op = l.acquire;
    const bool is_it = op != nullptr && op->subject == &l && op->wait.at != stage::none &&
                       op->wait.node == index && !op->cancelled;
    return is_it ? op : nullptr;
}

/// Calls `each` for the acquires of this client that wait for the end of something at the resource.
template <class Do>
void fair_queue::for_waiters(std::string_view resource, Do each) noexcept
{
    const lease* const first = leaders_.find(resource);
    if (first != nullptr && first->acquire != nullptr && first->acquire->wait.at != stage::none) {
        each(*first->acquire);
    }
    const auto its = groups_.empty() ? groups_.end() : groups_.find(hash_of(resource));
    operation* next = its == groups_.end() ? nullptr : &its->second.front();
    while (next != nullptr) {
        operation& op = *next;
        next = its->second.after(op);
        if (awaited_resource(op) == resource) {
            each(op);
        }
    }
}

template <class Do>
void fair_queue::for_waiters_at(unsigned index, Do each) noexcept
{
    operation_list& all = scheduler_.under_way();
    for (operation* op = shared_.waiters_at[index] == 0 ? nullptr : &all.front(); op != nullptr;
         op = all.after(*op)) {
        if (op->wait.at != stage::none && op->wait.node == index) {
            each(*op);
        }
    }
}

void fair_queue::resume_waiters_of_owner(const operation& had, std::string_view resource) noexcept
{
    for_waiters(resource, [&](operation& op) {
        if (op.owner == had.owner && is_asleep(op)) {
            scheduler_.resume(op);
        }
    });
}

/// A server does not notify a client of its own commands.
void fair_queue::on_released(const lease& l) noexcept
{
    uses_.note(key_of_use(l), shared_.now, shared_.now + recent_uses::remembered);
    if (l.leads && groups_.empty()) {
        return;
    }
    for (const std::string& resource : l.resources()) {
        for_waiters(resource, [&](operation& op) {
            if (op.subject != &l && op.wait.at == stage::first) {
                wake(op, true);
            }
        });
    }
}

void fair_queue::on_ticket_gone(std::string_view resource, const ticket& gone) noexcept
{
    for_waiters(resource, [&](operation& op) {
        if (op.wait.predecessor != gone) {
            return;
        }
        op.wait.is_watched = false;
        if (op.wait.at == stage::behind) {
            ask_again(op);
        }
    });
}

void fair_queue::on_notification(unsigned index, notification what, std::string_view key) noexcept
{
    const auto many = static_cast<std::int64_t>(shared_.waiters_at[index]);
    switch (what) {
        case notification::key_gone: {
            const auto of = read_ticket_key(key);
            for_waiters(of ? of->resource : key, [&](operation& op) {
                wait_state& w = op.wait;
                if (!w.is_watched || w.node != index) {
                    return;
                }
                if (w.at == stage::first && !of) {
                    wake(op, true);
                } else if (of && w.predecessor == of->name) {
                    w.is_watched = false;
                    if (w.at == stage::behind) {
                        ask_again(op);
                    }
                }
            });
            return;
        }
        case notification::all_keys_gone:
            for_waiters_at(index, [&](operation& op) {
                op.wait.is_watched = false;
                op.wait.attempt_due = op.wait.is_notified = op.wait.at == stage::first;
                poll_within(op, poll_of_one * many);
            });
            return;
        case notification::none_to_come:
            for_waiters_at(index, [&](operation& op) {
                op.wait.is_watched = false;
                poll_within(op, std::max<nanos>(settings_.backoff_max, poll_of_one * many));
            });
            return;
    }
}

}  // namespace redlock::core
