#include "engine/driver.hpp"

#include "engine/context_watch.hpp"
#include "engine/driver_enter.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution/relationship.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/require.hpp>
#include <boost/asio/strand.hpp>

// The life of a client: creation, run, close, cancellation, and the end of its context.
namespace redlock::engine {

namespace asio = boost::asio;
using asio::any_io_executor;
using base::instant;

namespace {

[[nodiscard]] any_io_executor strand_if_wanted(const any_io_executor& ex, bool wanted)
{
    if (!wanted) {
        return ex;
    }
    // A strand around the concrete executor fits into any_io_executor. A strand around
    // any_io_executor doesn't fit, and would allocate memory in every step.
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
      environment_(asio::use_service<environment_service>(
                       asio::query(user_executor_, asio::execution::context))
                       .get()),
      draws_(environment_->entropy()),
      core_(settings_, draws_, environment_->wall_clock()),
      links_(settings_, executor_, later_, *environment_, core_, *this),
      alarm_(environment_->make_alarm(executor_))
{}

driver::~driver()
{
    if (!context_gone_) {
        watch_->remove(*this);
    }
    links_.close_all();
    abandon_operations();
}

/// Destroys the handlers of all operations without calling them. Used if the handlers can't run any
/// more.
void driver::abandon_operations() noexcept
{
    core_.stop(now());
    while (core::operation* op = core_.operations().take_finished(now())) {
        static_cast<detail::completion*>(op->user)->abandon();
        core_.operations().recycle(*op);
    }
}

void driver::run(completion_ptr done, const ticket_ptr& t)
{
    enter([done = std::move(done), t](driver& d) mutable { d.start(std::move(done), t); });
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
    if (t) {
        if (t->cancelled) {
            finish_later(std::move(done), asio::error::operation_aborted);
            return;
        }
        t->operation = this;
        t->waiter = done.get();
    }
    running_ = std::move(done);
    core_.network().start(now());
    want_turn();
}

void driver::close(completion_ptr done, const ticket_ptr& t)
{
    enter([done = std::move(done), t](driver& d) mutable { d.begin_close(std::move(done), t); });
}

void driver::begin_close(completion_ptr done, const ticket_ptr& t)
{
    if (stopped_) {
        finish_later(std::move(done), {});
        return;
    }
    detail::completion* const waiter = done.get();
    closers_.push(std::move(done), {});
    if (!closing_) {
        closing_ = true;
        close_by_ = now() + settings_.close_timeout;
        core_.close(now());
    }
    if (t) {
        t->operation = this;
        t->waiter = waiter;
        if (t->cancelled) {
            cancel_wait(waiter);
        }
    }
    want_turn();
}

/// Cancels a run or a close. The client ends at once in both cases, and the other handlers complete
/// too.
void driver::cancel_wait(detail::completion* waiter) noexcept
{
    if (stopped_) {
        return;  // its handler is already queued
    }
    if (waiter == running_.get()) {
        stop(asio::error::operation_aborted, {});
    } else {
        waiter->decided = asio::error::operation_aborted;
        stop({}, {});
    }
}

/// Ends the client: closes the connections, and lets all outstanding handlers complete in the next
/// turn.
void driver::stop(error_code for_run, error_code for_close) noexcept
{
    if (stopped_) {
        return;
    }
    stopped_ = true;
    // Writes the releases of this turn, which would be lost otherwise. Most sockets take the bytes
    // at once.
    links_.write_all();
    core_.stop(now());
    if (running_) {
        finish_later(std::move(running_), for_run);
    }
    while (!closers_.empty()) {
        completion_ptr c = closers_.pop();
        const error_code own = c->decided;
        finish_later(std::move(c), own ? own : for_close);
    }
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
        shut_down_.store(true, std::memory_order_relaxed);
    }
}

void driver::on_context_gone() noexcept
{
    const auto self = shared_from_this();
    context_gone_ = true;
    stopped_ = true;
    alarm_.drop();
    links_.close_all();
    abandon_operations();
    draws_.end_turn();
    requests_.clear();
    deliveries_.clear();
    decided_.clear();
    closers_.clear();
    running_.reset();
    later_ = {};
    executor_ = {};
    user_executor_ = {};
}

}  // namespace redlock::engine
