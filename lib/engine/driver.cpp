#include "engine/driver.hpp"

#include "base/owner_token.hpp"
#include "engine/context_watch.hpp"

#include <redlock/clock.hpp>

#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution/relationship.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/require.hpp>
#include <boost/asio/strand.hpp>

#include <algorithm>
#include <bit>

namespace redlock::engine {

namespace asio = boost::asio;
using asio::any_io_executor;
using base::instant;

namespace {

[[nodiscard]] instant now() noexcept
{
    return instant{boot_clock::now().time_since_epoch()};
}

[[nodiscard]] any_io_executor strand_if_wanted(const any_io_executor& ex, bool wanted)
{
    if (!wanted) {
        return ex;
    }
    // Right around its executor a strand fits into any_io_executor, which else needs memory with every step.
    if (const auto* io = ex.target<asio::io_context::executor_type>()) {
        return asio::make_strand(*io);
    }
    return asio::make_strand(ex);
}

[[nodiscard]] any_io_executor later_on(const any_io_executor& ex)
{
    return asio::prefer(asio::require(ex, asio::execution::blocking.never),
                        asio::execution::relationship.continuation);
}

}  // namespace

std::shared_ptr<driver> driver::make(any_io_executor ex, const config& c)
{
    auto d = std::make_shared<driver>(std::move(ex), base::make_settings(c));
    d->watch_->add(d);
    return d;
}

driver::driver(any_io_executor ex, base::settings s)
    : settings_(std::move(s)),
      user_executor_(std::move(ex)),
      executor_(strand_if_wanted(user_executor_, settings_.thread_safe)),
      later_(later_on(executor_)),
      watch_(
          &asio::use_service<context_watch>(asio::query(user_executor_, asio::execution::context))),
      core_(settings_, entropy_),
      peers_(settings_.nodes.size()),
      timer_(executor_)
{
    const auto is_tls = [](const base::address& a) {
        return a.via == base::address::transport::tls;
    };
    if (std::any_of(settings_.nodes.begin(), settings_.nodes.end(), is_tls)) {
        tls_ = make_tls_context(settings_);
    }
}

driver::~driver()
{
    if (!context_gone_) {
        watch_->remove(*this);
    }
    for (peer& p : peers_) {
        if (p.connection) {
            p.connection->close();
        }
    }
    while (core::operation* op = core_.take_finished()) {
        static_cast<detail::completion*>(op->user)->abandon();
        core_.recycle(*op);
    }
}

// ---- operations

/// Runs `f` where the core may be touched.
template <class F>
void driver::enter(F f)
{
    if (settings_.thread_safe && !context_gone_) {
        asio::dispatch(executor_,
                       [self = shared_from_this(), f = std::move(f)]() mutable { f(*self); });
    } else {
        f(*this);
    }
}

error_code driver::refuses() const noexcept
{
    if (closing_ || stopped_) {
        return errc::closed;
    }
    return {};
}

/// Begins an operation of the core, unless its arguments or the client's state refuse it.
template <class Begin>
void driver::begin(completion_ptr done, ticket_ptr t, report* r, error_code invalid, Begin start)
{
    if (r != nullptr) {
        *r = {};  // what an earlier operation left in it is not this one's
    }
    if (invalid) {
        finish_later(std::move(done), invalid);
        return;
    }
    if (const error_code ec = refuses()) {
        finish_later(std::move(done), ec);
        return;
    }
    if (core_.operations() >= settings_.max_in_flight) {
        finish_later(std::move(done), errc::overloaded);
        return;
    }
    core::operation* op = nullptr;
    try {
        op = &start(core_, now());
    } catch (const std::bad_alloc&) {
        finish_later(std::move(done), make_error_code(boost::system::errc::not_enough_memory));
        return;
    }
    op->user = done.release();
    if (t) {
        t->operation = op;
        t->serial = op->serial;
        if (t->cancelled) {
            core_.cancel(now(), *op);
        }
    }
    want_turn();
}

void driver::finish_later(completion_ptr done, error_code ec)
{
    if (context_gone_) {
        return;
    }
    decided_.push({std::move(done), ec});
    want_turn();
}

void driver::acquire(std::string_view resource, const acquire_options& o, completion_ptr done,
                     ticket_ptr t)
{
    const error_code invalid = base::validate(settings_, resource, o);
    if (!settings_.thread_safe) {
        begin(std::move(done), std::move(t), o.report, invalid,
              [&](core::coordinator& c, instant at) -> core::operation& {
                  return c.acquire(at, resource, o);
              });
        return;
    }
    enter([=, name = std::string(resource), done = std::move(done)](driver& d) mutable {
        d.begin(std::move(done), t, o.report, invalid,
                [&](core::coordinator& c, instant at) -> core::operation& {
                    return c.acquire(at, name, o);
                });
    });
}

void driver::adopt(std::string_view resource, std::string_view owner, std::chrono::milliseconds ttl,
                   const extend_options& o, completion_ptr done, ticket_ptr t)
{
    error_code invalid = base::validate_resource(resource);
    if (!invalid) {
        invalid = base::validate_ttl(settings_, ttl);
    }
    const auto token = base::owner_token::parse(owner);
    if (!invalid && !token) {
        invalid = errc::invalid_owner;
    }
    enter([=, name = std::string(resource), done = std::move(done)](driver& d) mutable {
        d.begin(std::move(done), t, o.report, invalid,
                [&](core::coordinator& c, instant at) -> core::operation& {
                    return c.adopt(at, name, *token, ttl, o.report);
                });
    });
}

/// What is wrong with a lease that is handed in.
std::optional<error_code> driver::refuses(const detail::held_lease& l) const noexcept
{
    if (l.get() == nullptr) {
        return errc::not_held;
    }
    if (l.driver().get() != this) {
        return errc::invalid_owner;
    }
    return std::nullopt;
}

void driver::extend(const detail::held_lease& l, std::chrono::milliseconds ttl,
                    const extend_options& o, completion_ptr done, ticket_ptr t)
{
    const error_code invalid = refuses(l).value_or(base::validate_ttl(settings_, ttl));
    if (!settings_.thread_safe) {
        begin(std::move(done), std::move(t), o.report, invalid,
              [&](core::coordinator& c, instant at) -> core::operation& {
                  return c.extend(at, *l.get(), ttl, o.report);
              });
        return;
    }
    const base::owner_token owner = invalid ? base::owner_token{} : l.get()->token;
    enter([=, lease = l.get(), done = std::move(done)](driver& d) mutable {
        // By the time the strand comes to this the lock may be gone, and the record may serve
        // another lease.
        const bool gone = !invalid && lease->token != owner;
        d.begin(std::move(done), t, o.report, gone ? make_error_code(errc::not_held) : invalid,
                [&](core::coordinator& c, instant at) -> core::operation& {
                    return c.extend(at, *lease, ttl, o.report);
                });
    });
}

void driver::release(detail::held_lease l, const release_options& o, completion_ptr done,
                     ticket_ptr t)
{
    const error_code invalid = refuses(l).value_or(error_code{});
    enter([=, l = std::move(l), done = std::move(done)](driver& d) mutable {
        d.begin(std::move(done), t, o.report, invalid,
                [&](core::coordinator& c, instant at) -> core::operation& {
                    core::operation& op = c.release(at, *l.get(), o.report);
                    static_cast<void>(l.release());
                    return op;
                });
    });
}

void driver::inspect(std::string_view resource, const inspect_options& o, completion_ptr done,
                     ticket_ptr t)
{
    const error_code invalid = base::validate_resource(resource);
    enter([=, name = std::string(resource), done = std::move(done)](driver& d) mutable {
        d.begin(std::move(done), t, o.report, invalid,
                [&](core::coordinator& c, instant at) -> core::operation& {
                    return c.inspect(at, name, o.report);
                });
    });
}

void driver::drop(core::lease& l) noexcept
{
    try {
        enter([lease = &l](driver& d) {
            if (!d.context_gone_) {
                d.core_.drop(now(), *lease);
                d.want_turn();
            }
        });
    } catch (const std::bad_alloc&) {
        // No room to go to the strand: the keys expire by themselves.
        return;
    }
}

void driver::let_go(core::lease& l) noexcept
{
    try {
        enter([lease = &l](driver& d) {
            if (!d.context_gone_) {
                d.core_.let_go(*lease);
            }
        });
    } catch (const std::bad_alloc&) {
        return;  // its record stays in use as long as the client
    }
}

void driver::cancel(const ticket_ptr& t, asio::cancellation_type type)
{
    enter([t, type](driver& d) { d.cancel_here(*t, type); });
}

void driver::cancel_here(detail::ticket& t, asio::cancellation_type type)
{
    if (t.operation == nullptr) {
        t.cancelled = true;
        return;
    }
    if (t.operation == this) {
        stop(asio::error::operation_aborted, asio::error::operation_aborted);
        return;
    }
    auto& op = *static_cast<core::operation*>(t.operation);
    if (op.serial != t.serial) {
        return;  // it has completed, and its record serves another
    }
    const bool only_total =
        (type & (asio::cancellation_type::terminal | asio::cancellation_type::partial)) ==
        asio::cancellation_type::none;
    if (only_total && op.what == core::operation::kind::acquire && op.attempts_made > 0) {
        return;  // something was sent: it cannot be as if nothing had been
    }
    core_.cancel(now(), op);
    want_turn();
}

// ---- run and close

void driver::run(completion_ptr done, ticket_ptr t)
{
    enter([done = std::move(done), t = std::move(t)](driver& d) mutable {
        d.start(std::move(done), t);
    });
}

void driver::start(completion_ptr done, const ticket_ptr& t)
{
    if (const error_code ec = refuses()) {
        finish_later(std::move(done), ec);
        return;
    }
    if (running_) {
        finish_later(std::move(done), asio::error::already_started);
        return;
    }
    running_ = std::move(done);
    core_.start(now());
    if (t) {
        t->operation = this;
        if (t->cancelled) {
            stop(asio::error::operation_aborted, {});
        }
    }
    want_turn();
}

void driver::close(completion_ptr done, ticket_ptr t)
{
    enter([done = std::move(done), t = std::move(t)](driver& d) mutable {
        d.begin_close(std::move(done), t);
    });
}

void driver::begin_close(completion_ptr done, const ticket_ptr& t)
{
    if (stopped_) {
        finish_later(std::move(done), {});
        return;
    }
    closers_.push_back(std::move(done));
    if (!closing_) {
        closing_ = true;
        close_by_ = now() + settings_.close_timeout;
        core_.close(now());
    }
    if (t) {
        t->operation = this;
        if (t->cancelled) {
            stop({}, asio::error::operation_aborted);
        }
    }
    want_turn();
}

/// The end: connections are closed, whatever waits is told so in the next turn.
void driver::stop(error_code for_run, error_code for_close) noexcept
{
    if (stopped_) {
        return;
    }
    stopped_ = true;
    core_.stop(now());
    if (running_) {
        finish_later(std::move(running_), for_run);
    }
    for (completion_ptr& c : closers_) {
        finish_later(std::move(c), for_close);
    }
    closers_.clear();
    want_turn();
}

void driver::shut_down() noexcept
{
    try {
        enter([](driver& d) {
            if (!d.context_gone_) {
                d.stop(errc::closed, errc::closed);
            }
        });
    } catch (const std::bad_alloc&) {
        return;  // what is pending ends with its context
    }
}

void driver::on_context_gone() noexcept
{
    const auto self = shared_from_this();
    context_gone_ = true;
    stopped_ = true;
    timer_.reset();
    for (peer& p : peers_) {
        if (const auto gone = std::exchange(p.connection, nullptr)) {
            gone->close();
        }
    }
    core_.stop(now());
    while (core::operation* op = core_.take_finished()) {
        static_cast<detail::completion*>(op->user)->abandon();
        core_.recycle(*op);
    }
    while (!decided_.empty()) {
        decided_.pop();
    }
    closers_.clear();
    running_.reset();
    later_ = {};
    executor_ = {};
    user_executor_ = {};
}

// ---- turns

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
        return;  // the next event asks again
    }
}

void driver::turn()
{
    turn_wanted_ = false;
    deliver();
    flush();
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
            if (threw || !d.decided_.empty() || d.core_.finished() > 0) {
                d.want_turn();
            }
        }
    } after{*this};
    for (std::size_t n = core_.finished(); n > 0; --n) {
        core::operation* op = core_.take_finished();
        if (op == nullptr) {
            break;
        }
        complete(*op);
    }
    for (std::size_t n = decided_.size(); n > 0 && !decided_.empty(); --n) {
        auto [done, ec] = decided_.pop();
        done.release()->complete({ec, {}, {}, {}});
    }
    after.threw = false;
}

void driver::complete(core::operation& op)
{
    detail::outcome what;
    what.error = op.error;
    what.released = op.released;
    what.inspection = op.inspection;
    if (op.subject != nullptr) {
        what.held = detail::held_lease(shared_from_this(), *op.subject);
    }
    auto* done = static_cast<detail::completion*>(op.user);
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
    const auto each = [](core::node_mask nodes, auto what) {
        for (; nodes != 0; nodes &= nodes - 1) {
            what(static_cast<unsigned>(std::countr_zero(nodes)));
        }
    };
    each(core_.take_to_close(), [this](unsigned i) {
        if (const auto gone = std::exchange(peers_[i].connection, nullptr)) {
            gone->close();
        }
    });
    each(core_.take_to_connect(), [this](unsigned i) { connect(i); });
    each(core_.take_written(), [this](unsigned i) {
        link* l = peers_[i].connection.get();
        if (l != nullptr && !l->is_writing() && !core_.output(i).empty()) {
            l->write(core_.output(i));
        }
    });
    if (stopped_) {
        timer_->cancel();
    } else {
        arm_timer();
    }
    if (settings_.thread_safe) {
        publish_stats();
    }
}

void driver::connect(unsigned node)
{
    peer& p = peers_[node];
    if (p.connection) {
        p.connection->close();
    }
    const base::address& at = settings_.nodes[node];
    const link_setup setup{executor_, this, node, &at, p.attempts++};
    switch (at.via) {
        case base::address::transport::tcp: p.connection = make_tcp_link(setup); break;
        case base::address::transport::tls: p.connection = make_tls_link(setup, tls_); break;
        case base::address::transport::unix_socket: p.connection = make_unix_link(setup); break;
    }
    p.connection->start();
}

void driver::on_link_up(unsigned node)
{
    const auto self = shared_from_this();
    core_.on_connected(now(), node);
    want_turn();
}

void driver::on_link_bytes(unsigned node, std::string_view bytes)
{
    const auto self = shared_from_this();
    core_.on_bytes(now(), node, bytes);
    want_turn();
}

void driver::on_link_written(unsigned node)
{
    link* l = peers_[node].connection.get();
    if (l != nullptr && !core_.output(node).empty()) {
        l->write(core_.output(node));
    }
}

void driver::on_link_down(unsigned node, std::string_view reason)
{
    const auto self = shared_from_this();
    // What it still writes must not keep it.
    if (const auto gone = std::exchange(peers_[node].connection, nullptr)) {
        gone->close();
    }
    core_.on_closed(now(), node, reason);
    want_turn();
}

// ---- time

void driver::arm_timer()
{
    instant next = core_.next_deadline();
    if (closing_ && !stopped_) {
        next = std::min(next, close_by_);
    }
    if (next >= armed_for_) {
        return;  // lazily: it fires too early for what has gone by, and is armed again then
    }
    armed_for_ = next;
    timer_->expires_after(next - now());
    timer_->async_wait([self = shared_from_this()](boost::system::error_code ec) {
        if (!ec && !self->context_gone_) {
            self->on_timer();
        }
    });
}

void driver::on_timer()
{
    armed_for_ = instant::max();
    // Replies that are here already come first: they must not be taken for late when it was we who
    // slept.
    later_.execute([self = shared_from_this()] {
        self->core_.on_time(now());
        self->turn();
    });
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
