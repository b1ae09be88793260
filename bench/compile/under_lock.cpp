#include <redlock/with_lock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <utility>

/// The calls of the library in a server's unit if the library keeps the lock and releases it.
boost::asio::awaitable<int> served(redlock::client& locks)
{
    const auto body = [](redlock::lock& held) -> boost::asio::awaitable<int> {
        co_return held.owns() ? 1 : 0;
    };
    auto done =
        co_await redlock::with_lock(locks, "customer:42", {}, body, boost::asio::use_awaitable);
    co_return std::move(done).get();
}
