#include "core/label.hpp"
#include "core/node/parts.hpp"
#include "core/node/replies.hpp"
#include "resp/error_text.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string_view>

// The replies to an acquire, which make up the vote of the node. `counter_replies.cpp` has the
// replies about a fencing counter.
namespace redlock::core {

using std::chrono::milliseconds;

namespace {

void note_grant(node_parts& n, round& asked)
{
    const lease& l = *asked.of;
    asked.of->granted.fetch_or(bit(n.state.index), std::memory_order_relaxed);
    n.state.shared.stats.late_grants += l.is_released;
    asked.keyed |= bit(n.state.index);
    if (l.label != nullptr && !l.is_released) {
        n.requests.store_label(l);  // a late grant: the label went to the others before
    }
}

/// The node has refused. If the key in the way may be this client's own, the node has failed.
void record_refusal(node_parts& n, round& asked) noexcept
{
    const std::string_view own = n.releases.own_key_error(*asked.of);
    n.state.vote(asked, own.empty() ? node_outcome::refused : node_outcome::failed, own);
}

/// Keeps the shortest ttl, so that no node can make a wait longer.
void note_holder_ttl(node_parts& n, round& asked, std::int64_t ttl_ms)
{
    const milliseconds ttl{std::min<std::int64_t>(ttl_ms, base::max_ttl.count())};
    if (asked.details != nullptr) {
        asked.details->nodes[n.state.index].ttl = ttl;
    }
    if (ttl_ms >= 0) {
        asked.holder_ttl = std::min(asked.holder_ttl.value_or(ttl), ttl);
    }
}

/// One of several resources is in the way.
void on_group_held(node_parts& n, round& asked, unsigned member, std::int64_t ttl_ms)
{
    if (!n.releases.own_key_error(*asked.of).empty()) {
        record_refusal(n, asked);
        return;
    }
    if (!asked.tally.has_voted(n.state.index)) {
        note_holder_ttl(n, asked, ttl_ms);
        asked.member = member;
    }
    if (asked.details != nullptr) {
        asked.details->nodes[n.state.index].member = member;
    }
    if (asked.asks_label && !asked.closed && !asked.tally.has_voted(n.state.index) &&
        n.requests.has_room()) {
        n.requests.send(command::holder_label, asked);
    } else {
        record_refusal(n, asked);
    }
}

}  // namespace

void on_granted(node_parts& n, round& asked)
{
    if (n.state.trouble.is_unfit()) {
        n.state.trouble.on_granted();
    }
    if (n.guard.has_to_prove(*asked.of)) {
        asked.awaits_proof |= bit(n.state.index);  // the marker brings the proof
    }
    cast_vote(n, asked);
}

void cast_vote(node_parts& n, round& asked)
{
    if ((asked.awaits_proof & bit(n.state.index)) != 0) {
        return;
    }
    if (asked.fencing == nullptr) {
        n.state.vote(asked, node_outcome::granted);
    } else if (const auto value = asked.fencing->held(n.state.index)) {
        n.state.tell_counter(asked, counter_answer::kind::counted, *value);
    }
}

bool on_set(node_parts& n, const pending& p, const resp::reply& r)
{
    round& asked = p.of_round();
    lease& l = *asked.of;
    const bool granted = r.type() == resp::reply_type::simple_string && r.text() == "OK";
    if (!granted && !r.is_null() && !r.is_error()) {
        return on_nonsense(n, p);
    }
    l.answered |= bit(n.state.index);
    if (granted) {
        note_grant(n, asked);
        on_granted(n, asked);
        return true;
    }
    if (r.is_error()) {
        n.state.vote(asked, node_outcome::failed, error_of(n, r));
    } else if (!asked.asks_ttl) {
        record_refusal(n, asked);
    }
    // If the client also asked for the ttl, that reply records the refusal.
    return true;
}

/// The script sets all keys or none.
bool on_take(node_parts& n, const pending& p, const resp::reply& r)
{
    round& asked = p.of_round();
    lease& l = *asked.of;
    const bool fits = r.type() == resp::reply_type::array && r.size() == 2 &&
                      r.at(0).is_integer() && r.at(1).is_integer() && r.at(0).integer() >= 0 &&
                      r.at(0).integer() <= static_cast<std::int64_t>(l.resources().size());
    if (!fits && !r.is_error()) {
        return on_nonsense(n, p);
    }
    const bool may_vote =
        !l.is_released && !asked.tally.has_voted(n.state.index) && n.state.now() < asked.deadline;
    if (r.is_error() && may_vote && n.requests.take_script_reply(p, r) == script_result::again) {
        ask_again(n, p, l.ttl);
        return true;
    }
    l.answered |= bit(n.state.index);
    if (r.is_error()) {
        n.state.vote(asked, node_outcome::failed, counter_error(n, l, r));
        return true;
    }
    if (const auto member = static_cast<unsigned>(r.at(0).integer()); member > 0) {
        on_group_held(n, asked, member, r.at(1).integer());
        return true;
    }
    note_grant(n, asked);
    on_granted(n, asked);
    if (asked.fencing != nullptr) {
        take_counter(n, asked, r.at(1).integer());
    }
    return true;
}

/// If the marker admits the node, an admitted node has executed the commands before this one.
bool on_marker(node_parts& n, const pending& p, const resp::reply& r)
{
    round& asked = p.of_round();
    if (!r.is_null() && !r.is_string() && !r.is_error()) {
        return on_nonsense(n, p);
    }
    const bool is_awaited = (asked.awaits_proof & bit(n.state.index)) != 0;
    if (r.is_error()) {
        asked.awaits_proof &= ~bit(n.state.index);
        if (is_awaited) {
            n.state.vote(asked, node_outcome::failed, error_of(n, r));
        }
        return true;
    }
    const marker_says says = n.guard.on_marker(r);
    if (says == marker_says::other_configuration) {
        give_up_as_of_others(n, r);
        forget_command(n, p);
        return false;
    }
    asked.awaits_proof &= ~bit(n.state.index);
    if (is_awaited && says == marker_says::admitted) {
        asked.of->counted |= bit(n.state.index);
        cast_vote(n, asked);
    } else if (is_awaited) {
        n.state.vote(asked, node_outcome::quarantined, n.guard.reason());
    }
    return true;
}

bool on_holder_ttl(node_parts& n, const pending& p, const resp::reply& r)
{
    round& asked = p.of_round();
    if (!r.is_integer() && !r.is_error()) {
        return on_nonsense(n, p);
    }
    if (asked.refused_itself(n.state.index)) {
        if (r.is_integer() && n.releases.own_key_error(*asked.of).empty()) {
            note_holder_ttl(n, asked, r.integer());
        }
        record_refusal(n, asked);
    }
    return true;
}

/// For one resource, this reply comes before the one that casts the vote. For several, it casts the
/// vote itself.
bool on_holder_label(node_parts& n, const pending& p, const resp::reply& r)
{
    round& asked = p.of_round();
    if (!r.is_string() && !r.is_null() && !r.is_error()) {
        return on_nonsense(n, p);
    }
    if (asked.what == round_kind::inspect && !asked.tally.has_voted(n.state.index)) {
        const std::string_view value = r.text();
        asked.details->nodes[n.state.index].foreign_label =
            r.is_error() ? resp::says_wrong_type(value)
                         : r.is_string() && !value.empty() && untied(value).empty();
    }
    if (r.is_string() && asked.what == round_kind::extend) {
        adopt_label(*asked.of, r.text());
    } else if (r.is_string() && asked.details != nullptr && !asked.tally.has_voted(n.state.index)) {
        asked.details->nodes[n.state.index].label = r.text().substr(0, max_stored_label_size);
    }
    if (asked.what == round_kind::take) {
        record_refusal(n, asked);
    }
    return true;
}

void on_vote_lost(node_parts& n, const pending& p) noexcept
{
    round& r = p.of_round();
    if (r.tally.has_voted(n.state.index)) {
        return;
    }
    if (r.refused_itself(n.state.index)) {
        record_refusal(n, r);
    } else {
        n.state.vote(r, node_outcome::disconnected, n.state.trouble.text());
    }
}

}  // namespace redlock::core
