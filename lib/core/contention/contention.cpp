#include "core/contention/contention.hpp"

#include <utility>

// The steps of an acquire.
namespace redlock::core {

using base::instant;
using base::nanos;

contention::place contention::enter(operation& op)
{
    lease& first = who_leads(*op.subject);
    if (&first == op.subject) {
        return place::first;
    }
    if (!has_room_behind(first)) {
        return place::no_room;
    }
    stand_in_line(op, first);
    return place::queued;
}

turn contention::next_turn(operation& op)
{
    if (!lead_or_wait(op)) {
        return {turn::kind::queue};
    }
    if (!op.has_rested) {
        if (const instant end = end_of_rest(op); end > shared_.now) {
            op.has_rested = true;
            return {turn::kind::rest, end};
        }
    }
    if (const instant end = end_of_inherited(op); end > shared_.now) {
        return {turn::kind::pause, end};
    }
    return {};
}

void contention::on_new_lease(lease& from, lease& to, operation& op) noexcept
{
    if (from.leads) {
        pass_lead(from, to, op);
    } else {
        to.sought_by = std::exchange(from.sought_by, nullptr);
    }
}

void contention::on_attempt(operation& op) noexcept
{
    const bool looks = (op.attempts_made > 0 || op.watches != 0) && !op.is_woken && !op.was_roused;
    shared_.stats.polls += looks;
    op.looked_at = looks ? op.watches : 0;
    op.was_woken = op.is_woken;
    op.was_roused = op.is_woken = op.is_next = op.is_heir = op.is_watch_asked = false;
    op.looks_at = instant{};
    if (op.looked_at != 0) {
        stop_being_told(op);  // what the client itself does meanwhile it has to know
    } else {
        watch_no_more(op);
    }
}

void contention::on_first_answers(const round& r, verdict v) noexcept
{
    const bool is_known = r.gate != 0 ? (r.gate & (r.keyed | r.tally.refused_by())) != 0
                                      : v == verdict::won || v == verdict::refused;
    if (is_known) {
        const nanos took = shared_.now - r.t0;
        round_trip_ = round_trip_ == nanos{} ? took : round_trip_ + (took - round_trip_) / 8;
    }
}

void contention::on_granted(operation& op, const round& r, instant end) noexcept
{
    lease& l = *op.subject;
    shared_.stats.notified_attempts_granted += op.was_woken;
    count_gap(op);
    if (!l.group) {
        note_key_in_the_way(l, r.tally.refused_by());
        sought_after_.keep(l.resource_hash, shared_.now, end);
    }
    l.sought_by = nullptr;
    if (l.line != nullptr && !l.line->waiting.empty()) {
        watch_over(*l.line);
    }
    if (op.owner) {
        call_in(op);
    }
}

void contention::on_not_granted(operation& op, const round& r, verdict v) noexcept
{
    shared_.stats.notified_attempts_refused += op.was_woken;
    op.refusals += op.was_woken ? 1 : 0;
    if (op.cancelled) {
        return;
    }
    if (r.tally.refused() > 0 && v != verdict::won) {
        note_contention(*op.subject);
    }
    if (op.watches == 0 && op.looked_at == 0) {  // else the node says it that is to tell
        op.refused_until = r.holder_ttl ? shared_.now + *r.holder_ttl : unknown_end;
    }
}

void contention::on_finished(operation& op) noexcept
{
    if (op.error && op.looks_at > shared_.now) {
        bequeath_pause(op);
    }
    watch_no_more(op);
    if (op.error) {
        end_turn(*op.subject);
    }
}

void contention::abandon_turn(operation& op) noexcept
{
    end_turn(*op.subject);
    op.is_heir = false;
    op.looks_at = instant{};
}

void contention::on_notification(unsigned index, notification what,
                                 std::string_view resource) noexcept
{
    switch (what) {
        case notification::key_gone: on_key_gone(index, resource); return;
        case notification::all_keys_gone: on_keys_gone(index); return;
        case notification::none_to_come: on_watch_lost(index); return;
    }
}

void contention::resume(operation& op) noexcept
{
    leave_queue(op);
    scheduler_.resume(op);
}

}  // namespace redlock::core
