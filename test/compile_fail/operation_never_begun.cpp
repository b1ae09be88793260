// expect: nodiscard|unused-result
#include <redlock/client.hpp>

#include <boost/asio/awaitable.hpp>

boost::asio::awaitable<void> work(redlock::client& locks)
{
#ifdef REDLOCK_TWIN
    redlock::lock held = co_await locks.async_acquire("orders/42");
#else
    locks.async_acquire("orders/42");
    co_return;
#endif
}
