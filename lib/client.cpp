#include <redlock/client.hpp>

#include "engine/deliveries.hpp"
#include "engine/driver.hpp"

#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/system_executor.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace redlock {

client::client(executor_type ex, const config& c) : driver_(engine::driver::make(std::move(ex), c))
{}

client::executor_type client::get_executor() const noexcept
{
    return driver_->user_executor();
}

stats client::stats() const
{
    return driver_->stats();
}

void client::shut_down() noexcept
{
    if (driver_) {
        driver_->shut_down();
        driver_.reset();
    }
}

namespace detail {

using engine::completion_ptr;

boost::asio::any_io_executor work_for_handler(const boost::asio::any_io_executor& ex,
                                              const boost::asio::any_io_executor& client, hop& hops)
{
    if (ex == client) {
        if (hops == hop::none) {
            return {};
        }
        hops = hop::out_together;
    }
    return boost::asio::prefer(ex, boost::asio::execution::outstanding_work.tracked);
}

void deliver_on(boost::asio::any_io_executor&& work, hop hops, completion& c, outcome&& what)
{
    engine::delivery there(std::move(work), c, std::move(what));
    if (hops == hop::out_together && c.together != nullptr) {
        c.together->add(std::move(there));
        return;
    }
    // This executor counts no outstanding work: the handler's context may be gone as soon as the
    // handler was called.
    const boost::asio::any_io_executor ex =
        boost::asio::prefer(there.work(), boost::asio::execution::outstanding_work.untracked);
    if (hops == hop::none) {
        boost::asio::dispatch(ex, std::move(there));
    } else {
        boost::asio::post(ex, std::move(there));
    }
}

void operation_canceller::operator()(boost::asio::cancellation_type type) const noexcept
{
    // An empty lock has no driver, so no operation of it can be waiting.
    if (!driver || (type & honoured) == boost::asio::cancellation_type::none) {
        return;
    }
    try {
        driver->cancel(told, type);
    } catch (const std::bad_alloc&) {
        return;  // without memory to reach the strand, the operation continues uncancelled
    }
}

ticket_ptr cancellable_by(boost::asio::cancellation_slot& slot, const engine_ptr& driver,
                          boost::asio::cancellation_type honoured)
{
    return cancellable_by<boost::asio::cancellation_slot>(slot, driver, honoured);
}

operations::executor_type operations::executor_of(const engine_ptr& d) noexcept
{
    return d ? d->user_executor() : boost::asio::system_executor();
}

hop operations::hops_of(const engine_ptr& d) noexcept
{
    return d ? d->hops() : hop::out;
}

void operations::run(engine_ptr& d, completion* c, const ticket_ptr& t)
{
    d->run(completion_ptr(c), t);
}

void operations::acquire(engine_ptr& d, const resource_names& names, const acquire_options& o,
                         completion* c, const ticket_ptr& t)
{
    d->acquire(names, o, completion_ptr(c), t);
}

void operations::acquire(engine_ptr& d, const resource_names& names, completion* c,
                         const ticket_ptr& t)
{
    acquire(d, names, acquire_options{}, c, t);
}

void operations::adopt(engine_ptr& d, const resource_names& names, std::string_view owner,
                       std::chrono::milliseconds ttl, const extend_options& o, completion* c,
                       const ticket_ptr& t)
{
    d->adopt(names, owner, ttl, o, completion_ptr(c), t);
}

void operations::extend(engine_ptr& d, lock& l, std::chrono::milliseconds ttl,
                        const extend_options& o, completion* c, const ticket_ptr& t)
{
    d->extend(l.held_, ttl, o, completion_ptr(c), t);
}

void operations::release(engine_ptr& d, lock l, const release_options& o, completion* c,
                         const ticket_ptr& t)
{
    d->release(std::move(l.held_), o, completion_ptr(c), t);
}

void operations::inspect(engine_ptr& d, std::string_view resource, const inspect_options& o,
                         completion* c, const ticket_ptr& t)
{
    d->inspect(resource, o, completion_ptr(c), t);
}

void operations::wait_lost(engine_ptr& d, lock& l, completion* c, const ticket_ptr& t)
{
    completion_ptr done(c);
    if (d) {
        d->wait_lost(l.held_, std::move(done), t);
    } else {
        done.release()->complete({errc::not_held, {}, {}, {}});  // posted: see hops_of
    }
}

void operations::close(engine_ptr& d, completion* c, const ticket_ptr& t)
{
    d->close(completion_ptr(c), t);
}

}  // namespace detail
}  // namespace redlock
