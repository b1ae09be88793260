#include "core/label.hpp"
#include "core/node/commands.hpp"
#include "core/node/node.hpp"
#include "resp/error_text.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string_view>
#include <utility>

// What a node answers to an acquire: its vote, and what its fencing counter has to do with it.
namespace redlock::core {

using std::chrono::milliseconds;

void node::note_grant(round& asked)
{
    const lease& l = *asked.of;
    asked.of->granted.fetch_or(bit(index_), std::memory_order_relaxed);
    context_.stats.late_grants += l.given_back;
    asked.keyed |= bit(index_);
    if (l.label != nullptr && !l.given_back) {
        set_label(l);  // the majority that won the lock was named before
    }
}

/// If the key that is in the way may be the client's own, the node has failed.
void node::record_refusal(round& asked) noexcept
{
    const std::string_view own = own_key_error(*asked.of);
    vote(asked, own.empty() ? node_outcome::refused : node_outcome::failed, own);
}

bool node::on_set(const pending& p, const resp::reply& r)
{
    round& asked = p.of_round();
    lease& l = *asked.of;
    const bool granted = r.type() == resp::reply_type::simple_string && r.text() == "OK";
    if (!granted && !r.is_null() && !r.is_error()) {
        return on_nonsense(p);
    }
    l.answered |= bit(index_);
    if (granted) {
        note_grant(asked);
        const bool is_alive = on_granted(asked);
        events_.on_keys_set(asked);
        return is_alive;
    }
    if (r.is_error()) {
        vote(asked, node_outcome::failed, error_of(r));
    } else if (!asked.asks_ttl) {
        record_refusal(asked);
    }
    // A refusal that asked for more is recorded with the reply behind it.
    return true;
}

bool node::on_holder_ttl(const pending& p, const resp::reply& r)
{
    round& asked = p.of_round();
    if (!r.is_integer() && !r.is_error()) {
        return on_nonsense(p);
    }
    if (asked.refused_itself(index_)) {
        if (r.is_integer() && own_key_error(*asked.of).empty()) {
            note_holder_ttl(asked, r.integer());
            if (asked.gate == bit(index_) && tracking_ == tracks::on) {
                lost_watches_ = 0;
                events_.on_watched(*asked.of, index_, 0, {r.integer(), p.sent});
            }
        }
        record_refusal(asked);
    }
    return true;
}

/// In front of what brings the vote, or, of several resources, what brings it.
bool node::on_holder_label(const pending& p, const resp::reply& r)
{
    round& asked = p.of_round();
    if (!r.is_string() && !r.is_null() && !r.is_error()) {
        return on_nonsense(p);
    }
    if (asked.what == round_kind::inspect && !asked.tally.has_voted(index_)) {
        const std::string_view value = r.text();
        asked.details->nodes[index_].foreign_label =
            r.is_error() ? resp::says_wrong_type(value)
                         : r.is_string() && !value.empty() && untied(value).empty();
    }
    if (r.is_string() && asked.what == round_kind::extend) {
        adopt_label(*asked.of, r.text());
    } else if (r.is_string() && asked.details != nullptr && !asked.tally.has_voted(index_)) {
        asked.details->nodes[index_].label = r.text().substr(0, max_stored_label_size);
    }
    if (asked.what == round_kind::take) {
        record_refusal(asked);
    }
    return true;
}

/// What a node says may shorten a wait, and never lengthen it.
void node::note_holder_ttl(round& asked, std::int64_t ttl_ms)
{
    const milliseconds ttl{std::min<std::int64_t>(ttl_ms, base::max_ttl.count())};
    if (asked.details != nullptr) {
        asked.details->nodes[index_].ttl = ttl;
    }
    if (ttl_ms >= 0) {
        asked.holder_ttl = std::min(asked.holder_ttl.value_or(ttl), ttl);
    }
}

/// All the keys at once: none of them is set where one was in the way.
bool node::on_take(const pending& p, const resp::reply& r)
{
    round& asked = p.of_round();
    lease& l = *asked.of;
    const bool fits = r.type() == resp::reply_type::array && r.size() == 2 &&
                      r.at(0).is_integer() && r.at(1).is_integer() && r.at(0).integer() >= 0 &&
                      r.at(0).integer() <= static_cast<std::int64_t>(l.resources().size());
    if (!fits && !r.is_error()) {
        return on_nonsense(p);
    }
    const bool may_vote =
        !l.given_back && !asked.tally.has_voted(index_) && context_.now < asked.deadline;
    if (r.is_error() && may_vote && judge(p, r) == scripted::again) {
        asked.sent_again |= bit(index_);
        return ask_again(p, l.ttl);
    }
    l.answered |= bit(index_);
    if (r.is_error()) {
        vote(asked, node_outcome::failed, counter_error(l, r));
        return true;
    }
    if (const auto held = static_cast<unsigned>(r.at(0).integer()); held > 0) {
        on_group_held(p, held, r.at(1).integer());
        return true;
    }
    note_grant(asked);
    const bool is_alive =
        on_granted(asked) && (asked.fencing == nullptr || on_counter(asked, r.at(1).integer()));
    if (is_alive) {
        events_.on_keys_set(asked);
    }
    return is_alive;
}

/// One of several resources is in the way.
void node::on_group_held(const pending& p, unsigned held, std::int64_t ttl_ms)
{
    round& asked = p.of_round();
    if (!own_key_error(*asked.of).empty()) {
        record_refusal(asked);
        return;
    }
    if (!asked.tally.has_voted(index_)) {
        note_holder_ttl(asked, ttl_ms);
        asked.held = held;
        const bool was_sent_once = (asked.sent_again & bit(index_)) == 0;
        if (asked.gate == bit(index_) && tracking_ == tracks::on && was_sent_once) {
            lost_watches_ = 0;
            events_.on_watched(*asked.of, index_, held, {ttl_ms, p.sent});
        }
    }
    if (asked.details != nullptr) {
        asked.details->nodes[index_].held = held;
    }
    if (asked.asks_label && !asked.closed && !asked.tally.has_voted(index_) && has_room()) {
        send(command::holder_label, asked);
    } else {
        record_refusal(asked);
    }
}

/// An error about the counter's value or key names that key so that an operator can look at it.
std::string node::counter_error(const lease& l, const resp::reply& r) const
{
    // Of several resources, the error may be about the key of a lock.
    const bool is_its_key = resp::says_key_not_permitted(r.text()) && !l.group;
    return resp::says_bad_counter(r.text()) || is_its_key ? counter_text(l) + ": " + error_of(r)
                                                          : error_of(r);
}

/// Of several resources no answer says which one's counter it is.
std::string node::counter_text(const lease& l) const
{
    return l.group ? "a fencing counter of the resources (their keys end with " +
                         std::string(base::counter_suffix) + ')'
                   : "the fencing counter " + key_text(l.resource, base::counter_suffix);
}

/// The value that the vote of a node that granted is for.
bool node::on_counter(round& asked, std::int64_t value)
{
    if (value < 1 || value > largest_counter) {
        vote(asked, node_outcome::failed, counter_text(*asked.of) + " is out of range");
    } else {
        asked.fencing->hold(index_, value);
        cast_vote(asked);
    }
    return true;
}

/// The increment began another one, without a ttl.
void node::on_counter_gone(round& asked)
{
    context_.known_counters.forget(asked.of->resource_hash, index_);
    if (!std::exchange(missed_a_counter_, true)) {
        context_.log(
            log_level::warning,
            {address_.display,
             " has lost a fencing counter before its ttl has passed, and perhaps locks with it"});
    }
    send(command::repair_expiry, *asked.of);
}

/// The counter may still complete the node's vote.
bool node::may_count(const round& asked) const noexcept
{
    return (asked.keyed & bit(index_)) != 0 && !asked.tally.has_voted(index_) &&
           context_.now < asked.deadline;
}

bool node::on_increment(const pending& p, const resp::reply& r)
{
    round& asked = p.of_round();
    if (!r.is_integer() && !r.is_error()) {
        return on_nonsense(p);
    }
    if (r.is_error() && resp::may_refuse_form(r.text())) {
        increment_refused_ = true;
        if (may_count(asked) && has_room()) {
            send(command::count, asked);
            return true;
        }
    }
    if (r.is_integer() && r.integer() < least_seeded_counter) {
        on_counter_gone(asked);
    }
    return on_own_counter(asked, r);
}

bool node::on_count(const pending& p, const resp::reply& r)
{
    round& asked = p.of_round();
    if (!r.is_integer() && !r.is_error()) {
        return on_nonsense(p);
    }
    if (r.is_error() && may_count(asked) && judge(p, r) == scripted::again) {
        return send_again(p);
    }
    if (r.is_integer() && r.integer() >= least_seeded_counter) {
        context_.known_counters.note(asked.of->resource_hash, index_, p.sent,
                                     context_.settings.counter_ttl);
    }
    return on_own_counter(asked, r);
}

/// What the counter of one resource was incremented to. If the node granted, this is its vote.
bool node::on_own_counter(round& asked, const resp::reply& r)
{
    if ((asked.keyed & bit(index_)) == 0) {
        return true;
    }
    if (r.is_error()) {
        vote(asked, node_outcome::failed, counter_error(*asked.of, r));
        return true;
    }
    return on_counter(asked, r.integer());
}

bool node::on_repair(const pending& p, const resp::reply& r)
{
    if (r.is_error()) {
        const scripted says = judge(p, r);
        // Room or not: the counter has to have a ttl.
        if (says == scripted::again || says == scripted::no_room) {
            return send_again(p);
        }
        if (!resp::is_about_state(r.text())) {
            if (!std::exchange(missed_a_mend_, true)) {
                context_.log(log_level::warning,
                             {address_.display, ": a fencing counter stays without a ttl (",
                              error_of(r), ")"});
            }
            return true;
        }
        repair_later(p.of_lease());
        repairs_due_ = context_.now + first_pause;
        wake_up_ = std::min(wake_up_, repairs_due_);
        return true;
    }
    repairs_due_ = {};
    return r.is_integer() || on_nonsense(p);
}

bool node::on_align(const pending& p, const resp::reply& r)
{
    round& asked = p.of_round();
    if (r.is_integer()) {
        const std::int64_t n = r.integer();
        if (n > largest_counter || n < -largest_counter) {
            tell_counter(asked, counter_answer::kind::unusable, 0,
                         counter_text(*asked.of) + " is out of range");
        } else if (n > 0) {
            if (!asked.of->group) {
                context_.known_counters.note(asked.of->resource_hash, index_, p.sent,
                                             context_.settings.counter_ttl);
            }
            tell_counter(asked, counter_answer::kind::aligned, n);
        } else if (n < 0) {
            tell_counter(asked, counter_answer::kind::found, -n);
        } else {
            asked.partner->keyed &= ~bit(index_);
            tell_counter(asked, counter_answer::kind::unusable, 0,
                         "the key was gone before the client aligned the fencing counter");
        }
        return true;
    }
    switch (judge(p, r)) {
        case scripted::again:
            // A later raise may need the script as well.
            if (!asked.of->given_back && context_.now < asked.deadline) {
                return send_again(p);
            }
            [[fallthrough]];
        case scripted::no_room:
        case scripted::no:
        case scripted::error:
            tell_counter(asked, counter_answer::kind::unknown, 0, counter_error(*asked.of, r));
            return true;
        case scripted::yes:
        case scripted::nonsense: break;
    }
    return on_nonsense(p);
}

// The connection was lost before the reply to `p`.

void node::on_vote_lost(const pending& p) noexcept
{
    round& r = p.of_round();
    if (r.tally.has_voted(index_)) {
        return;
    }
    if (r.refused_itself(index_)) {
        record_refusal(r);
    } else {
        vote(r, node_outcome::disconnected, trouble_);
    }
}

void node::on_align_lost(const pending& p) noexcept
{
    tell_counter(p.of_round(), counter_answer::kind::unknown, 0, trouble_);
}

}  // namespace redlock::core
