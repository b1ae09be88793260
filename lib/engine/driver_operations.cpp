#include "engine/driver.hpp"

#include "base/kept_options.hpp"
#include "base/owner_token.hpp"
#include "core/kept_names.hpp"
#include "engine/driver_enter.hpp"

#include <boost/asio/error.hpp>

// The operations of the public interface: each is validated, brought to the client's executor, and
// then started or refused.
namespace redlock::engine {

namespace asio = boost::asio;
using base::instant;
using kind = core::operation::kind;

namespace {

struct beginning_of_acquire {
    const resource_names& names;
    const acquire_options& options;

    core::operation& operator()(core::client_operations& c, instant at) const
    {
        return c.acquire(at, names, options);
    }
};

/// Whether an acquire may start although the client has no room for another operation. A reentrant
/// owner that already holds the resource may need one more hold before it can release.
bool may_exceed_limit(const beginning_of_acquire& start, const core::client_operations& c)
{
    return c.is_held_by_owner(start.names, start.options);
}

template <class Begin>
bool may_exceed_limit(const Begin& /*start*/, const core::client_operations& /*c*/)
{
    return false;
}

error_code validate(const base::settings& s, const resource_names& names)
{
    return names.list() ? base::validate_resources(s, *names.list())
                        : base::validate_resource(s, names.first());
}

}  // namespace

error_code driver::refuses() const noexcept
{
    if (closing_ || stopped_) {
        return errc::closed;
    }
    return {};
}

/// Starts an operation of the core. Completes with an error instead if an argument is invalid or
/// the client's state refuses the operation.
template <class Begin>
void driver::begin(kind what, completion_ptr done, const ticket_ptr& t, report* r,
                   error_code invalid, Begin start)
{
    if (r != nullptr) {
        *r = {};  // clears the results of an earlier operation
    }
    if (invalid) {
        finish_later(std::move(done), invalid);
        return;
    }
    if (const error_code ec = refuses()) {
        finish_later(std::move(done), ec);
        return;
    }
    if (t && t->cancelled) {
        // No command was sent. If the operation was a release, the lock's destructor releases the
        // lock.
        finish_later(std::move(done), asio::error::operation_aborted);
        return;
    }
    core::operation* op = nullptr;
    try {
        if (!core_.operations().has_room_for(what) &&
            !may_exceed_limit(start, core_.operations())) {
            finish_later(std::move(done), errc::overloaded);
            return;
        }
        op = &start(core_.operations(), now());
    } catch (const std::bad_alloc&) {
        finish_later(std::move(done), make_error_code(boost::system::errc::not_enough_memory));
        return;
    }
    op->user = done.release();
    if (t) {
        t->operation = op;
        t->serial = op->serial;
    }
    want_turn();
}

void driver::finish_later(completion_ptr done, error_code ec) noexcept
{
    if (context_gone_) {
        return;
    }
    decided_.push(std::move(done), ec);
    want_turn();
}

void driver::acquire(const resource_names& names, const acquire_options& o, completion_ptr done,
                     const ticket_ptr& t)
{
    error_code invalid = validate(settings_, names);
    if (!invalid) {
        invalid = base::validate_options(settings_, o);
    }
    if (!settings_.thread_safe) {
        begin(kind::acquire, std::move(done), t, o.report, invalid, beginning_of_acquire{names, o});
        return;
    }
    enter([=, kept = core::kept_names(names), kept_options = base::kept_options(o),
           done = std::move(done)](driver& d) mutable {
        const resource_names names_then = kept.names();
        const acquire_options then = kept_options.options();
        d.begin(kind::acquire, std::move(done), t, then.report, invalid,
                beginning_of_acquire{names_then, then});
    });
}

void driver::adopt(const resource_names& names, std::string_view owner,
                   std::chrono::milliseconds ttl, const extend_options& o, completion_ptr done,
                   const ticket_ptr& t)
{
    error_code invalid = validate(settings_, names);
    if (!invalid) {
        invalid = base::validate_ttl(settings_, ttl);
    }
    const auto token = base::owner_token::parse(owner);
    if (!invalid && !token) {
        invalid = errc::invalid_owner_token;
    }
    enter([=, kept = core::kept_names(names), done = std::move(done)](driver& d) mutable {
        d.begin(kind::adopt, std::move(done), t, o.report, invalid,
                [&](core::client_operations& c, instant at) -> core::operation& {
                    return c.adopt(at, kept.names(), *token, ttl, o.report);
                });
    });
}

/// Checks a lease that the user passed in. Returns the error, or nothing.
std::optional<error_code> driver::refuses(const detail::held_lease& l) const noexcept
{
    if (l.get() == nullptr) {
        return errc::not_held;
    }
    if (l.driver().get() != this) {
        return errc::invalid_owner_token;
    }
    return std::nullopt;
}

/// Starts an operation on a lease that the caller keeps.
template <class Begin>
void driver::begin_on_lease(kind what, const detail::held_lease& l, completion_ptr done,
                            const ticket_ptr& t, report* r, error_code invalid, Begin start)
{
    if (!settings_.thread_safe) {
        begin(what, std::move(done), t, r, invalid,
              [&](core::client_operations& c, instant at) -> core::operation& {
                  return start(c, at, *l.get());
              });
        return;
    }
    const base::owner_token owner = invalid ? base::owner_token{} : l.get()->token;
    enter([=, lease = l.get(), done = std::move(done)](driver& d) mutable {
        // When the strand runs this function, the lock may be destroyed and its record reused for
        // another lease.
        const bool gone = !invalid && lease->token != owner;
        d.begin(what, std::move(done), t, r, gone ? make_error_code(errc::not_held) : invalid,
                [&](core::client_operations& c, instant at) -> core::operation& {
                    return start(c, at, *lease);
                });
    });
}

void driver::extend(const detail::held_lease& l, std::chrono::milliseconds ttl,
                    const extend_options& o, completion_ptr done, const ticket_ptr& t)
{
    const error_code invalid = refuses(l).value_or(base::validate_ttl(settings_, ttl));
    begin_on_lease(kind::extend, l, std::move(done), t, o.report, invalid,
                   [ttl, r = o.report](core::client_operations& c, instant at, core::lease& held)
                       -> core::operation& { return c.extend(at, held, ttl, r); });
}

void driver::wait_lost(const detail::held_lease& l, completion_ptr done, const ticket_ptr& t)
{
    begin_on_lease(kind::wait_lost, l, std::move(done), t, nullptr,
                   refuses(l).value_or(error_code{}),
                   [](core::client_operations& c, instant at,
                      core::lease& held) -> core::operation& { return c.wait_lost(at, held); });
}

void driver::release(detail::held_lease l, const release_options& o, completion_ptr done,
                     const ticket_ptr& t)
{
    const error_code invalid = refuses(l).value_or(error_code{});
    enter([=, l = std::move(l), done = std::move(done)](driver& d) mutable {
        d.begin(kind::release, std::move(done), t, o.report, invalid,
                [&](core::client_operations& c, instant at) -> core::operation& {
                    core::operation& op = c.release(at, *l.get(), o.report);
                    static_cast<void>(l.release());
                    return op;
                });
    });
}

void driver::inspect(std::string_view resource, const inspect_options& o, completion_ptr done,
                     const ticket_ptr& t)
{
    error_code invalid = base::validate_resource(settings_, resource);
    if (!invalid && !o.owner_token.empty() && !base::owner_token::parse(o.owner_token)) {
        invalid = errc::invalid_owner_token;
    }
    enter([=, name = std::string(resource), owner = std::string(o.owner_token),
           done = std::move(done)](driver& d) mutable {
        inspect_options then = o;
        then.owner_token = owner;
        d.begin(kind::inspect, std::move(done), t, then.report, invalid,
                [&](core::client_operations& c, instant at) -> core::operation& {
                    return c.inspect(at, name, then);
                });
    });
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
        cancel_wait(t.waiter);
        return;
    }
    auto& op = *static_cast<core::operation*>(t.operation);
    if (op.serial != t.serial) {
        return;  // the operation has completed, and its record was reused
    }
    const bool only_total =
        (type & (asio::cancellation_type::terminal | asio::cancellation_type::partial)) ==
        asio::cancellation_type::none;
    // An inspect and a wait have no effect on a node. An acquire has none before its first attempt.
    const bool may_have_effect = op.what != kind::inspect && op.what != kind::wait_lost &&
                                 (op.what != kind::acquire || op.attempts_made > 0);
    if (only_total && may_have_effect) {
        return;
    }
    core_.operations().cancel(now(), op);
    want_turn();
}

void driver::drop(core::lease& l) noexcept
{
    try {
        enter([lease = &l](driver& d) {
            if (!d.context_gone_) {
                d.core_.operations().drop(d.now(), *lease);
                d.want_turn();
            }
        });
    } catch (const std::bad_alloc&) {
        dropped_.push(l);
    }
}

void driver::detach(core::lease& l) noexcept
{
    try {
        enter([lease = &l](driver& d) {
            if (!d.context_gone_) {
                d.core_.operations().detach(d.now(), *lease);
                d.want_turn();
            }
        });
    } catch (const std::bad_alloc&) {
        detached_.push(l);
    }
}

}  // namespace redlock::engine
