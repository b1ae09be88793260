#include "core/node/node.hpp"

#include "core/node/commands.hpp"
#include "core/node/ranking.hpp"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <string_view>
#include <utility>

// A node's connection and when something is sent on it. The words are in commands.cpp, the
// replies in replies.cpp, the pending releases in pending_releases.cpp.
namespace redlock::core {

using base::instant;
using base::nanos;

namespace {

/// The most addresses of a name to try without a wait. A lookup may give other ones each time.
constexpr unsigned most_other_addresses = 8;

constexpr std::string_view cut_greeting =
    ", at the greeting: it may be a proxy that does not know HELLO or has no server to forward to";
constexpr std::string_view cut_plain_greeting =
    ", at the greeting: it may want TLS, or be a proxy that does not know HELLO or has no server "
    "to forward to";
constexpr std::string_view no_tls =
    "no TLS handshake within connect_timeout, though TCP is connected: the server does not seem to "
    "speak TLS on this port";

/// Whether TLS itself failed: a TLS link begins the reason with this mark.
bool is_about_tls(std::string_view reason) noexcept
{
    return reason.starts_with("TLS: ");
}

}  // namespace

node::node(node_context& shared, round_events& events, unsigned index, const base::address& at)
    : context_(shared),
      events_(events),
      address_(at),
      index_(index),
      handshake_(shared.settings, at),
      admission_(shared.settings.guard && !at.durable ? &*shared.settings.guard : nullptr),
      fifo_(shared.fifo_blocks),
      out_(shared.blocks),
      name_(name_hash(at.display))
{}

// The connection's life.

void node::connect() noexcept
{
    state_ = state::connecting;
    awaits_credentials_ = static_cast<bool>(context_.settings.credentials);
    awaits_tls_ = false;
    context_.to_connect |= bit(index_);
    wake_up_ = context_.now + context_.settings.connect_timeout;
    context_.log(log_level::debug, {address_.display, ": connecting"});
}

/// A vault may take its time, and must not leave the server less of its own.
bool node::on_credentials(const base::login& given)
{
    if (state_ != state::connecting || !awaits_credentials_) {
        return false;
    }
    handshake_.log_in_with(given);
    awaits_credentials_ = false;
    wake_up_ = context_.now + context_.settings.connect_timeout;
    return true;
}

void node::on_connected()
{
    if (state_ != state::connecting) {
        return;
    }
    assert(!awaits_credentials_);
    if (trouble_ == never_connected) {
        trouble_ = "connected, but the handshake is not complete yet";
    }
    state_ = state::handshaking;
    has_lost_watch_ = false;
    reader_.reset();
    out_.make_room();
    expect_handshake(handshake_.start(out_.last(), !is_cut_at_hello()));
}

void node::expect_handshake(unsigned replies)
{
    for (; replies > 0; --replies) {
        fifo_.reserve(1);
        expect(command::handshake, {}, form::evalsha);
    }
}

void node::become_ready()
{
    state_ = state::ready;
    const bool is_first = std::exchange(unproven_, false);
    refused_for_now_ = false;
    stalled_ = false;
    native_refused_ = digest_refused_ = increment_refused_ = false;
    missed_a_counter_ = missed_a_mend_ = knows_label_script_ = false;
    tracking_ = tracks::off;
    accepts_tracking_ = false;
    is_silent_ = false;
    told_at_ = instant::min();
    watchers_looked_for_ = instant::max();
    ailing_until_ = {};
    release_error_.clear();
    ready_since_ = last_reply_ = context_.now;
    const bool tells_role = handshake_.tells_role_by() != role_source::none;
    role_due_ = tells_role ? context_.now + role_known_for : instant::max();
    cut_greetings_ = 0;
    context_.known_counters.on_connected(index_);
    trouble_.clear();
    note_run();
    if (unfit_.empty() && std::exchange(complained_, false)) {
        context_.log(log_level::info, {address_.display, " is usable again"});
    } else {
        context_.log(log_level::debug, {address_.display, ": usable"});
    }
    if (handshake_.is_login_unused() && !std::exchange(logged_unused_login_, true)) {
        context_.log(
            log_level::warning,
            {address_.display, " refuses AUTH and needs no login: it may have no password"});
    }
    begin_admission(is_first);
    repairs_due_ = {};
    send_pending_releases(true);
    send_repairs();
    check_health();
    context_.run_ids[index_] = handshake_.run_id();
    events_.on_connection(index_, connection_event::ready);
}

void node::note_run()
{
    const std::string& run = handshake_.run_id();
    if (!run.empty() && run != known_run_) {
        if (!known_run_.empty()) {
            context_.log(log_level::warning,
                         {address_.display, " is another server than before, or was restarted"});
        }
        known_run_ = run;
    }
}

/// The name of another ready node that leads to the same server. Null: there is none.
const std::string* node::name_of_twin() const noexcept
{
    const auto& names = context_.settings.nodes;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (i != index_ && !run_id().empty() && context_.run_ids[i] == run_id()) {
            return &names[i].display;
        }
    }
    return nullptr;
}

void node::on_closed(std::string_view reason) noexcept
{
    if (state_ == state::idle || state_ == state::waiting) {
        return;
    }
    const bool greets = state_ == state::handshaking;
    const bool is_cut = greets && (!handshake_.has_got_an_answer() || is_cut_at_hello());
    cut_greetings_ = is_cut ? cut_greetings_ + 1 : 0;
    std::string text;
    try {
        // If a greeting without HELLO got some answers, its reason is the better one. The log keeps
        // it, and does not alternate between two.
        const bool is_known = cut_greetings_ > greeting_without_hello && !is_about_tls(reason);
        text = is_known ? trouble_ : std::string(reason) + (greets ? hint_of_cut(reason) : "");
        reason = text;
    } catch (const std::bad_alloc&) {
        // Without the hint.
    }
    forget_connection(reason, log_level::warning, ended_by::peer);
}

/// What the server may be that closes the connection amid a handshake; follows how that ended.
std::string node::hint_of_cut(std::string_view reason) const
{
    if (handshake_.is_refused_login()) {
        return ", after it refused user and password";
    }
    if (is_about_tls(reason)) {
        return {};
    }
    if (!handshake_.has_got_an_answer()) {
        return std::string(address_.via == base::address::transport::tcp ? cut_plain_greeting
                                                                         : cut_greeting);
    }
    return ", with " + handshake_.unanswered() +
           " unanswered: a proxy may not know one of these commands";
}

/// What the server may be whose first answer is none.
std::string_view node::hint_of_nonsense() const noexcept
{
    if (state_ != state::handshaking || handshake_.has_got_an_answer()) {
        return {};
    }
    return address_.via == base::address::transport::tcp
               ? ", at the greeting: it may want TLS, or speak another protocol"
               : ", at the greeting: it may speak another protocol";
}

/// A server that is stopped may close at any word. What closes at the first one again and again is
/// a proxy that does not know HELLO, or does not want us; every third greeting is without it.
bool node::is_cut_at_hello() const noexcept
{
    return cut_greetings_ % greeting_without_hello == greeting_without_hello - 1;
}

void node::break_off(std::string_view reason, log_level level) noexcept
{
    context_.to_close |= bit(index_);
    context_.to_connect &= ~bit(index_);
    forget_connection(reason, level, ended_by::us);
}

void node::forget_connection(std::string_view reason, log_level level, ended_by whom) noexcept
{
    const bool was_ready = state_ == state::ready;
    // One that stalls was well until it was asked what it has not answered.
    const instant well_until = fifo_.empty() ? context_.now : fifo_.front().sent;
    const bool is_idle = whom == ended_by::peer && fifo_.empty();
    const nanos well =
        is_idle ? std::min<nanos>(context_.settings.reconnect_backoff_max, well_while_idle)
                : context_.settings.reconnect_backoff_max;
    const bool lived_well = was_ready && unfit_.empty() && well_until - ready_since_ >= well;
    const bool tries_other = std::exchange(has_other_addresses_, false) && !was_ready &&
                             other_addresses_tried_ < most_other_addresses;
    other_addresses_tried_ = tries_other ? other_addresses_tried_ + 1 : 0;
    const bool at_once = (lived_well && is_idle) || tries_other;
    if (was_ready) {
        was_useful_ = unfit_.empty();
    }
    context_.to_connect &= ~bit(index_);
    context_.stats.disconnects += was_ready;
    refused_for_good_ = state_ == state::handshaking && handshake_.is_refused_for_good();
    refused_for_now_ = state_ == state::handshaking && handshake_.is_refused_for_now();
    state_ = state::waiting;
    unproven_ = false;
    context_.run_ids[index_] = {};
    events_.on_connection(index_, connection_event::lost);
    stalled_ = false;
    admission_.on_disconnected();
    complain(reason, level);
    out_.wipe();
    handshake_.forget_login();
    // A loss may owe releases and decide rounds, but puts nothing new into the FIFO of a node that
    // is away.
    while (!fifo_.empty()) {
        const pending p = fifo_.pop();
        forget_command(p);
        let_go(p);
    }
    events_.on_notification(index_, notification::none_to_come, {});
    schedule_reconnect(lived_well, at_once);
    if (!may_come()) {
        events_.on_connection(index_, connection_event::unreachable);
    }
}

/// An answer said that this is the wrong server, or one in the wrong state. A new connection finds
/// out where the name leads now, and which role that server has.
void node::give_up_as(std::string_view unfit) noexcept
{
    break_off(unfit);
    unfit_ = unfit;
    was_useful_ = false;
}

/// It has granted something.
void node::note_fitness() noexcept
{
    unfit_ = {};
    if (std::exchange(complained_, false)) {
        context_.log(log_level::info, {address_.display, " is usable again"});
    }
}

/// Says a trouble once, and a new one when it is another.
void node::complain(std::string_view reason, log_level level) noexcept
{
    const bool is_news = trouble_ != reason && unfit_ != reason;
    try {
        trouble_ = reason;
    } catch (const std::bad_alloc&) {
        trouble_.clear();
    }
    if (context_.stopped) {
        return;
    }
    if (is_news) {
        complained_ = true;
        context_.log(level, {address_.display, " is out of use: ", reason});
    } else {
        context_.log(log_level::debug, {address_.display, ": still out of use: ", reason});
    }
}

/// Decorrelated jitter: each wait is random between the least and three times the last.
/// `lived_well`: the waits begin anew. `at_once`: as a connection that ends while it is idle is
/// made anew before anybody misses it. What we end ourselves, or what was asked and not answered,
/// tells of trouble: there many clients come back together.
void node::schedule_reconnect(bool lived_well, bool at_once) noexcept
{
    const auto& s = context_.settings;
    if (context_.stopped) {
        state_ = state::idle;
        wake_up_ = instant::max();
        return;
    }
    if (lived_well) {
        back_off_ = {};
    }
    if (at_once) {
        connect();
        return;
    }
    const nanos upper = std::max(back_off_, s.reconnect_backoff_min) * 3;
    back_off_ =
        std::min(s.reconnect_backoff_max,
                 s.reconnect_backoff_min + context_.random_below(upper - s.reconnect_backoff_min));
    wake_up_ = context_.now + back_off_;
}

void node::stop() noexcept
{
    if (state_ != state::idle) {
        const bool open = state_ != state::waiting;
        if (open) {
            break_off("the client was closed");
        }
        state_ = state::idle;
    }
    wake_up_ = instant::max();
    while (!pending_.empty()) {
        forget_release(pending_.pop());
    }
    while (!unrepaired_.empty()) {
        context_.unref(*unrepaired_.pop());
    }
}

void node::on_time()
{
    switch (state_) {
        case state::idle: wake_up_ = instant::max(); return;
        case state::waiting:
            drop_expired_releases();
            connect();
            return;
        case state::connecting:
            break_off(awaits_credentials_ ? "no credentials within connect_timeout"
                      : awaits_tls_       ? no_tls
                                          : "no connection within connect_timeout");
            return;
        case state::handshaking:
            break_off("no complete handshake within connect_timeout, with " +
                      handshake_.unanswered() + " unanswered");
            return;
        case state::ready: check_health(); return;
    }
}

void node::check_health()
{
    const auto& s = context_.settings;
    if (!fifo_.empty() && fifo_.front().sent + s.stall_timeout <= context_.now) {
        break_off("no answer within stall_timeout");
        return;
    }
    send_pending_releases(false);
    send_repairs();
    pursue_admission();
    end_tracking_if_idle();
    // While nothing is asked nothing can stall.
    wake_up_ = fifo_.empty() ? instant::max() : fifo_.front().sent + s.stall_timeout;
    if (s.ping_interval > nanos{}) {
        if (fifo_.empty() && last_reply_ + s.ping_interval <= context_.now) {
            send_ping();
        }
        const instant next_ping = last_reply_ + s.ping_interval;
        wake_up_ = next_ping > context_.now ? std::min(wake_up_, next_ping) : wake_up_;
    }
    // What is due already waits for the next reply.
    const instant next_debt =
        pending_.empty() ? instant::max() : std::max(pending_.front().due, ailing_until_);
    wake_up_ = next_debt > context_.now ? std::min(wake_up_, next_debt) : wake_up_;
    wake_up_ = !unrepaired_.empty() && repairs_due_ > context_.now
                   ? std::min(wake_up_, repairs_due_)
                   : wake_up_;
    wake_up_ = std::min({wake_up_, admission_.next_step(), watchers_looked_for_});
}

// Sending.

bool node::has_room() const noexcept
{
    return out_.size() < context_.settings.max_buffered_bytes;
}

/// The oldest question is a fresh one, if there is any.
bool node::has_caught_up() const noexcept
{
    return fifo_.empty() || fifo_.front().sent + context_.settings.node_timeout > context_.now;
}

void node::ask_role()
{
    send(command::role, {});
    role_due_ = context_.now + role_known_for;
}

inline command_row node::row_for(const round& r) const
{
    const bool proves = has_to_prove(*r.of);
    command_row row;
    switch (r.what) {
        case round_kind::set:
            row.push_back(command::set);
            if (r.fencing != nullptr) {
                row.push_back(command_to_count(r));
            }
            if (proves) {
                row.push_back(command::marker);
            }
            if (r.asks_label) {
                row.push_back(command::holder_label);
            }
            if (r.asks_ttl) {
                row.push_back(command::holder_ttl);
            }
            return row;
        case round_kind::take:
            row.push_back(command::take);
            if (proves) {
                row.push_back(command::marker);
            }
            return row;
        case round_kind::extend:
            if (r.asks_label) {
                row.push_back(command::holder_label);
            }
            row.push_back(command::extend);
            if (proves) {
                row.push_back(command::marker);
            }
            return row;
        case round_kind::release: break;
        case round_kind::inspect:
            row.push_back(command::holder_label);
            row.push_back(command::inspect);
            return row;
        case round_kind::align: return command::align;
    }
    assert(false && "a release goes by send_release");
    return row;
}

void node::ask(round& r, encoded_row& same)
{
    // These scripts are given the node's own least counter.
    const bool has_own_words = r.what == round_kind::take || r.what == round_kind::align;
    const bool is_common = !has_own_words && r.fencing == nullptr && !admission_.is_guarded();
    send(is_common && same.is_common ? same.commands : row_for(r), r, script_form(),
         has_own_words ? nullptr : &same);
    same.is_common = is_common;
    if (is_attempt(r.what)) {
        r.of->asked |= bit(index_);
    }
}

/// To the one node that is asked first. What else its vote consists of follows if it grants.
void node::send_first(round& r)
{
    if (role_due_ <= context_.now) {
        ask_role();
    }
    // The script for several resources reads what is in its way, the command for one does not.
    const bool reads = r.what == round_kind::take;
    command_row row;
    if (!reads) {
        row.push_back(command::set);
        if (r.asks_label) {
            row.push_back(command::holder_label);
        }
    }
    if (can_track()) {
        add_tracking(row);
    }
    row.push_back(reads ? command::take : command::holder_ttl);
    send(row, r);
    note_watching();
    r.of->asked |= bit(index_);
}

/// It has granted, and the others are asked now.
void node::send_rest_of_vote(round& r)
{
    command_row row;
    if (r.fencing != nullptr && r.what != round_kind::take) {
        row.push_back(command_to_count(r));
    }
    if ((r.awaits_proof & bit(index_)) != 0) {
        row.push_back(command::marker);
    }
    if (row.size() > 0) {
        send(row, r);
    }
}

command node::command_to_count(const round& r) const noexcept
{
    const bool may_increment =
        !increment_refused_ &&
        context_.known_counters.knows(r.of->resource_hash, index_, context_.now);
    return may_increment ? command::increment : command::count;
}

/// A label that a node refuses is not sent again. The next extend stores it.
void node::set_label(const lease& l)
{
    if (!is_ready() || !has_room() || (l.granted & bit(index_)) == 0) {
        return;
    }
    const form f = knows_label_script_ ? script_form() : form::eval;
    for (const std::string& resource : l.resources()) {
        write(command::set_label, [&] { append_set_label(l, resource, f); });
        expect(command::set_label, {}, f);
    }
}

/// Behind the release. A label that stays ends with its ttl.
void node::drop_label(const lease& l)
{
    if (!is_ready() || !has_room()) {
        return;
    }
    const form f = release_form(l);
    for (const std::string& resource : l.resources()) {
        write(command::drop_label, [&] { append_drop_label(l, resource, f); });
        expect(command::drop_label, {}, f);
    }
}

std::optional<node_outcome> node::send_release(round& r, encoded_row& same)
{
    lease& l = *r.of;
    if ((l.asked & bit(index_)) == 0) {
        return node_outcome::not_asked;
    }
    if (is_ready() && has_room()) {
        send(command::release, r, release_form(l), &same);
        return std::nullopt;
    }
    if (end_of_key(l) <= context_.now) {
        return node_outcome::refused;  // whatever became of the node, it has the key no more
    }
    const bool may_answer = is_ready() || may_come();
    const bool is_owed = release_later(l, may_answer ? &r : nullptr, false);
    return may_answer && is_owed ? std::nullopt : std::optional{node_outcome::disconnected};
}

void node::give_back(lease& l, encoded_row& same) noexcept
{
    if ((l.asked & bit(index_)) == 0) {
        return;
    }
    ++context_.stats.background_releases;
    if (!is_ready() || !has_room()) {
        static_cast<void>(release_later(l, nullptr, false));
        return;
    }
    try {
        send(command::background_release, l, release_form(l), &same);
    } catch (const std::bad_alloc&) {
        static_cast<void>(release_later(l, nullptr, false));
    }
}

}  // namespace redlock::core
