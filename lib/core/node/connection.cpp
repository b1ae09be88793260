#include "core/node/connection.hpp"

#include "core/node/command_table.hpp"
#include "core/node/parts.hpp"
#include "core/node/replies.hpp"
#include "resp/error_text.hpp"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstddef>
#include <new>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::core {

using base::instant;
using base::nanos;

namespace {

/// A vote needs a role that the client asked for no longer ago than this.
constexpr nanos role_known_for = std::chrono::seconds{1};

/// If the server closes the connection at the greeting, every third greeting is without HELLO.
constexpr unsigned greeting_without_hello = 3;

constexpr std::string_view cut_greeting =
    ", at the greeting: it may be a proxy that does not know HELLO or has no server to forward to";
constexpr std::string_view cut_plain_greeting =
    ", at the greeting: it may want TLS, or be a proxy that does not know HELLO or has no server "
    "to forward to";
constexpr std::string_view no_tls =
    "no TLS handshake within connect_timeout, though TCP is connected: the server does not seem to "
    "speak TLS on this port";

/// Whether TLS itself failed: the reason then begins with this mark.
bool is_about_tls(std::string_view reason) noexcept
{
    return reason.starts_with("TLS: ");
}

}  // namespace

void connection::begin() noexcept
{
    node_context& shared = n_.state.shared;
    n_.state.connection = connection_state::connecting;
    awaits_credentials_ = static_cast<bool>(shared.settings.credentials);
    awaits_tls_ = false;
    shared.to_connect |= bit(n_.state.index);
    n_.state.wake_up = shared.now + shared.settings.connect_timeout;
    shared.log(log_level::debug, {n_.state.address.display, ": connecting"});
}

/// The timeout begins again, because a slow provider must not leave the server less time.
bool connection::on_credentials(const base::login& given)
{
    if (n_.state.connection != connection_state::connecting || !awaits_credentials_) {
        return false;
    }
    n_.handshake.login().use(given);
    awaits_credentials_ = false;
    n_.state.wake_up = n_.state.now() + n_.state.shared.settings.connect_timeout;
    return true;
}

void connection::on_connected()
{
    if (n_.state.connection != connection_state::connecting) {
        return;
    }
    assert(!awaits_credentials_);
    n_.state.trouble.on_connected();
    n_.state.connection = connection_state::handshaking;
    n_.notifications.on_connected();
    reader_.reset();
    output& out = n_.requests.out();
    out.make_room();
    n_.requests.expect_handshake(n_.handshake.start(out.last(), !is_cut_at_hello()));
}

bool connection::on_handshake_reply(const resp::reply& r)
{
    unsigned more = 0;
    output& out = n_.requests.out();
    out.make_room();
    const auto progress = n_.handshake.on_reply(r, out.last(), more);
    n_.requests.expect_handshake(more);
    switch (progress) {
        case handshake::progress::going_on:
            reader_.set_protocol(n_.handshake.protocol() == 3 ? resp::protocol::resp3
                                                              : resp::protocol::resp2);
            return true;
        case handshake::progress::ready:
            if (const std::string* const twin = name_of_twin()) {
                break_off("is the same server as " + *twin + ", and has no vote of its own",
                          log_level::error);
                return false;
            }
            if (!n_.guard.begin_connection(n_.handshake)) {
                break_off(disagreement(*n_.handshake.marker(), n_.handshake.run_id()),
                          log_level::error);
                return false;
            }
            become_ready();
            return true;
        case handshake::progress::failed: break;
    }
    break_off(n_.handshake.reason(),
              n_.handshake.needs_attention() ? log_level::error : log_level::warning);
    return false;
}

void connection::become_ready()
{
    node_context& shared = n_.state.shared;
    n_.state.connection = connection_state::ready;
    const bool is_first = std::exchange(is_unproven_, false);
    is_refused_for_now_ = false;
    n_.requests.on_ready();
    n_.is_lost_counter_logged = n_.is_endless_counter_logged = false;
    n_.notifications.on_ready();
    n_.tickets.on_ready();
    n_.releases.on_ready();
    ready_since_ = last_reply_ = shared.now;
    const bool tells_role = n_.handshake.role_reported_by() != role_source::none;
    role_due_ = tells_role ? shared.now + role_known_for : instant::max();
    cut_greetings_ = 0;
    shared.known_counters.on_connected(n_.state.index);
    note_run();
    n_.state.trouble.on_ready();
    if (n_.handshake.is_login_unused() && !std::exchange(is_unused_login_logged_, true)) {
        shared.log(log_level::warning,
                   {n_.state.address.display,
                    " refuses AUTH and needs no login: it may have no password"});
    }
    n_.guard.on_ready(n_.handshake, is_first);
    n_.releases.send_due(true);
    n_.releases.send_due_repairs();
    n_.tickets.send_late();
    check_health();
    shared.run_ids[n_.state.index] = n_.handshake.run_id();
    n_.state.events.connections.on_connection(n_.state.index, connection_event::ready);
}

void connection::note_run()
{
    const std::string& run = n_.handshake.run_id();
    if (!run.empty() && run != known_run_) {
        if (!known_run_.empty()) {
            n_.state.shared.log(
                log_level::warning,
                {n_.state.address.display, " is another server than before, or was restarted"});
        }
        known_run_ = run;
    }
}

/// The name of another ready node that leads to the same server. Null: there is none.
const std::string* connection::name_of_twin() const noexcept
{
    const node_context& shared = n_.state.shared;
    const std::string& run = n_.handshake.run_id();
    for (std::size_t i = 0; i < shared.settings.nodes.size(); ++i) {
        if (i != n_.state.index && !run.empty() && shared.run_ids[i] == run) {
            return &shared.settings.nodes[i].display;
        }
    }
    return nullptr;
}

// Replies.

void connection::on_bytes(std::string_view bytes)
{
    if (n_.state.connection != connection_state::handshaking && !n_.state.is_ready()) {
        return;
    }
    last_reply_ = n_.state.now();
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
                ++n_.state.shared.stats.protocol_errors;
                break_off(std::string("sent what is not a reply: ")
                              .append(to_string(reader_.error()))
                              .append(hint_of_nonsense()));
                return;
        }
    }
}

/// False: the connection was given up.
bool connection::on_reply(const resp::reply& r)
{
    if (r.is_push()) {
        n_.notifications.on_push(r);
        return true;
    }
    if (n_.requests.empty()) {
        ++n_.state.shared.stats.protocol_errors;
        break_off("sent a reply that nothing asked for");
        return false;
    }
    const pending p = n_.requests.take_oldest();
    const command_traits& traits = traits_of(p.what);
    const bool may_be_unfit = r.is_error() && n_.state.is_ready();
    const std::string_view unfit =
        may_be_unfit ? resp::unfit_because(r.text()) : std::string_view();
    bool goes_on = false;
    if (r.is_error() && traits.is_for != command_traits::purpose::extra) {
        ++n_.state.shared.stats.node_errors;
    }
    try {
        goes_on = traits.on_reply(n_, p, r);
    } catch (...) {
        // Memory ran out; the connection will be given up, and this command with it.
        forget_command(n_, p);
        n_.requests.drop_subject(p);
        throw;
    }
    n_.requests.drop_subject(p);
    n_.requests.note_reply();
    if (goes_on && !unfit.empty()) {
        give_up_as(unfit);
        return false;
    }
    if (goes_on && n_.state.is_ready() && n_.releases.size() > 0) {
        n_.releases.on_reply();
    }
    return goes_on;
}

// The end.

void connection::on_closed(std::string_view reason) noexcept
{
    if (n_.state.connection == connection_state::idle ||
        n_.state.connection == connection_state::waiting) {
        return;
    }
    const bool greets = n_.state.connection == connection_state::handshaking;
    const bool is_cut = greets && (!n_.handshake.has_got_an_answer() || is_cut_at_hello());
    cut_greetings_ = is_cut ? cut_greetings_ + 1 : 0;
    std::string text;
    try {
        // If a greeting without HELLO got some answers, its reason is the better one. The log keeps
        // it, and does not alternate between two.
        const bool is_known = cut_greetings_ > greeting_without_hello && !is_about_tls(reason);
        text = is_known ? n_.state.trouble.text()
                        : std::string(reason) + (greets ? hint_of_cut(reason) : "");
        reason = text;
    } catch (const std::bad_alloc&) {
        // The reason then goes without the hint.
    }
    forget(reason, log_level::warning, ended_by::peer);
}

/// A guess, for the log, at what closes the connection during the handshake. It follows the reason.
std::string connection::hint_of_cut(std::string_view reason) const
{
    if (n_.handshake.is_refused_login()) {
        return ", after it refused user and password";
    }
    if (is_about_tls(reason)) {
        return {};
    }
    if (!n_.handshake.has_got_an_answer()) {
        const bool is_plain = n_.state.address.via == base::address::transport::tcp;
        return std::string(is_plain ? cut_plain_greeting : cut_greeting);
    }
    return ", with " + n_.handshake.unanswered() +
           " unanswered: a proxy may not know one of these commands";
}

/// A guess, for the log, at what sends bytes that are not a reply. It follows the reason.
std::string_view connection::hint_of_nonsense() const noexcept
{
    if (n_.state.connection != connection_state::handshaking || n_.handshake.has_got_an_answer()) {
        return {};
    }
    return n_.state.address.via == base::address::transport::tcp
               ? ", at the greeting: it may want TLS, or speak another protocol"
               : ", at the greeting: it may speak another protocol";
}

/// Whether this greeting is without HELLO. A server that stops may close the connection at any
/// command. A proxy that does not know HELLO closes it at each greeting, so every third one is
/// without HELLO.
bool connection::is_cut_at_hello() const noexcept
{
    return cut_greetings_ % greeting_without_hello == greeting_without_hello - 1;
}

bool connection::is_untried() const noexcept
{
    return is_unproven_ || is_refused_for_now_ ||
           (cut_greetings_ != 0 && cut_greetings_ < greeting_without_hello);
}

void connection::break_off(std::string_view reason, log_level level) noexcept
{
    n_.state.shared.to_close |= bit(n_.state.index);
    n_.state.shared.to_connect &= ~bit(n_.state.index);
    forget(reason, level, ended_by::us);
}

void connection::forget(std::string_view reason, log_level level, ended_by whom) noexcept
{
    node_context& shared = n_.state.shared;
    const auto bit_of_this = bit(n_.state.index);
    const bool greeted = n_.state.connection == connection_state::handshaking;
    const bool is_idle = n_.requests.empty();
    const connection_end end{
        .was_ready = n_.state.is_ready(),
        .was_fit = !n_.state.trouble.is_unfit(),
        .by_peer = whom == ended_by::peer,
        .was_idle = is_idle,
        .lived = (is_idle ? shared.now : n_.requests.oldest().sent) - ready_since_,
        .has_other_addresses = std::exchange(has_other_addresses_, false),
    };
    if (end.was_ready) {
        was_useful_ = end.was_fit;
    }
    shared.to_connect &= ~bit_of_this;
    shared.stats.disconnects += end.was_ready;
    is_refused_for_good_ = greeted && n_.handshake.is_refused_for_good();
    is_refused_for_now_ = greeted && n_.handshake.is_refused_for_now();
    n_.state.connection = connection_state::waiting;
    is_unproven_ = false;
    shared.run_ids[n_.state.index] = {};
    n_.state.events.connections.on_connection(n_.state.index, connection_event::lost);
    n_.requests.on_lost();
    n_.admission.on_disconnected();
    n_.state.trouble.on_ended(reason, level);
    n_.requests.out().wipe();
    n_.handshake.login().forget();
    // The loss may decide rounds and add pending releases, but sends nothing to this node.
    pending p;
    while (n_.requests.take_lost(p)) {
        forget_command(n_, p);
        n_.requests.drop_subject(p);
    }
    n_.state.events.waiters.on_notification(n_.state.index, notification::none_to_come, {});
    schedule(end);
    if (!n_.state.may_come()) {
        n_.state.events.connections.on_connection(n_.state.index, connection_event::unreachable);
    }
}

/// An answer said that this is the wrong server, or one in the wrong state. A new connection finds
/// out where the name leads now, and which role that server has.
void connection::give_up_as(std::string_view unfit) noexcept
{
    break_off(unfit);
    n_.state.trouble.on_unfit(unfit);
    was_useful_ = false;
}

void connection::schedule(const connection_end& end) noexcept
{
    if (n_.state.shared.stopped) {
        n_.state.connection = connection_state::idle;
        n_.state.wake_up = instant::max();
        return;
    }
    const nanos wait = reconnection_.wait_after(end, n_.state.shared);
    if (wait == nanos{}) {
        begin();
    } else {
        n_.state.wake_up = n_.state.now() + wait;
    }
}

void connection::on_turn_end(encoded_batches& same)
{
    n_.requests.send_batches(same);
}

void connection::stop() noexcept
{
    if (n_.state.connection != connection_state::idle &&
        n_.state.connection != connection_state::waiting) {
        break_off("the client was closed");
    }
    n_.state.connection = connection_state::idle;
    n_.state.wake_up = instant::max();
}

// Time.

void connection::on_time()
{
    switch (n_.state.connection) {
        case connection_state::idle: n_.state.wake_up = instant::max(); return;
        case connection_state::waiting:
            n_.releases.drop_expired();
            begin();
            return;
        case connection_state::connecting:
            break_off(awaits_credentials_ ? "no credentials within connect_timeout"
                      : awaits_tls_       ? no_tls
                                          : "no connection within connect_timeout");
            return;
        case connection_state::handshaking:
            break_off("no complete handshake within connect_timeout, with " +
                      n_.handshake.unanswered() + " unanswered");
            return;
        case connection_state::ready: check_health(); return;
    }
}

void connection::check_health()
{
    const auto& s = n_.state.shared.settings;
    const instant now = n_.state.now();
    if (!n_.requests.empty() && n_.requests.oldest().sent + s.stall_timeout <= now) {
        break_off("no answer within stall_timeout");
        return;
    }
    n_.releases.send_due();
    n_.releases.send_due_repairs();
    n_.guard.send_step();
    n_.notifications.end_if_idle();
    // Without an unanswered command, nothing can stall.
    instant next =
        n_.requests.empty() ? instant::max() : n_.requests.oldest().sent + s.stall_timeout;
    if (s.ping_interval > nanos{}) {
        if (n_.requests.empty() && last_reply_ + s.ping_interval <= now) {
            send_ping();
            next = now + s.stall_timeout;
        }
        const instant next_ping = last_reply_ + s.ping_interval;
        next = next_ping > now ? std::min(next, next_ping) : next;
    }
    n_.state.wake_up =
        std::min({next, n_.releases.next(), n_.admission.next_step(), n_.notifications.next()});
}

/// Checks whether an idle node still answers. The query for its role serves as the ping. Under the
/// restart guard, the ping also reads the marker.
void connection::send_ping()
{
    const bool tells_role = n_.handshake.role_reported_by() != role_source::none;
    if (tells_role) {
        ask_role();
    }
    if (!tells_role || n_.guard.is_on()) {
        n_.requests.send(command::ping, {});
    }
}

void connection::ask_role_if_due()
{
    if (role_due_ <= n_.state.now()) {
        ask_role();
    }
}

void connection::ask_role()
{
    n_.requests.send(command::role, {});
    role_due_ = n_.state.now() + role_known_for;
}

}  // namespace redlock::core
