#include "core/coordinator.hpp"

#include "core/operations/flows.hpp"

#include <algorithm>
#include <cassert>
#include <new>
#include <utility>

namespace redlock::core {

using base::instant;

coordinator::coordinator(const base::settings& s, base::entropy& random, base::wall_clock& date)
    : settings_(s),
      shared_(s, random, *this),
      availability_(shared_, nodes_),
      contention_(shared_, nodes_, scheduler_, availability_),
      rounds_(shared_, nodes_, date, contention_, *this),
      renewals_(shared_, *this),
      leases_(shared_, nodes_, contention_, renewals_),
      context_{shared_,     settings_, nodes_,    scheduler_, availability_,
               contention_, rounds_,   renewals_, leases_}
{
    assert(!s.nodes.empty() && s.nodes.size() <= max_nodes);
    nodes_.reserve(s.nodes.size());
    for (const base::address& at : s.nodes) {
        nodes_.push_back(
            std::make_unique<node>(shared_, rounds_, static_cast<unsigned>(nodes_.size()), at));
    }
}

coordinator::~coordinator()
{
    // Flows that still wait are not resumed: their callers are gone or have been told.
    while (operation* op = scheduler_.under_way().pop_front()) {
        if (op->frame) {
            std::exchange(op->frame, nullptr).destroy();
        }
    }
    assert(context_.frames.in_use() == 0);
}

// The network.

void coordinator::start(instant now) noexcept
{
    shared_.now = now;
    if (settings_.tls.insecure_skip_verification) {
        shared_.log(log_level::warning,
                    {"config::tls.insecure_skip_verification is set: the client does "
                     "not verify TLS nodes"});
    }
    if (settings_.guard && settings_.guard->admit_new_nodes) {
        shared_.log(log_level::warning,
                    {"config::restart_guard.admit_new_nodes is set: nodes without a "
                     "marker count as new"});
    }
    for (auto& n : nodes_) {
        n->connection().begin();
    }
    availability_.on_connection();
}

/// Where memory runs out, what a node does next is not known: its connection is given up.
template <class Step>
void coordinator::step_or_break_off(unsigned index, Step step) noexcept
{
    try {
        step(nodes_[index]->connection());
    } catch (const std::bad_alloc&) {
        nodes_[index]->connection().break_off("out of memory");
    }
}

bool coordinator::on_credentials(instant now, unsigned index, const base::login& given) noexcept
{
    shared_.now = now;
    bool goes_on = false;
    step_or_break_off(index, [&](connection& c) { goes_on = c.on_credentials(given); });
    run();
    return goes_on;
}

void coordinator::note_other_addresses(unsigned index, bool has_some) noexcept
{
    nodes_[index]->connection().note_other_addresses(has_some);
}

bool coordinator::take_was_useful(unsigned index) noexcept
{
    return nodes_[index]->connection().take_was_useful();
}

void coordinator::on_tls_handshake(unsigned index) noexcept
{
    nodes_[index]->connection().on_tls_handshake();
}

void coordinator::on_connected(instant now, unsigned index) noexcept
{
    shared_.now = now;
    step_or_break_off(index, [](connection& c) { c.on_connected(); });
    run();
}

void coordinator::on_bytes(instant now, unsigned index, std::string_view bytes) noexcept
{
    shared_.now = now;
    step_or_break_off(index, [&](connection& c) { c.on_bytes(bytes); });
    run();
}

void coordinator::on_closed(instant now, unsigned index, std::string_view reason) noexcept
{
    shared_.now = now;
    nodes_[index]->connection().on_closed(reason);
    run();
}

void coordinator::look_after(instant now) noexcept
{
    shared_.now = now;
    renewals_.on_time();
    run();
}

void coordinator::on_time(instant now) noexcept
{
    shared_.now = now;
    renewals_.on_time();
    rounds_.on_time();
    for (unsigned i = 0; i < nodes_.size(); ++i) {
        if (nodes_[i]->wake_up() <= now) {
            step_or_break_off(i, [](connection& c) { c.on_time(); });
        }
    }
    while (operation* op = scheduler_.due(now)) {
        if (op->in_line != nullptr) {
            contention_.on_time(*op);
            continue;
        }
        scheduler_.cancel_timer(*op);
        context_.resume(*op);
    }
    run();
}

/// Ends every operation that `which` speaks of, with its client.
template <class Which>
void coordinator::cancel_all(Which which) noexcept
{
    operation_list& all = scheduler_.under_way();
    for (operation* op = all.empty() ? nullptr : &all.front(); op != nullptr; op = all.after(*op)) {
        if (which(*op)) {
            call_off(*op, errc::closed);
        }
    }
    run();
}

void coordinator::close(instant now) noexcept
{
    shared_.now = now;
    closed_ = true;
    renewals_.end_all(errc::closed);
    cancel_all([](const operation& op) { return op.what != operation::kind::release; });
}

void coordinator::stop(instant now) noexcept
{
    shared_.now = now;
    closed_ = shared_.stopped = true;
    for (auto& n : nodes_) {
        n->stop();
    }
    renewals_.end_all(errc::closed);
    for (renewal_news told; take_news(told);) {
        forget(told);  // whoever it was for may be gone
    }
    cancel_all([](const operation&) { return true; });
}

instant coordinator::next_deadline() const noexcept
{
    instant next = std::min({rounds_.next_deadline(), scheduler_.next_wake_up(), renewals_.next()});
    for (const auto& n : nodes_) {
        next = std::min(next, n->wake_up());
    }
    return next;
}

bool coordinator::is_quiet() const noexcept
{
    return std::all_of(nodes_.begin(), nodes_.end(),
                       [](const auto& n) { return n->releases_going_out() == 0; });
}

// Reports of nodes.

void coordinator::on_connection(unsigned index, connection_event what)
{
    switch (what) {
        case connection_event::ready:
            availability_.on_connection();
            rounds_.on_ready(index);
            on_contact();
            return;
        case connection_event::lost: availability_.on_connection(); return;
        case connection_event::unreachable:
            rounds_.on_gone(index);
            on_contact();
            return;
    }
}

void coordinator::on_contact() noexcept
{
    if (!availability_.is_settling()) {
        scheduler_.resume_newcomers();
    }
}

void coordinator::run() noexcept
{
    do {
        while (operation* op = scheduler_.next_ready()) {
            if (op->frame) {
                scheduler_.cancel_timer(*op);  // whatever woke it
                std::exchange(op->frame, nullptr).resume();
            } else {
                start_acquire(context_, *op);
            }
        }
    } while (renewals_.renew_due());
}

stats coordinator::snapshot() const noexcept
{
    redlock::stats s = shared_.stats;
    s.in_flight = operations();
    s.waiters = contention_.waiting();
    s.leases = leases_.size();
    for (const auto& n : nodes_) {
        s.nodes_ready += n->is_ready() ? 1u : 0u;
        s.nodes_connecting += !shared_.stopped && n->connection().is_untried() ? 1u : 0u;
        s.nodes_quarantined += n->is_quarantined() ? 1u : 0u;
        s.unanswered += n->unanswered();
        s.pending_releases += n->pending_releases();
        s.buffered_bytes += n->out().size();
    }
    return s;
}

}  // namespace redlock::core
