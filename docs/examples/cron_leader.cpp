// Runs a job once a tick, on one of several machines that all run this program. The lock is named
// after the tick, and the machine that gets the lock runs the job. That machine does not release
// the lock but leaves it to its ttl. So a machine whose clock is late finds the lock taken.
// `max_lateness` bounds how late a clock may be. A job can be lost: if its machine dies during the
// job, no other machine runs it.
//
// Run it with the length of a tick in milliseconds, the number of ticks, and the nodes:
//
//     cron_leader 60000 1440 redis://10.0.0.1 redis://10.0.0.2 redis://10.0.0.3

#include <redlock/redlock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/system_timer.hpp>

#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>
#include <utility>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using std::chrono::system_clock;

constexpr auto max_lateness = 10min;

asio::awaitable<void> on_tick(redlock::client& locks, long tick)
{
    redlock::report report;
    const auto name = "cron/report/" + std::to_string(tick);
    // Machines that ask at the same moment may split the votes, so that none of them has a
    // majority. So the acquire has time for several attempts. A fencing counter would be of no use,
    // because each tick has a name of its own.
    auto [error, lock] = co_await locks.async_acquire(
        name, {.ttl = max_lateness, .timeout = 500ms, .fencing = false, .report = &report},
        asio::as_tuple(asio::deferred));
    if (!error) {
        std::cout << tick << ": run here" << std::endl;  // the job
        // No process adopts the lease: the keys stay until the ttl ends.
        [[maybe_unused]] const auto owner_token = std::move(lock).detach();
    } else if (report.holder_ttl) {
        std::cout << tick << ": run elsewhere" << std::endl;
    } else {
        std::cout << tick << ": not run here: " << error.message() << std::endl;
    }
}

asio::awaitable<void> run(redlock::client& locks, std::chrono::milliseconds period, int ticks)
{
    asio::system_timer timer(co_await asio::this_coro::executor);
    long tick = system_clock::now().time_since_epoch() / period;
    while (ticks-- > 0) {
        timer.expires_at(system_clock::time_point(++tick * period));
        co_await timer.async_wait(asio::deferred);
        co_await on_tick(locks, tick);
    }
    co_await locks.async_close();
}

int main(int argc, char** argv)
try {
    const std::chrono::milliseconds period(argc > 1 ? std::atoi(argv[1]) : 0);
    const int ticks = argc > 2 ? std::atoi(argv[2]) : 0;
    if (period <= 0ms || ticks <= 0 || argc < 4) {
        std::cerr << "usage: cron_leader MILLISECONDS TICKS redis://10.0.0.1 ...\n";
        return 2;
    }
    asio::io_context context;
    redlock::client locks(context, {.nodes = {argv + 3, argv + argc}});
    locks.async_run(asio::detached);
    asio::co_spawn(context, run(locks, period, ticks), [](std::exception_ptr thrown) {
        if (thrown) {
            std::rethrow_exception(thrown);
        }
    });
    context.run();
} catch (const std::exception& thrown) {  // a wrong URL, for one
    std::cerr << "cron_leader: " << thrown.what() << '\n';
    return 1;
}
