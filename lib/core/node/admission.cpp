#include "core/node/commands.hpp"
#include "core/node/node.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

// The restart guard, as far as it is said and heard. What follows from it is in guard.cpp.
namespace redlock::core {

using std::chrono::milliseconds;

namespace {

constexpr std::string_view restarted = "it was restarted: its marker names another run of it";
constexpr std::string_view forgot = "its marker is missing: it has lost its keys, or is new";
constexpr std::string_view unsure = "its marker is missing, or names another run of it";

std::optional<std::string_view> text_of(const resp::reply& r)
{
    return r.is_null() ? std::nullopt : std::optional{r.text()};
}

}  // namespace

/// The grant or the extend of a lease says nothing without the marker behind it. A key whose grant
/// was proven is still that key: a loss would have taken it away.
bool node::has_to_prove(const lease& l) const noexcept
{
    return admission_.is_guarded() && (l.counted & bit(index_)) == 0;
}

bool node::on_granted(round& asked)
{
    if (!unfit_.empty()) {
        note_fitness();
    }
    if (has_to_prove(*asked.of)) {
        asked.awaits_proof |= bit(index_);  // comes with the marker
    }
    cast_vote(asked);
    return true;
}

/// Once all that the vote consists of has come.
void node::cast_vote(round& asked)
{
    if ((asked.awaits_proof & bit(index_)) != 0) {
        return;
    }
    if (asked.fencing == nullptr) {
        vote(asked, node_outcome::granted);
    } else if (const auto value = asked.fencing->held(index_)) {
        tell_counter(asked, counter_answer::kind::counted, *value);
    }
}

/// What stands in front of it was done by an admitted node, if that is what the marker says.
bool node::on_marker(const pending& p, const resp::reply& r)
{
    round& asked = p.of_round();
    if (!r.is_null() && !r.is_string() && !r.is_error()) {
        return on_nonsense(p);
    }
    const bool is_awaited = (asked.awaits_proof & bit(index_)) != 0;
    if (r.is_error()) {
        asked.awaits_proof &= ~bit(index_);
        if (is_awaited) {
            vote(asked, node_outcome::failed, error_of(r));
        }
        return true;
    }
    const marker_says says = admission_.judge(text_of(r));
    if (!believe(says, r)) {
        forget_command(p);
        return false;
    }
    asked.awaits_proof &= ~bit(index_);
    if (is_awaited && says == marker_says::admitted) {
        asked.of->counted |= bit(index_);
        cast_vote(asked);
    } else if (is_awaited) {
        vote(asked, node_outcome::quarantined, suspicion_);
    }
    return true;
}

/// Whether a node lives is seen as well by asking whether it is a master, and whether it has lost
/// its keys.
void node::send_ping()
{
    const bool tells_role = handshake_.tells_role_by() != role_source::none;
    if (tells_role) {
        ask_role();
    }
    if (tells_role && !admission_.is_guarded()) {
        return;
    }
    send(command::ping, {});
}

/// An error is an answer: who may not PING, or is loading, lives.
bool node::on_ping(const pending& p, const resp::reply& r)
{
    if (r.is_error()) {
        return true;
    }
    if (!admission_.is_guarded()) {
        return (r.is_string() && r.text() == "PONG") || on_nonsense(p);
    }
    return r.is_null() || r.is_string() ? believe(admission_.judge(text_of(r)), r) : on_nonsense(p);
}

/// False: the connection was given up.
bool node::believe(marker_says says, const resp::reply& marker)
{
    switch (says) {
        case marker_says::admitted: be_admitted(); return true;
        case marker_says::not_admitted:
            if (admission_.suspend(context_.now)) {
                suspect(marker.is_null() ? forgot : restarted);
            }
            wake_up_ = std::min(wake_up_, admission_.next_step());
            return true;
        case marker_says::other_configuration: break;
    }
    break_off(disagreement(marker.text(), admission_.run_id()), log_level::error);
    return false;
}

void node::be_admitted() noexcept
{
    if (admission_.admit()) {
        suspicion_.clear();
        context_.log(log_level::info, {address_.display, " is admitted: its votes count"});
    }
}

void node::suspect(std::string_view reason) noexcept
{
    try {
        suspicion_ = reason;
    } catch (const std::bad_alloc&) {
        suspicion_.clear();
    }
    const auto left = std::chrono::ceil<milliseconds>(admission_.remaining(context_.now));
    context_.log(log_level::warning,
                 {address_.display, " may have forgotten locks, and does not vote for ",
                  std::to_string(left.count()), " ms: ", reason});
}

// The way back.

/// What the handshake of a new connection has read is looked at before the node is used.
bool node::is_of_others()
{
    if (!admission_.is_guarded()) {
        return false;
    }
    admission_.on_connected(handshake_.run_id());
    return admission_.judge(handshake_.marker()) == marker_says::other_configuration;
}

void node::begin_admission(bool is_first)
{
    if (!admission_.is_guarded()) {
        return;
    }
    const std::optional<std::string>& marker = handshake_.marker();
    if (admission_.judge(marker) == marker_says::admitted) {
        be_admitted();
        return;
    }
    const bool is_news = admission_.suspend(context_.now);
    if (is_first && !marker && context_.settings.guard->admit_new_nodes) {
        admission_.trust();
    } else if (is_news) {
        suspect(marker ? restarted : forgot);
    }
}

void node::pursue_admission()
{
    if (!admission_.is_guarded()) {
        return;
    }
    const admission::step next = admission_.begin_step(context_.now);
    if (next == admission::step::leave_pending) {
        const auto random = base::owner_token::make(context_.random);
        if (!random) {
            static_cast<void>(admission_.end_step());
            admission_.on_unchanged(context_.now);
            return;
        }
        admission_.name_pending(random->view());
    }
    if (next != admission::step::none) {
        send(command::admission, {});
    }
}

/// The node does not do what it takes: that is said once, and tried again.
void node::cannot_be_admitted(std::string why)
{
    admission_.on_unchanged(context_.now);
    if (admission_.is_quarantined() && suspicion_ != why) {
        suspicion_ = std::move(why);
        context_.log(log_level::warning, {address_.display, " cannot be admitted: ", suspicion_});
    }
}

void node::on_pending_left()
{
    admission_.on_pending_left(context_.now);
    if (suspicion_ != restarted && suspicion_ != forgot) {
        suspicion_ = unsure;  // and no more what it refused
    }
}

bool node::on_admission(const pending& p, const resp::reply& r)
{
    const admission::step asked = admission_.end_step();
    if (!r.is_null() && !r.is_string() && !r.is_error()) {
        return on_nonsense(p);
    }
    if (r.is_error()) {
        cannot_be_admitted(error_of(r));
    } else if (asked == admission::step::leave_pending && r.is_null()) {
        cannot_be_admitted("the pending key is there already");
    } else if (asked == admission::step::leave_pending) {
        on_pending_left();
    } else if (asked == admission::step::admit && r.is_null()) {
        admission_.on_pending_gone(context_.now);
    } else {
        const marker_says says = admission_.judge(text_of(r));
        if (says == marker_says::not_admitted) {
            admission_.on_unchanged(context_.now);
        }
        if (!believe(says, r)) {
            return false;
        }
    }
    check_health();
    return is_ready();
}

}  // namespace redlock::core
