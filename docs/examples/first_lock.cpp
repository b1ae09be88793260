// Takes a lock and releases it. If there is no lock, prints what each node answered.
//
// Run it with the nodes:
//
//     first_lock redis://10.0.0.1 redis://10.0.0.2 redis://10.0.0.3

#include <redlock/redlock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>
#include <iostream>

namespace asio = boost::asio;
using namespace std::chrono_literals;

/// Returns the exit status of the program.
asio::awaitable<int> work(redlock::client& locks)
{
    redlock::report report;
    auto [error, lock] =
        co_await locks.async_acquire("orders/42", {.ttl = 10s, .timeout = 2s, .report = &report},
                                     asio::as_tuple(asio::deferred));
    if (error) {
        std::cerr << "no lock: " << error.message() << '\n';
        for (const auto& node : report.nodes) {
            std::cerr << node.node << ": " << to_string(node.outcome) << ' ' << node.error << '\n';
        }
    } else {
        std::cout << lock.resource() << " is ours for " << lock.remaining() / 1s << " s\n";
        // ... and before every step that needs it: if (lock.owns()) ...
        co_await locks.async_release(std::move(lock));  // or let it go out of scope
    }
    co_await locks.async_close();
    co_return error ? 1 : 0;
}

int main(int argc, char** argv)
try {
    if (argc < 2) {
        std::cerr << "usage: first_lock redis://10.0.0.1 redis://10.0.0.2 redis://10.0.0.3\n";
        return 2;
    }
    asio::io_context context;
    redlock::client locks(context, {.nodes = {argv + 1, argv + argc}});
    locks.async_run(asio::detached);
    int status = 0;
    asio::co_spawn(context, work(locks), [&status](std::exception_ptr thrown, int done) {
        if (thrown) {
            std::rethrow_exception(thrown);
        }
        status = done;
    });
    context.run();
    return status;
} catch (const std::exception& thrown) {  // a wrong URL, for one
    std::cerr << "first_lock: " << thrown.what() << '\n';
    return 1;
}
