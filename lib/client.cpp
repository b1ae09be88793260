#include <redlock/client.hpp>

#include "engine/driver.hpp"

#include <boost/asio/system_executor.hpp>

namespace redlock {

using engine::completion_ptr;

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

client::executor_type client::executor_of(const engine_ptr& d) noexcept
{
    return d ? d->user_executor() : boost::asio::system_executor();
}

detail::hop client::hops_of(const engine_ptr& d) noexcept
{
    return d ? d->hops() : detail::hop::out;
}

void client::run(engine_ptr& d, detail::completion* c, const ticket_ptr& t)
{
    d->run(completion_ptr(c), t);
}

void client::acquire(engine_ptr& d, std::string_view resource, const acquire_options& o,
                     detail::completion* c, const ticket_ptr& t)
{
    d->acquire(resource, o, completion_ptr(c), t);
}

void client::acquire(engine_ptr& d, const names_ptr& resources, const acquire_options& o,
                     detail::completion* c, const ticket_ptr& t)
{
    d->acquire(resources, o, completion_ptr(c), t);
}

void client::adopt(engine_ptr& d, const names_ptr& resources, std::string_view owner,
                   std::chrono::milliseconds ttl, const extend_options& o, detail::completion* c,
                   const ticket_ptr& t)
{
    d->adopt(resources, owner, ttl, o, completion_ptr(c), t);
}

void client::adopt(engine_ptr& d, std::string_view resource, std::string_view owner,
                   std::chrono::milliseconds ttl, const extend_options& o, detail::completion* c,
                   const ticket_ptr& t)
{
    d->adopt(resource, owner, ttl, o, completion_ptr(c), t);
}

void client::extend(engine_ptr& d, lock& l, std::chrono::milliseconds ttl, const extend_options& o,
                    detail::completion* c, const ticket_ptr& t)
{
    d->extend(l.held_, ttl, o, completion_ptr(c), t);
}

void client::release(engine_ptr& d, lock l, const release_options& o, detail::completion* c,
                     const ticket_ptr& t)
{
    d->release(std::move(l.held_), o, completion_ptr(c), t);
}

void client::inspect(engine_ptr& d, std::string_view resource, const inspect_options& o,
                     detail::completion* c, const ticket_ptr& t)
{
    d->inspect(resource, o, completion_ptr(c), t);
}

void client::wait_lost(engine_ptr& d, lock& l, detail::completion* c, const ticket_ptr& t)
{
    completion_ptr done(c);
    if (d) {
        d->wait_lost(l.held_, std::move(done), t);
    } else {
        done.release()->complete({errc::not_held, {}, {}, {}});  // posted: see hops_of
    }
}

void client::close(engine_ptr& d, detail::completion* c, const ticket_ptr& t)
{
    d->close(completion_ptr(c), t);
}

void client::cancel(engine_ptr& d, const ticket_ptr& t,
                    boost::asio::cancellation_type type) noexcept
{
    if (!d) {
        return;  // an empty lock, of which nothing waits
    }
    try {
        d->cancel(t, type);
    } catch (const std::bad_alloc&) {
        return;  // no room to go to the strand: as if not cancelled
    }
}

}  // namespace redlock
