#include "core/client_core.hpp"

#include <algorithm>
#include <cassert>
#include <memory>
#include <utility>

namespace redlock::core {

using base::instant;

client_core::client_core(const base::settings& s, base::entropy& random, base::wall_clock& date)
    : settings_(s),
      shared_(s, random, *this),
      availability_(shared_, nodes_),
      fair_queue_(shared_, nodes_, scheduler_, availability_, leaders_),
      contention_(shared_, scheduler_, availability_, leaders_, fair_queue_),
      rounds_(shared_, nodes_, date, *this),
      renewals_(shared_, *this),
      leases_(shared_, nodes_, contention_, renewals_),
      context_{shared_,     settings_,   nodes_,  scheduler_, availability_,
               contention_, fair_queue_, rounds_, renewals_,  leases_},
      operations_(context_),
      network_(context_)
{
    assert(!s.nodes.empty() && s.nodes.size() <= max_nodes);
    nodes_.reserve(s.nodes.size());
    const node_events receivers{rounds_, fair_queue_, *this};
    for (const base::address& at : s.nodes) {
        nodes_.push_back(
            std::make_unique<node>(shared_, receivers, static_cast<unsigned>(nodes_.size()), at));
    }
}

client_core::~client_core()
{
    // Coroutines that still wait are not resumed. Their callers are gone, or their operations are
    // complete.
    while (operation* op = scheduler_.under_way().pop_front()) {
        if (op->frame) {
            std::exchange(op->frame, nullptr).destroy();
        }
    }
    assert(context_.frames.in_use() == 0);
}

void client_core::check_leases(instant now) noexcept
{
    shared_.now = now;
    renewals_.on_time();
    context_.run();
}

void client_core::on_time(instant now) noexcept
{
    shared_.now = now;
    renewals_.on_time();
    rounds_.on_time();
    network_.on_time();
    while (operation* op = scheduler_.due(now)) {
        if (op->queue != nullptr) {
            contention_.on_time(*op);
            continue;
        }
        scheduler_.cancel_timer(*op);
        context_.resume(*op);
    }
    context_.run();
}

void client_core::close(instant now) noexcept
{
    shared_.now = now;
    renewals_.end_all(errc::closed);
    operations_.close();
}

void client_core::stop(instant now) noexcept
{
    shared_.now = now;
    network_.stop();
    renewals_.end_all(errc::closed);
    for (renewal_news told; take_news(told);) {
        forget(told);  // its receiver may be gone
    }
    operations_.stop();
}

instant client_core::next_deadline() const noexcept
{
    return std::min({rounds_.next_deadline(), scheduler_.next_wake_up(), renewals_.next(),
                     network_.next_wake_up()});
}

// Reports of nodes.

void client_core::on_connection(unsigned index, connection_event what)
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

void client_core::on_contact() noexcept
{
    if (!availability_.is_settling()) {
        scheduler_.resume_newcomers();
    }
}

void client_core::on_end(operation& wait, error_code why) noexcept
{
    wait.error = why;
    if (why == errc::lost) {
        scheduler_.finish_loss(wait);
    } else {
        scheduler_.finish(wait);
    }
}

stats client_core::snapshot() const noexcept
{
    redlock::stats s = shared_.stats;
    s.in_flight = operations_.size();
    s.waiters = contention_.waiting();
    s.leases = leases_.size();
    for (const auto& n : nodes_) {
        s.nodes_ready += n->is_ready() ? 1u : 0u;
        s.nodes_connecting += !shared_.stopped && n->is_untried() ? 1u : 0u;
        s.nodes_quarantined += n->is_quarantined() ? 1u : 0u;
        s.unanswered += n->unanswered();
        s.pending_releases += n->pending_releases();
        s.buffered_bytes += n->out().size();
    }
    return s;
}

}  // namespace redlock::core
