// Uses futures in a program that blocks. The client runs on a context in a thread of its own, and
// the main thread waits for the results. With `config::thread_safe` the main thread may call the
// client and drop locks. `use_future` throws errors; with `as_tuple` errors are values.
//
// Run it with the nodes:
//
//     futures redis://10.0.0.1 redis://10.0.0.2 redis://10.0.0.3

#include <redlock/redlock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <exception>
#include <iostream>
#include <thread>
#include <utility>

namespace asio = boost::asio;
using namespace std::chrono_literals;

void work(redlock::client& locks)
{
    // Both acquires run at the same time.
    auto coming = locks.async_acquire("orders/42", {.ttl = 10s, .timeout = 5s}, asio::use_future);
    auto other = locks.async_acquire("orders/43", {.ttl = 10s, .timeout = 5s}, asio::use_future);
    redlock::lock lock = coming.get();
    std::cout << lock.resource() << " is ours\n";
    std::cout << other.get().resource() << " was ours, and is dropped\n";

    // One attempt, no waiting. The lock may well be taken, so the error is a value and not an
    // exception.
    auto [error, again] = locks
                              .async_acquire("orders/42", {.timeout = 0s, .max_attempts = 1},
                                             asio::as_tuple(asio::use_future))
                              .get();
    std::cout << "once more: " << error.message() << '\n';

    if (lock.owns()) {
        std::cout << "working\n";
    }
    if (locks.async_release(std::move(lock), asio::use_future).get() ==
        redlock::release_result::released) {
        std::cout << "released\n";
    }
}

int main(int argc, char** argv)
try {
    if (argc < 2) {
        std::cerr << "usage: futures redis://10.0.0.1 redis://10.0.0.2 redis://10.0.0.3\n";
        return 2;
    }
    asio::io_context context;
    redlock::client locks(context, {.nodes = {argv + 1, argv + argc}, .thread_safe = true});
    auto running = locks.async_run(asio::use_future);
    std::jthread thread([&] { context.run(); });
    int result = 0;
    try {
        work(locks);
    } catch (const boost::system::system_error& thrown) {
        std::cout << "no lock: " << thrown.code().message() << '\n';
        result = 1;
    }
    locks.async_close(asio::use_future).get();
    running.get();  // the context has no more work, and the thread ends
    return result;
} catch (const std::exception& thrown) {  // a wrong URL, for one
    std::cerr << "futures: " << thrown.what() << '\n';
    return 1;
}
