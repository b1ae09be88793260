#include "core/contention/contention.hpp"

#include "core/quorum/reports.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace redlock::core {

using base::instant;

namespace {

/// The end of the key that those behind `first` wait for; `unknown_end`: not known.
instant known_end(const lease& first) noexcept
{
    if (first.acquire != nullptr) {
        return first.acquire->wait.refused_until;
    }
    return first.is_granted ? first.valid_until() : unknown_end;
}

}  // namespace

contention::place contention::enter(operation& op)
{
    lease& first = leader_for(*op.subject);
    if (&first == op.subject) {
        return place::first;
    }
    if (!has_room_behind(first)) {
        return place::no_room;
    }
    wait_behind(op, first);
    return place::queued;
}

turn contention::next_turn(operation& op)
{
    if (!lead_or_wait(op)) {
        return {turn::kind::local};
    }
    return between_clients_.next_turn(op);
}

/// The lease that leads the resource of `l`: `l` itself from now on, if none did. One whose
/// validity has passed leads no more.
lease& contention::leader_for(lease& l) noexcept
{
    lease& first = leaders_.find_or_add(l);
    if (&first == &l || !first.is_granted || first.valid_until() > shared_.now) {
        return first;
    }
    end_turn(first);
    return leaders_.find_or_add(l);
}

/// The acquire leads its resource within the client, and may ask the nodes. False: it waits in the
/// queue until it is resumed.
bool contention::lead_or_wait(operation& op)
{
    lease& l = *op.subject;
    if (!l.leads && !l.group) {
        lease& first = leader_for(l);
        if (&first != &l && op.may_wait) {
            wait_behind(op, first);
            return false;
        }
    }
    l.acquire = &op;
    return true;
}

bool contention::has_room_behind(const lease& first) const noexcept
{
    const std::size_t there = first.queue == nullptr ? 0 : first.queue->waiting.size();
    return waiting_ < settings_.max_waiters && there < settings_.max_waiters_per_resource;
}

/// An acquire that has made an attempt goes to the front, since it had its turn already.
void contention::wait_behind(operation& op, lease& first)
{
    between_clients_.leave(op);
    if (first.queue == nullptr) {
        wait_queue& made = queues_.take();
        made.leader = &first;
        first.queue = &made;
    }
    scheduler_.set_timer(op, availability_.next_look(op));
    wait_queue& q = *first.queue;
    const bool is_first = op.attempts_made > 0 || q.waiting.empty();
    op.queue = &q;
    if (op.attempts_made == 0) {
        op.queue_position = q.waiting.size();
    }
    if (is_first) {
        q.waiting.push_front(op);
    } else {
        q.waiting.push_back(op);
    }
    ++waiting_;
    if (is_first) {
        set_timer_of_first(q);
    }
}

void contention::leave_queue(operation& op) noexcept
{
    if (op.queue == nullptr) {
        return;
    }
    wait_queue& q = *std::exchange(op.queue, nullptr);
    const bool was_first = &q.waiting.front() == &op;
    q.waiting.remove(op);
    --waiting_;
    scheduler_.cancel_timer(op);
    if (was_first && !q.waiting.empty()) {
        set_timer_of_first(q);
    }
}

/// The first waiter goes on at the end of the leader's validity, since the lock may never be given
/// back.
void contention::set_timer_of_first(wait_queue& q) noexcept
{
    operation& first = q.waiting.front();
    const lease& l = *q.leader;
    // It has a timer, which is moved without memory.
    const instant end = availability_.next_look(first);
    scheduler_.set_timer(first, l.is_granted ? std::min(end, l.valid_until()) : end);
}

void contention::on_time(operation& op) noexcept
{
    lease& l = *op.queue->leader;
    if (shared_.now >= op.deadline) {
        report_holder(op, known_end(l), shared_.now);
        resume(op);
    } else if (availability_.is_out_too_long(op)) {
        resume(op);
    } else if (&op != &op.queue->waiting.front()) {
        scheduler_.set_timer(op, availability_.next_look(op));
    } else if (l.is_granted && l.valid_until() <= shared_.now) {
        end_turn(l);
    } else {
        set_timer_of_first(*op.queue);
    }
}

void contention::on_granted(operation& op, instant end) noexcept
{
    lease& l = *op.subject;
    between_clients_.on_granted(op, end);
    l.acquire = nullptr;
    if (l.queue != nullptr && !l.queue->waiting.empty()) {
        set_timer_of_first(*l.queue);
    }
    if (op.owner) {
        resume_waiters_of_owner(op);
    }
}

void contention::on_finished(operation& op) noexcept
{
    if (!op.error) {
        return;
    }
    abandon_turn(op);
}

void contention::abandon_turn(operation& op) noexcept
{
    lease& l = *op.subject;
    if (l.leads && l.queue != nullptr && !l.queue->waiting.empty()) {
        between_clients_.pass_on(op, l.queue->waiting.front());
    } else {
        between_clients_.leave(op);
    }
    end_turn(l);
}

/// The next one in the queue asks directly after what gives the resource back.
void contention::end_turn(lease& l) noexcept
{
    l.acquire = nullptr;
    if (l.is_granted) {
        between_clients_.on_released(l);
    }
    if (!l.leads) {
        return;
    }
    if (l.queue == nullptr || l.queue->waiting.empty()) {
        leaders_.remove(l);
        if (l.queue != nullptr) {
            queues_.give(*std::exchange(l.queue, nullptr));
        }
        return;
    }
    operation& next = l.queue->waiting.front();
    shared_.stats.hand_overs += l.is_granted ? 1 : 0;
    pass_lead(l, *next.subject, next);
    resume(next);
}

void contention::on_new_lease(lease& from, lease& to, operation& op) noexcept
{
    if (from.leads) {
        pass_lead(from, to, op);
    } else {
        to.acquire = std::exchange(from.acquire, nullptr);
    }
}

/// To another lease of the same resource, by which `op` asks for it.
void contention::pass_lead(lease& from, lease& to, operation& op) noexcept
{
    leaders_.replace(from, to);
    from.acquire = nullptr;
    to.acquire = &op;
    to.queue = std::exchange(from.queue, nullptr);
    if (to.queue != nullptr) {
        to.queue->leader = &to;
    }
}

void contention::resume(operation& op) noexcept
{
    leave_queue(op);
    scheduler_.resume(op);
}

/// A waiter whose owner has the lock now would wait for itself.
void contention::resume_waiters_of_owner(const operation& had) noexcept
{
    for (const std::string& resource : had.subject->resources()) {
        between_clients_.resume_waiters_of_owner(had, resource);
        const lease* const leader = leaders_.find(resource);
        wait_queue* const q = leader == nullptr ? nullptr : leader->queue;
        operation* next = q == nullptr || q->waiting.empty() ? nullptr : &q->waiting.front();
        while (next != nullptr) {
            operation& op = *next;
            next = q->waiting.after(op);
            if (op.owner == had.owner) {
                resume(op);
            }
        }
    }
}

}  // namespace redlock::core
