#include "engine/credentials_request.hpp"

#include "base/address.hpp"
#include "resp/error_text.hpp"

#include <boost/asio/post.hpp>

#include <exception>
#include <new>
#include <utility>

namespace redlock::engine {

void credentials_request::ask(const credentials_provider& provider, std::string_view url)
{
    try {
        // By reference: the caller's argument is the one copy, and is overwritten.
        provider(url, [self = shared_from_this()](error_code ec, credentials&& from) {
            self->settle([&] {
                if (ec) {
                    self->fail(ec.message(), from.password);
                } else {
                    self->keep(from);
                }
            });
            base::wipe(from.password);
        });
    } catch (const std::exception& e) {
        settle([&] { fail(e.what(), {}); });
    } catch (...) {
        settle([&] { fail("the provider threw an exception", {}); });
    }
}

void credentials_request::close() noexcept
{
    const std::lock_guard guard(mutex_);
    executor_ = {};
    forget();
}

/// The first time, and until it is closed.
template <class What>
void credentials_request::settle(What what) noexcept
{
    const std::lock_guard guard(mutex_);
    if (!executor_) {
        return;
    }
    try {
        what();
        post();
    } catch (const std::exception&) {
        // Without memory there is no reply, and the attempt ends after connect_timeout.
        executor_ = {};
        forget();
    }
}

void credentials_request::fail(std::string_view why, std::string_view password)
{
    failure_ = "credentials: " + resp::clean_error(why, password);
}

void credentials_request::keep(const credentials& from)
{
    if (from.user.size() + from.password.size() > base::max_url_size) {
        fail("user and password are longer than " + std::to_string(base::max_url_size) + " bytes",
             {});
        return;
    }
    given_.user = from.user;
    given_.password.buffer() = from.password;
}

/// Under the mutex, so that the context can't go in the meantime: its end waits for `close`.
void credentials_request::post()
{
    const auto executor = std::exchange(executor_, {});
    boost::asio::post(executor, [self = shared_from_this()] {
        if (const auto events = self->events_.lock()) {
            events->on_credentials(*self);
        }
        const std::lock_guard guard(self->mutex_);
        self->forget();
    });
}

/// The user's reply may keep this object for long.
void credentials_request::forget() noexcept
{
    base::wipe(given_.password.buffer());
}

}  // namespace redlock::engine
