#include "engine/driver.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <exception>
#include <utility>

// What happens on the loop: turns, the connections' news, the timer.
namespace redlock::engine {

using base::instant;

namespace {

/// While somebody may have to be told something in time. An alarm stands still while the machine is
/// suspended, and validity and deadlines do not.
constexpr base::nanos longest_alarm = std::chrono::seconds{1};

/// What two clocks, read one after the other, may differ by: not worth setting an alarm anew.
constexpr base::nanos clock_noise = std::chrono::microseconds{100};

template <class What>
void each(core::node_mask nodes, What what)
{
    for (; nodes != 0; nodes &= nodes - 1) {
        what(static_cast<unsigned>(std::countr_zero(nodes)));
    }
}

}  // namespace

/// Asks for a turn, once.
void driver::want_turn() noexcept
{
    if (turn_wanted_ || context_gone_) {
        return;
    }
    try {
        later_.execute([self = shared_from_this()] { self->turn(); });
        turn_wanted_ = true;
    } catch (const std::bad_alloc&) {
        // Once until it fires, since it has no memory for more.
        if (const instant at = now(); rings_at(at) > at) {
            set_alarm(at);
        }
    }
}

void driver::turn()
{
    // Also where a handler throws.
    struct end {
        turn_entropy& draws;
        ~end() { draws.end_turn(); }
    } const at_end{draws_};
    turn_wanted_ = false;
    catch_up();
    deliver();
    flush();
}

/// What there was no memory for is done with the next turn, whatever that is for: a lock that is
/// kept alive has one before it is renewed.
void driver::catch_up() noexcept
{
    dropped_.take_all([this](core::lease& l) { core_.drop(now(), l); });
    let_go_.take_all([this](core::lease& l) { core_.let_go(now(), l); });
    if (shut_down_.load(std::memory_order_relaxed)) {
        stop(errc::closed, errc::closed);
    }
}

/// Completes what was finished by now; what handlers begin and finish at once waits for the next
/// turn.
void driver::deliver()
{
    // Whatever a handler throws goes to the user by way of the context; a turn of its own serves
    // those behind it, and does the flush that is left out.
    struct go_on {
        driver& d;
        bool threw = true;
        ~go_on()
        {
            if (threw || !d.decided_.empty() || d.core_.finished() > 0 || d.core_.news() > 0) {
                d.want_turn();
            }
        }
    } after{*this};
    core_.look_after(now());
    if (const std::size_t losses = core_.losses(); losses > 0) {
        complete_some(losses);
        if (settings_.thread_safe) {
            // Their handlers are on their way out of the strand. What follows goes behind them.
            after.threw = false;
            return;
        }
    }
    tell_renewals();
    complete_some(core_.finished());
    for (std::size_t n = decided_.size(); n > 0 && !decided_.empty(); --n) {
        completion_ptr done = decided_.pop();
        const error_code ec = done->decided;
        done.release()->complete({ec, {}, {}, {}});
    }
    after.threw = false;
}

void driver::complete_some(std::size_t most)
{
    for (; most > 0; --most) {
        core::operation* op = core_.take_finished(now());
        if (op == nullptr) {
            return;
        }
        complete(*op);
    }
}

/// To the user's sink, which may do anything but keep what follows from being done.
void driver::tell_renewals() noexcept
{
    core::renewal_news news;
    for (std::size_t n = core_.news(); n > 0 && core_.take_news(news); --n) {
        const base::nanos left = std::max(base::nanos{}, news.of->valid_until() - now());
        try {
            settings_.on_renewal({news.of->resource, news.outcome, left, news.report.get()});
        } catch (...) {
            // As keep_alive.hpp says.
        }
        core_.forget(news);
    }
}

void driver::complete(core::operation& op)
{
    detail::outcome what;
    what.error = op.error;
    what.released = op.released;
    if (op.what == core::operation::kind::inspect) {
        what.inspection = std::move(op.inspection);
    }
    if (op.subject != nullptr) {
        what.held = detail::held_lease(shared_from_this(), *op.subject);
    }
    auto* done = static_cast<detail::completion*>(op.user);
    if (op.cancelled && op.error == op.cancelled) {
        core::coordinator::clear_report(op);
    }
    core_.recycle(op);
    done->complete(std::move(what));
}

/// What the core wants done: connections, bytes, and to be woken.
void driver::flush()
{
    if (context_gone_) {
        return;
    }
    if (closing_ && !stopped_ && (core_.is_quiet() || now() >= close_by_)) {
        stop({}, {});
    }
    close_given_up();
    each(core_.take_to_connect(), [this](unsigned i) { connect(i); });
    write_all();
    if (!stopped_) {
        arm_timer();
    } else if (const instant at = now(); is_armed_ && rings_at(at) > at) {
        // One that is due may stand for a turn.
        timer_->cancel();
        is_armed_ = false;
    }
    if (settings_.thread_safe) {
        publish_stats();
    }
}

void driver::connect(unsigned node)
{
    try {
        if (settings_.credentials) {
            ask_for_credentials(node);
        } else {
            make_link(node);
        }
    } catch (const std::exception& e) {
        on_link_down(node, e.what());
    }
}

/// The user's provider may do anything with the client, so it is called when this turn is over.
void driver::ask_for_credentials(unsigned node)
{
    const auto request = std::make_shared<credentials_request>(executor_, weak_from_this(), node);
    peers_[node].asking = request;
    later_.execute([self = shared_from_this(), request] {
        const unsigned i = request->node();
        if (self->peers_[i].asking == request && !self->stopped_) {
            request->ask(self->settings_.credentials, self->settings_.nodes[i].display);
        }
    });
}

void driver::on_credentials(credentials_request& answered)
{
    const unsigned node = answered.node();
    peer& p = peers_[node];
    if (p.asking.get() != &answered) {
        return;  // the attempt has ended
    }
    p.asking = nullptr;
    if (!answered.failure().empty()) {
        on_link_down(node, answered.failure());
        return;
    }
    if (core_.on_credentials(now(), node, answered.given())) {
        try {
            make_link(node);
        } catch (const std::exception& e) {
            on_link_down(node, e.what());
            return;
        }
    }
    close_given_up();
    want_turn();
}

void driver::make_link(unsigned node)
{
    peer& p = peers_[node];
    const base::address& to = settings_.nodes[node];
    const link_setup setup{executor_, this, node, &to, p.attempts++};
    const auto log = [this](log_level level, std::string_view what, std::string_view why) {
        core_.log(level, {what, why});
    };
    const bool is_tls = to.via == base::address::transport::tls;
    p.connection = world_->make_link(setup, is_tls ? tls_->latest(log) : nullptr);
    p.connection->start();
}

void driver::write_all()
{
    each(core_.take_written(), [this](unsigned i) { write(i); });
}

void driver::write(unsigned node)
{
    link* l = peers_[node].connection.get();
    if (l == nullptr || l->is_writing() || !core_.has_output(node)) {
        return;
    }
    try {
        l->write(std::exchange(core_.take_output(node), {}));
    } catch (const std::exception& e) {
        on_link_down(node, e.what());
    }
}

void driver::close_link(unsigned node) noexcept
{
    if (const auto unanswered = std::exchange(peers_[node].asking, nullptr)) {
        unanswered->close();
    }
    if (const auto gone = std::exchange(peers_[node].connection, nullptr)) {
        gone->close();
    }
}

/// At once, so that a connection the core has given up tells nothing more.
void driver::close_given_up() noexcept
{
    each(core_.take_to_close(), [this](unsigned i) { close_link(i); });
}

void driver::on_link_handshaking(unsigned node)
{
    core_.on_tls_handshake(node);
}

void driver::on_link_up(unsigned node)
{
    const auto self = shared_from_this();
    core_.on_connected(now(), node);
    close_given_up();
    want_turn();
}

void driver::on_link_bytes(unsigned node, std::string_view bytes)
{
    const auto self = shared_from_this();
    core_.on_bytes(now(), node, bytes);
    close_given_up();
    want_turn();
}

void driver::on_link_written(unsigned node, std::string&& used)
{
    core_.on_written(node, std::move(used));
    write(node);
}

void driver::on_link_down(unsigned node, std::string_view reason)
{
    const auto self = shared_from_this();
    // What it still writes must not keep it.
    close_link(node);
    core_.on_closed(now(), node, reason);
    want_turn();
}

// Time.

/// Asked of the alarm each time: a suspend of the machine puts it off.
instant driver::rings_at(instant at) const noexcept
{
    return is_armed_ ? at + timer_->left() : instant::max();
}

void driver::arm_timer()
{
    const instant at = now();
    instant next = core_.next_deadline();
    if (core_.looks_after_leases() || core_.operations() > 0 || closing_) {
        next = std::min(next, at + longest_alarm);
    }
    if (closing_ && !stopped_) {
        next = std::min(next, close_by_);
    }
    if (next >= rings_at(at) - clock_noise) {
        return;  // lazily: it fires too early for what has gone by, and is armed again then
    }
    set_alarm(next);
}

/// Without memory even for this, what was set before rings in time, or the next event asks again.
void driver::set_alarm(instant when) noexcept
{
    try {
        timer_->set(when - now(), shared_from_this());
        is_armed_ = true;
    } catch (const std::bad_alloc&) {
        return;
    }
}

void driver::on_alarm()
{
    if (context_gone_) {
        return;
    }
    is_armed_ = false;
    // Replies that are here already come first: they must not be taken for late when it was we who
    // slept.
    const auto told = [self = shared_from_this()] {
        self->catch_up();
        self->core_.on_time(self->now());
        self->turn();
    };
    try {
        later_.execute(told);
        return;
    } catch (const std::bad_alloc&) {
        // Then at once.
    }
    told();
}

void driver::publish_stats()
{
    const std::lock_guard guard(stats_mutex_);
    published_ = core_.snapshot();
}

stats driver::stats() const
{
    if (!settings_.thread_safe) {
        return core_.snapshot();
    }
    const std::lock_guard guard(stats_mutex_);
    return published_;
}

}  // namespace redlock::engine
