#include <redlock/redlock.hpp>

#include <boost/asio.hpp>

#include <iostream>

namespace asio = boost::asio;
using namespace std::chrono_literals;

asio::awaitable<void> send_invoices(redlock::lock& lock)
{
    std::cout << "working under token " << lock.fencing_token() << '\n';
    co_return;  // the client cancels what you await here if the lock is lost
}

asio::awaitable<void> job(redlock::client& locks)
{
    const auto result = co_await redlock::with_lock(locks, "invoices", {.ttl = 30s}, send_invoices);
    if (!result) {
        std::cerr << to_string(result.status) << ": " << result.error.message() << '\n';
    }
    co_await locks.async_close();
}

int main(int argc, char** argv)
{
    asio::io_context context;
    redlock::client locks(context, {.nodes = {argv + 1, argv + argc}});
    locks.async_run(asio::detached);
    asio::co_spawn(context, job(locks), asio::detached);
    context.run();
}
