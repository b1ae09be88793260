#include "base/text.hpp"
#include "core/label.hpp"
#include "core/node/commands.hpp"
#include "core/node/node.hpp"
#include "resp/error_text.hpp"
#include "resp/scripts.hpp"

#include <algorithm>
#include <cassert>

// What a node's replies mean, each by what it answers. Those to an acquire are in
// acquire_replies.cpp.
namespace redlock::core {

using base::instant;
using base::nanos;
using std::chrono::milliseconds;

namespace {

/// Of several resources the one that the node says is not held, counted from one; 0: it says so of
/// none.
unsigned missing_in_group(const lease& l, const resp::reply& r) noexcept
{
    const auto size = static_cast<std::int64_t>(l.resources().size());
    const bool fits = l.group && r.is_integer() && r.integer() <= 0 && r.integer() > -size;
    return fits ? static_cast<unsigned>(1 - r.integer()) : 0;
}

}  // namespace

void node::on_bytes(std::string_view bytes)
{
    if (state_ != state::handshaking && state_ != state::ready) {
        return;
    }
    last_reply_ = context_.now;
    reader_.feed(bytes);
    resp::reply r;
    for (;;) {
        switch (reader_.next(r)) {
            case resp::read_status::ready:
                if (!on_reply(r)) {
                    return;
                }
                break;
            case resp::read_status::more: return;
            case resp::read_status::error:
                ++context_.stats.protocol_errors;
                break_off(std::string("sent what is not a reply: ")
                              .append(to_string(reader_.error()))
                              .append(hint_of_nonsense()));
                return;
        }
    }
}

bool node::on_reply(const resp::reply& r)
{
    if (r.is_push()) {
        on_push(r);
        return true;
    }
    if (fifo_.empty()) {
        ++context_.stats.protocol_errors;
        break_off("sent a reply that nothing asked for");
        return false;
    }
    const pending p = fifo_.pop();
    const bool may_be_unfit = r.is_error() && state_ == state::ready;
    const std::string_view unfit =
        may_be_unfit ? resp::unfit_because(r.text()) : std::string_view();
    bool goes_on = false;
    if (r.is_error() && traits_of(p.what).is_for != command_traits::purpose::extra) {
        ++context_.stats.node_errors;
    }
    try {
        goes_on = dispatch(p, r);
    } catch (...) {
        // Memory ran out; the connection will be given up, and this command with it.
        forget_command(p);
        let_go(p);
        throw;
    }
    let_go(p);
    if (stalled_ && has_caught_up()) {
        stalled_ = false;
    }
    if (goes_on && !unfit.empty()) {
        give_up_as(unfit);
        return false;
    }
    if (goes_on && state_ == state::ready && !pending_.empty()) {
        send_pending_releases(false);
    }
    if (goes_on && !unrepaired_.empty()) {
        send_repairs();
    }
    return goes_on;
}

bool node::dispatch(const pending& p, const resp::reply& r)
{
    return (this->*traits_of(p.what).on_reply)(p, r);
}

void node::forget_command(const pending& p) noexcept
{
    if (const auto on_lost = traits_of(p.what).on_lost) {
        (this->*on_lost)(p);
    }
}

command_subject node::subject_of(const pending& p) noexcept
{
    switch (traits_of(p.what).subject) {
        case command_subject::kind::none: break;
        case command_subject::kind::round: return p.of_round();
        case command_subject::kind::lease: return p.of_lease();
        case command_subject::kind::pending_release: return p.of_pending_release();
    }
    return {};
}

void node::let_go(const pending& p) noexcept
{
    const command_traits& traits = traits_of(p.what);
    releases_unanswered_ -= traits.is_for == command_traits::purpose::release ? 1U : 0U;
    switch (traits.subject) {
        case command_subject::kind::round: context_.unref(p.of_round()); return;
        case command_subject::kind::lease: context_.unref(p.of_lease()); return;
        case command_subject::kind::none:
        case command_subject::kind::pending_release: return;
    }
}

/// A label that is refused comes again with the next extend.
bool node::on_set_label(const pending& p, const resp::reply& r)
{
    knows_label_script_ = !r.is_error();
    if (r.is_error() && !resp::has_code(r.text(), "NOSCRIPT")) {
        note_refused_form(p, r);
    }
    return true;
}

/// Nothing depends on what the node says.
bool node::on_drop_label(const pending&, const resp::reply&)
{
    return true;
}

/// A reply of a kind the command does not have: the replies are out of step, and none of them can
/// be believed.
bool node::on_nonsense(const pending& p)
{
    ++context_.stats.protocol_errors;
    break_off("sent a reply that does not fit its request");
    forget_command(p);
    return false;
}

std::string node::error_of(const resp::reply& r) const
{
    return resp::clean_error(r.text(), handshake_.password());
}

std::string node::key_text(std::string_view resource, std::string_view suffix) const
{
    constexpr std::size_t longest = 128;
    const std::string key = context_.settings.key_prefix + std::string(resource);
    return base::printable(key.substr(0, longest)) + (key.size() > longest ? "..." : "") +
           std::string(suffix);
}

/// If the node refuses the command rather than what it does, the client sends another one that does
/// the same, now and until the next connection.
bool node::note_refused_form(const pending& p, const resp::reply& r) noexcept
{
    if (p.sent_as == form::eval || !resp::may_refuse_form(r.text())) {
        return false;
    }
    (p.sent_as == form::evalsha ? digest_refused_ : native_refused_) = true;
    return true;
}

node::scripted node::judge(const pending& p, const resp::reply& r) noexcept
{
    // Every server's script, DELIFEQ and DELEX say 1 or 0.
    if (r.is_integer() && (r.integer() == 0 || r.integer() == 1)) {
        return r.integer() == 1 ? scripted::yes : scripted::no;
    }
    if (!r.is_error()) {
        return scripted::nonsense;
    }
    if (resp::says_wrong_type(r.text())) {
        return scripted::no;
    }
    const bool is_unknown = p.sent_as == form::evalsha && resp::has_code(r.text(), "NOSCRIPT");
    context_.stats.script_reloads += is_unknown ? 1 : 0;
    if (!is_unknown && !note_refused_form(p, r)) {
        return scripted::error;
    }
    return has_room() || fifo_.empty() ? scripted::again : scripted::no_room;
}

/// The script's text loads the script as well, so commands by its digest that are queued after it
/// find it.
bool node::send_again(const pending& p)
{
    send(p.what, subject_of(p), is_script(p.sent_as) ? form::eval : script_form());
    return true;
}

/// Sends a vote again that may set or prolong keys until `ttl` from now. The marker that was sent
/// with it was read too early.
bool node::ask_again(const pending& p, nanos ttl)
{
    lease& l = *p.of_round().of;
    l.keys_end = std::max(l.keys_end, context_.now + ttl);
    send_again(p);
    if (has_to_prove(l)) {
        send(command::marker, p.of_round());
    }
    return true;
}

bool node::on_extend(const pending& p, const resp::reply& r)
{
    round& asked = p.of_round();
    if (const unsigned missing = missing_in_group(*asked.of, r); missing > 0) {
        if (asked.details != nullptr) {
            asked.details->nodes[index_].held = missing;
        }
        vote(asked, node_outcome::refused);
        return true;
    }
    switch (judge(p, r)) {
        case scripted::yes:
            events_.on_keys_set(asked);
            asked.of->granted.fetch_or(bit(index_), std::memory_order_relaxed);
            return on_granted(asked);
        case scripted::no: vote(asked, node_outcome::refused); return true;
        case scripted::again:
            // A majority may have decided already; this node's key is to live as long as theirs.
            if (!asked.of->given_back && context_.now < asked.deadline) {
                return ask_again(p, asked.ttl);
            }
            [[fallthrough]];
        case scripted::no_room:
        case scripted::error: vote(asked, node_outcome::failed, error_of(r)); return true;
        case scripted::nonsense: break;
    }
    return on_nonsense(p);
}

bool node::on_release(const pending& p, const resp::reply& r)
{
    const scripted answer = judge(p, r);
    switch (answer) {
        case scripted::yes: settle(p, node_outcome::granted, {}); return true;
        case scripted::no: settle(p, node_outcome::refused, {}); return true;
        case scripted::again: return send_again(p);
        case scripted::no_room: release_instead_of(p, false); return true;
        case scripted::error:
            release_error_ =
                "may still have a key of this client, as it refused a release: " + error_of(r);
            settle(p, node_outcome::failed, error_of(r));
            return true;
        case scripted::nonsense: break;
    }
    return on_nonsense(p);
}

/// A release has its answer: tells who waits for it, and owes it again if the key may yet be there
/// or come.
void node::settle(const pending& p, node_outcome outcome, std::string_view error)
{
    assert(traits_of(p.what).is_for == command_traits::purpose::release);
    pending_release* const paid =
        p.what == command::pending_release ? &p.of_pending_release() : nullptr;
    round* const waits = p.what == command::release ? &p.of_round()
                         : paid != nullptr          ? paid->answers
                                                    : nullptr;
    lease* const l = paid != nullptr ? paid->of : waits != nullptr ? waits->of : &p.of_lease();
    if (waits != nullptr) {
        // It may be our own earlier release, whose answer was lost, that left no key.
        const bool was_ours =
            outcome == node_outcome::refused && paid != nullptr && paid->sent_before;
        vote(*waits, was_ours ? node_outcome::granted : outcome, error);
    }
    if (outcome == node_outcome::granted && context_.watchers[index_] > 0) {
        for (const std::string& resource : l->resources()) {
            // The server doesn't notify this connection of its own commands.
            events_.on_notification(index_, notification::key_gone, resource);
        }
    }
    const bool failed = outcome == node_outcome::failed;
    ailing_until_ = failed ? context_.now + first_pause : instant{};
    if (failed ? may_have_key(*l) : outcome == node_outcome::refused && may_be_set_yet(*l)) {
        release_again(*l, paid, failed);
    }
    if (paid != nullptr) {
        forget_release(*paid);
    }
}

bool node::on_inspect(const pending& p, const resp::reply& r)
{
    round& asked = p.of_round();
    if (asked.tally.has_voted(index_)) {
        ++context_.stats.late_replies;
        return true;
    }
    round_details::of_node& told = asked.details->nodes[index_];
    const std::string beside = told.foreign_label
                                   ? key_text(asked.of->resource, base::holder_suffix) +
                                         " has something other than the label of a holder"
                                   : std::string();
    if (r.is_error()) {
        if (judge(p, r) == scripted::again) {
            return asked.closed || send_again(p);
        }
        if (resp::says_wrong_type(r.text())) {
            told.foreign_kind = true;
            told.label.clear();  // an earlier holder's
            vote(asked, node_outcome::granted, beside);
        } else {
            vote(asked, node_outcome::failed, error_of(r));
        }
        return true;
    }
    const bool fits = r.type() == resp::reply_type::array && r.size() == 2 &&
                      (r.at(0).is_null() || r.at(0).is_string()) && r.at(1).is_integer();
    if (!fits || r.at(0).text().size() > resp::longest_owner_told) {
        return on_nonsense(p);
    }
    if (r.at(0).is_null()) {
        told.label.clear();
        vote(asked, node_outcome::refused, beside);
        return true;
    }
    told.owner = r.at(0).text();
    if (!told.label.starts_with(label_tie(told.owner))) {
        told.label.clear();
    }
    told.ttl = milliseconds{std::min<std::int64_t>(r.at(1).integer(), base::max_ttl.count())};
    vote(asked, node_outcome::granted, beside);
    return true;
}

bool node::on_role(const pending& p, const resp::reply& r)
{
    if (r.is_error()) {
        if (!resp::unfit_because(r.text()).empty()) {
            return true;  // `on_reply` gives the connection up
        }
        // The next connection may meet the same refusal, and then gives the same reason.
        const std::string_view temporary = resp::temporary_because(r.text());
        break_off(temporary.empty() ? "no longer gives its role: " + error_of(r)
                                    : std::string(temporary));
        return false;
    }
    const auto told = read_role(r, handshake_.tells_role_by());
    if (!told) {
        return on_nonsense(p);
    }
    if (!told->fault.empty()) {
        break_off(told->fault, log_level::error);
        return false;
    }
    if (told->role.empty()) {
        break_off("no longer gives its role");
        return false;
    }
    return true;
}

bool node::on_handshake(const pending&, const resp::reply& r)
{
    unsigned more = 0;
    out_.make_room();
    const auto progress = handshake_.on_reply(r, out_.last(), more);
    expect_handshake(more);
    switch (progress) {
        case handshake::progress::going_on:
            reader_.set_protocol(handshake_.protocol() == 3 ? resp::protocol::resp3
                                                            : resp::protocol::resp2);
            return true;
        case handshake::progress::ready:
            if (const std::string* const twin = name_of_twin()) {
                break_off("is the same server as " + *twin + ", and has no vote of its own",
                          log_level::error);
                return false;
            }
            if (is_of_others()) {
                break_off(disagreement(*handshake_.marker(), handshake_.run_id()),
                          log_level::error);
                return false;
            }
            become_ready();
            return true;
        case handshake::progress::failed: break;
    }
    break_off(handshake_.reason(),
              handshake_.needs_attention() ? log_level::error : log_level::warning);
    return false;
}

}  // namespace redlock::core
