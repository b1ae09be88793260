// Uses `with_lock` for work that takes longer than the ttl of its lock, which is kept alive. Prints
// the outcome of each renewal.
//
// Run it with the nodes:
//
//     keep_alive redis://10.0.0.1 redis://10.0.0.2 redis://10.0.0.3

#include <redlock/redlock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <exception>
#include <iostream>

namespace asio = boost::asio;
using namespace std::chrono_literals;

// Takes longer than the ttl of its lock. The client keeps the lock alive until the work is done.
asio::awaitable<int> work(redlock::lock& lock)
{
    asio::steady_timer timer(co_await asio::this_coro::executor);
    int steps = 0;
    while (steps < 5 && lock.owns()) {
        timer.expires_after(300ms);
        co_await timer.async_wait(asio::deferred);  // aborted if the lock is lost
        ++steps;
    }
    co_return steps;
}

asio::awaitable<void> run(redlock::client& locks)
{
    const auto result = co_await redlock::with_lock(
        locks, "orders/42", {.ttl = 1s, .keep_alive = redlock::keep_alive{.max_hold = 1h}}, work);
    switch (result.status) {
        case redlock::with_lock_status::completed:
            std::cout << "done after " << *result.value << " steps\n";
            break;
        case redlock::with_lock_status::failed: std::cout << "the work failed\n"; break;
        case redlock::with_lock_status::lost: std::cout << "the lock was lost on the way\n"; break;
        case redlock::with_lock_status::cancelled: std::cout << "cancelled\n"; break;
        case redlock::with_lock_status::not_acquired:
            std::cout << "no lock: " << result.error.message() << '\n';
            break;
    }
    co_await locks.async_close();
}

int main(int argc, char** argv)
try {
    if (argc < 2) {
        std::cerr << "usage: keep_alive redis://10.0.0.1 redis://10.0.0.2 redis://10.0.0.3\n";
        return 2;
    }
    asio::io_context context;
    redlock::config config{.nodes = {argv + 1, argv + argc}};
    config.on_renewal = [](const redlock::renewal& r) {
        std::cerr << r.resource << ": " << to_string(r.outcome) << '\n';
    };
    redlock::client locks(context, config);
    locks.async_run(asio::detached);
    asio::co_spawn(context, run(locks), [](std::exception_ptr thrown) {
        if (thrown) {
            std::rethrow_exception(thrown);
        }
    });
    context.run();
} catch (const std::exception& thrown) {  // a wrong URL, for one
    std::cerr << "keep_alive: " << thrown.what() << '\n';
    return 1;
}
