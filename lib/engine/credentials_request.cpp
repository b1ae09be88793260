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
        // The credentials are passed by reference, so the caller's argument is the only copy. It is
        // overwritten afterwards.
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

/// Runs `what` and posts the reply. Only the first call does so, and none does after `close`.
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
        // If there is no memory for the reply, the connection attempt ends after connect_timeout.
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

/// Posts the reply. The caller holds the mutex, so the context can't be destroyed meanwhile: its
/// shutdown calls `close`, which waits for the mutex.
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

/// Overwrites the password. The user's callback may keep this object alive for a long time.
void credentials_request::forget() noexcept
{
    base::wipe(given_.password.buffer());
}

}  // namespace redlock::engine
