#include "core/node/parts.hpp"
#include "core/node/replies.hpp"
#include "resp/error_text.hpp"

#include <cstdint>
#include <string>
#include <utility>

// The replies about a fencing counter.
namespace redlock::core {

namespace {

/// The name of the counter in a message. For several resources, no answer says which counter it is
/// about.
std::string counter_text(const node_parts& n, const lease& l)
{
    return l.group ? "a fencing counter of the resources (their keys end with " +
                         std::string(base::counter_suffix) + ')'
                   : "the fencing counter " + key_text(n, l.resource, base::counter_suffix);
}

/// The counter was lost, and the increment began a new one without a ttl.
void on_counter_gone(node_parts& n, round& asked)
{
    n.state.shared.known_counters.forget(asked.of->resource_hash, n.state.index);
    if (!std::exchange(n.is_lost_counter_logged, true)) {
        n.state.shared.log(
            log_level::warning,
            {n.state.address.display,
             " has lost a fencing counter before its ttl has passed, and perhaps locks with it"});
    }
    n.requests.send(command::repair_expiry, *asked.of);
}

/// Whether the counter may still complete the node's vote.
bool may_count(const node_parts& n, const round& asked) noexcept
{
    return (asked.keyed & bit(n.state.index)) != 0 && !asked.tally.has_voted(n.state.index) &&
           n.state.now() < asked.deadline;
}

/// Takes the reply to an increment for one resource. If the node granted the key, the new value is
/// its vote.
bool on_own_counter(node_parts& n, round& asked, const resp::reply& r)
{
    if ((asked.keyed & bit(n.state.index)) == 0) {
        return true;
    }
    if (r.is_error()) {
        n.state.vote(asked, node_outcome::failed, counter_error(n, *asked.of, r));
        return true;
    }
    take_counter(n, asked, r.integer());
    return true;
}

}  // namespace

std::string counter_error(const node_parts& n, const lease& l, const resp::reply& r)
{
    // For several resources, the error may be about the key of a lock.
    const bool is_its_key = resp::says_key_not_permitted(r.text()) && !l.group;
    return resp::says_bad_counter(r.text()) || is_its_key
               ? counter_text(n, l) + ": " + error_of(n, r)
               : error_of(n, r);
}

void take_counter(node_parts& n, round& asked, std::int64_t value)
{
    if (value < 1 || value > largest_counter) {
        n.state.vote(asked, node_outcome::failed, counter_text(n, *asked.of) + " is out of range");
    } else {
        asked.fencing->hold(n.state.index, value);
        cast_vote(n, asked);
    }
}

bool on_increment(node_parts& n, const pending& p, const resp::reply& r)
{
    round& asked = p.of_round();
    if (!r.is_integer() && !r.is_error()) {
        return on_nonsense(n, p);
    }
    if (r.is_error() && resp::may_refuse_form(r.text())) {
        n.requests.note_refused_increment();
        if (may_count(n, asked) && n.requests.has_room()) {
            n.requests.send(command::count, asked);
            return true;
        }
    }
    if (r.is_integer() && r.integer() < least_seeded_counter) {
        on_counter_gone(n, asked);
    }
    return on_own_counter(n, asked, r);
}

bool on_count(node_parts& n, const pending& p, const resp::reply& r)
{
    round& asked = p.of_round();
    if (!r.is_integer() && !r.is_error()) {
        return on_nonsense(n, p);
    }
    if (r.is_error() && may_count(n, asked) &&
        n.requests.take_script_reply(p, r) == script_result::again) {
        n.requests.send_again(p);
        return true;
    }
    if (r.is_integer() && r.integer() >= least_seeded_counter) {
        n.state.shared.known_counters.note(asked.of->resource_hash, n.state.index, p.sent,
                                           n.state.shared.settings.counter_ttl);
    }
    return on_own_counter(n, asked, r);
}

bool on_repair(node_parts& n, const pending& p, const resp::reply& r)
{
    if (r.is_error()) {
        const script_result says = n.requests.take_script_reply(p, r);
        // Even without room, because the counter must have a ttl.
        if (says == script_result::again || says == script_result::no_room) {
            n.requests.send_again(p);
            return true;
        }
        if (!resp::is_about_state(r.text())) {
            if (!std::exchange(n.is_endless_counter_logged, true)) {
                n.state.shared.log(log_level::warning, {n.state.address.display,
                                                        ": a fencing counter stays without a ttl (",
                                                        error_of(n, r), ")"});
            }
            return true;
        }
        n.releases.on_repair_failed(p.of_lease());
        return true;
    }
    n.releases.on_repaired();
    return r.is_integer() || on_nonsense(n, p);
}

bool on_align(node_parts& n, const pending& p, const resp::reply& r)
{
    round& asked = p.of_round();
    if (r.is_integer()) {
        const std::int64_t value = r.integer();
        if (value > largest_counter || value < -largest_counter) {
            n.state.tell_counter(asked, counter_answer::kind::unusable, 0,
                                 counter_text(n, *asked.of) + " is out of range");
        } else if (value > 0) {
            if (!asked.of->group) {
                n.state.shared.known_counters.note(asked.of->resource_hash, n.state.index, p.sent,
                                                   n.state.shared.settings.counter_ttl);
            }
            n.state.tell_counter(asked, counter_answer::kind::aligned, value);
        } else if (value < 0) {
            n.state.tell_counter(asked, counter_answer::kind::found, -value);
        } else {
            asked.partner->keyed &= ~bit(n.state.index);
            n.state.tell_counter(asked, counter_answer::kind::unusable, 0,
                                 "the key was gone before the client aligned the fencing counter");
        }
        return true;
    }
    switch (n.requests.take_script_reply(p, r)) {
        case script_result::again:
            // Even if this alignment is closed: a late answer may complete a later one.
            if (!asked.of->is_released && n.state.now() < asked.deadline) {
                n.requests.send_again(p);
                return true;
            }
            [[fallthrough]];
        case script_result::no_room:
        case script_result::no:
        case script_result::error:
            n.state.tell_counter(asked, counter_answer::kind::unknown, 0,
                                 counter_error(n, *asked.of, r));
            return true;
        case script_result::yes:
        case script_result::nonsense: break;
    }
    return on_nonsense(n, p);
}

void on_increment_lost(node_parts& n, const pending& p) noexcept
{
    on_vote_lost(n, p);
    n.releases.keep_repair(*p.of_round().of);
}

void on_repair_lost(node_parts& n, const pending& p) noexcept
{
    n.releases.keep_repair(p.of_lease());
}

void on_align_lost(node_parts& n, const pending& p) noexcept
{
    n.state.tell_counter(p.of_round(), counter_answer::kind::unknown, 0, n.state.trouble.text());
}

}  // namespace redlock::core
