#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

/// The same number of calls of Asio's own, for comparison.
boost::asio::awaitable<void> waited(boost::asio::steady_timer& timer)
{
    using boost::asio::use_awaitable;
    co_await timer.async_wait(use_awaitable);
    co_await timer.async_wait(use_awaitable);
    co_await timer.async_wait(use_awaitable);
}
