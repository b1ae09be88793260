// Shows `with_lock` where the lock may be lost on the way. The client then cancels the body, and
// the operation that the body awaits ends. The program takes the lock again, and goes on with the
// step that it had reached. A step that may run twice must do no harm. It may have been half done
// before the loss, and another holder may have gone on with it since.
//
// Run it with the nodes:
//
//     with_lock_loss redis://10.0.0.1 redis://10.0.0.2 redis://10.0.0.3

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

constexpr int all_steps = 10;

// A real program would read `done` from the place where it writes its results.
asio::awaitable<void> work(int& done, redlock::lock& lock)
{
    asio::steady_timer timer(co_await asio::this_coro::executor);
    while (done < all_steps) {
        timer.expires_after(200ms);
        co_await timer.async_wait(asio::deferred);  // throws if the lock is lost
        if (!lock.owns()) {                         // asked right before the step that needs it
            co_return;
        }
        ++done;
        std::cout << "step " << done << std::endl;
    }
}

asio::awaitable<void> run(redlock::client& locks)
{
    int done = 0;
    auto body = [&done](redlock::lock& lock) { return work(done, lock); };
    auto end = redlock::with_lock_status::lost;
    while (end == redlock::with_lock_status::lost) {
        const auto result =
            co_await redlock::with_lock(locks, "orders/42", {.ttl = 1s, .timeout = 3s}, body);
        end = result.status;
        switch (end) {
            case redlock::with_lock_status::completed: std::cout << "done" << std::endl; break;
            case redlock::with_lock_status::lost:
                std::cout << "lost after step " << done << ", once more" << std::endl;
                break;
            case redlock::with_lock_status::failed: std::rethrow_exception(result.failure);
            case redlock::with_lock_status::not_acquired:
            case redlock::with_lock_status::cancelled:
                std::cout << to_string(end) << ": " << result.error.message() << std::endl;
                break;
        }
    }
    co_await locks.async_close();
}

int main(int argc, char** argv)
try {
    if (argc < 2) {
        std::cerr << "usage: with_lock_loss redis://10.0.0.1 redis://10.0.0.2 redis://10.0.0.3\n";
        return 2;
    }
    asio::io_context context;
    redlock::client locks(context, {.nodes = {argv + 1, argv + argc}});
    locks.async_run(asio::detached);
    asio::co_spawn(context, run(locks), [](std::exception_ptr thrown) {
        if (thrown) {
            std::rethrow_exception(thrown);
        }
    });
    context.run();
} catch (const std::exception& thrown) {  // a wrong URL, for one
    std::cerr << "with_lock_loss: " << thrown.what() << '\n';
    return 1;
}
