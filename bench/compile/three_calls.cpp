#include <redlock/client.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <utility>

/// The calls of the library in a server's unit.
boost::asio::awaitable<void> serialised(redlock::client& locks)
{
    using boost::asio::use_awaitable;
    auto held = co_await locks.async_acquire("customer:42", use_awaitable);
    co_await locks.async_extend(held, std::chrono::seconds(30), use_awaitable);
    co_await locks.async_release(std::move(held), use_awaitable);
}
