#include "core/node/replies.hpp"

#include "base/text.hpp"
#include "core/label.hpp"
#include "core/node/command_table.hpp"
#include "core/node/parts.hpp"
#include "resp/error_text.hpp"
#include "resp/scripts.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

// The replies to commands that belong neither to an acquire nor to a fencing counter, and the
// functions that all replies share.
namespace redlock::core {

using std::chrono::milliseconds;

namespace {

/// The number of the resource that the node reports as not held, from one, among several; 0: it
/// reports none.
unsigned missing_in_group(const lease& l, const resp::reply& r) noexcept
{
    const auto size = static_cast<std::int64_t>(l.resources().size());
    const bool fits = l.group && r.is_integer() && r.integer() <= 0 && r.integer() > -size;
    return fits ? static_cast<unsigned>(1 - r.integer()) : 0;
}

}  // namespace

void forget_command(node_parts& n, const pending& p) noexcept
{
    if (const auto on_lost = traits_of(p.what).on_lost) {
        on_lost(n, p);
    }
}

bool on_nonsense(node_parts& n, const pending& p)
{
    ++n.state.shared.stats.protocol_errors;
    n.connection.break_off("sent a reply that does not fit its request");
    forget_command(n, p);
    return false;
}

bool give_up_as_of_others(node_parts& n, const resp::reply& marker)
{
    n.connection.break_off(disagreement(marker.text(), n.admission.run_id()), log_level::error);
    return false;
}

std::string error_of(const node_parts& n, const resp::reply& r)
{
    return resp::clean_error(r.text(), n.handshake.login().password());
}

std::string key_text(const node_parts& n, std::string_view resource, std::string_view suffix)
{
    constexpr std::size_t longest = 128;
    const std::string key = n.state.shared.settings.key_prefix + std::string(resource);
    return base::printable(key.substr(0, longest)) + (key.size() > longest ? "..." : "") +
           std::string(suffix);
}

/// The node did not execute the command, so the marker that was read after it proves nothing. The
/// client asks for the marker again too.
void ask_again(node_parts& n, const pending& p, base::nanos ttl)
{
    lease& l = *p.of_round().of;
    l.keys_end = std::max(l.keys_end, n.state.now() + ttl);
    n.requests.send_again(p);
    if (n.guard.has_to_prove(l)) {
        n.requests.send(command::marker, p.of_round());
    }
}

/// The next extend stores a refused label again.
bool on_set_label(node_parts& n, const pending& p, const resp::reply& r)
{
    n.requests.note_label_script(!r.is_error());
    if (r.is_error() && !resp::has_code(r.text(), "NOSCRIPT")) {
        n.requests.note_refused_form(p, r);
    }
    return true;
}

/// Nothing depends on the reply.
bool on_drop(node_parts&, const pending&, const resp::reply&)
{
    return true;
}

bool on_extend(node_parts& n, const pending& p, const resp::reply& r)
{
    round& asked = p.of_round();
    if (const unsigned missing = missing_in_group(*asked.of, r); missing > 0) {
        if (asked.details != nullptr) {
            asked.details->nodes[n.state.index].member = missing;
        }
        n.state.vote(asked, node_outcome::refused);
        return true;
    }
    return take_extend(n, p, n.requests.take_script_reply(p, r), r);
}

bool take_extend(node_parts& n, const pending& p, script_result result, const resp::reply& r)
{
    round& asked = p.of_round();
    switch (result) {
        case script_result::yes:
            asked.of->granted.fetch_or(bit(n.state.index), std::memory_order_relaxed);
            on_granted(n, asked);
            return true;
        case script_result::no: n.state.vote(asked, node_outcome::refused); return true;
        case script_result::again:
            // Even if a majority has decided, the key of this node should live as long as the
            // others.
            if (!asked.of->is_released && n.state.now() < asked.deadline) {
                ask_again(n, p, asked.ttl);
                return true;
            }
            [[fallthrough]];
        case script_result::no_room:
        case script_result::error:
            n.state.vote(asked, node_outcome::failed, error_of(n, r));
            return true;
        case script_result::nonsense: break;
    }
    return on_nonsense(n, p);
}

bool on_release(node_parts& n, const pending& p, const resp::reply& r)
{
    return take_release(n, p, n.requests.take_script_reply(p, r), r);
}

bool take_release(node_parts& n, const pending& p, script_result result, const resp::reply& r)
{
    switch (result) {
        case script_result::yes: n.releases.settle(p, node_outcome::granted, {}); return true;
        case script_result::no: n.releases.settle(p, node_outcome::refused, {}); return true;
        case script_result::again: n.requests.send_again(p); return true;
        case script_result::no_room: n.releases.keep_instead_of(p, false); return true;
        case script_result::error:
            n.releases.note_error("may still have a key of this client, as it refused a release: " +
                                  error_of(n, r));
            n.releases.settle(p, node_outcome::failed, error_of(n, r));
            return true;
        case script_result::nonsense: break;
    }
    return on_nonsense(n, p);
}

void on_release_lost(node_parts& n, const pending& p) noexcept
{
    n.releases.keep_instead_of(p, true);
}

bool on_inspect(node_parts& n, const pending& p, const resp::reply& r)
{
    round& asked = p.of_round();
    if (asked.tally.has_voted(n.state.index)) {
        ++n.state.shared.stats.late_replies;
        return true;
    }
    round_details::of_node& told = asked.details->nodes[n.state.index];
    const std::string beside = told.foreign_label
                                   ? key_text(n, asked.of->resource, base::holder_suffix) +
                                         " has something other than the label of a holder"
                                   : std::string();
    if (r.is_error()) {
        if (n.requests.take_script_reply(p, r) == script_result::again) {
            if (!asked.closed) {
                n.requests.send_again(p);
            }
            return true;
        }
        if (resp::says_wrong_type(r.text())) {
            told.foreign_kind = true;
            told.label.clear();  // it may be an earlier holder's
            n.state.vote(asked, node_outcome::granted, beside);
        } else {
            n.state.vote(asked, node_outcome::failed, error_of(n, r));
        }
        return true;
    }
    const bool fits = r.type() == resp::reply_type::array && r.size() == 2 &&
                      (r.at(0).is_null() || r.at(0).is_string()) && r.at(1).is_integer();
    if (!fits || r.at(0).text().size() > resp::longest_owner_told) {
        return on_nonsense(n, p);
    }
    if (r.at(0).is_null()) {
        told.label.clear();
        n.state.vote(asked, node_outcome::refused, beside);
        return true;
    }
    told.owner = r.at(0).text();
    if (!told.label.starts_with(label_tie(told.owner))) {
        told.label.clear();
    }
    told.ttl = milliseconds{std::min<std::int64_t>(r.at(1).integer(), base::max_ttl.count())};
    n.state.vote(asked, node_outcome::granted, beside);
    return true;
}

bool on_role(node_parts& n, const pending& p, const resp::reply& r)
{
    if (r.is_error()) {
        if (!resp::unfit_because(r.text()).empty()) {
            return true;  // `on_reply` gives the connection up
        }
        // The next connection may get the same refusal, and then logs the same reason.
        const std::string_view temporary = resp::temporary_because(r.text());
        n.connection.break_off(temporary.empty() ? "no longer gives its role: " + error_of(n, r)
                                                 : std::string(temporary));
        return false;
    }
    const auto told = read_role(r, n.handshake.role_reported_by());
    if (!told) {
        return on_nonsense(n, p);
    }
    if (!told->fault.empty()) {
        n.connection.break_off(told->fault, log_level::error);
        return false;
    }
    if (told->role.empty()) {
        n.connection.break_off("no longer gives its role");
        return false;
    }
    return true;
}

/// Even an error shows that the server answers: it may forbid PING, or load its data.
bool on_ping(node_parts& n, const pending& p, const resp::reply& r)
{
    if (r.is_error()) {
        return true;
    }
    if (!n.guard.is_on()) {
        return (r.is_string() && r.text() == "PONG") || on_nonsense(n, p);
    }
    if (!r.is_null() && !r.is_string()) {
        return on_nonsense(n, p);
    }
    return n.guard.on_marker(r) != marker_says::other_configuration || give_up_as_of_others(n, r);
}

bool on_admission(node_parts& n, const pending& p, const resp::reply& r)
{
    const admission::step asked = n.admission.end_step();
    if (!r.is_null() && !r.is_string() && !r.is_error()) {
        return on_nonsense(n, p);
    }
    if (r.is_error()) {
        n.guard.cannot_be_admitted(error_of(n, r));
    } else if (!n.guard.on_answer(asked, r)) {
        return give_up_as_of_others(n, r);
    }
    n.connection.check_health();
    return n.state.is_ready();
}

bool on_tracking(node_parts& n, const pending& p, const resp::reply& r)
{
    if (!r.is_error() && r.type() != resp::reply_type::simple_string) {
        return on_nonsense(n, p);
    }
    if (!r.is_error()) {
        n.notifications.on_accepted(p.what);
    } else if (n.notifications.on_refused(p.what, !resp::is_about_state(r.text()))) {
        n.state.shared.log(log_level::info,
                           {n.state.address.display, " sends no notifications: waiters poll (",
                            error_of(n, r), ")"});
    }
    return true;
}

bool on_watch(node_parts& n, const pending& p, const resp::reply& r)
{
    if (!r.is_integer() && !r.is_error()) {
        return on_nonsense(n, p);
    }
    n.notifications.on_watched();
    if (r.is_integer()) {
        n.state.events.waiters.on_watched(p.of_lease(), n.state.index, r.integer());
    }
    return true;
}

void on_caching_lost(node_parts& n, const pending&) noexcept
{
    n.notifications.on_watch_lost();
}

bool on_handshake(node_parts& n, const pending&, const resp::reply& r)
{
    return n.connection.on_handshake_reply(r);
}

}  // namespace redlock::core
