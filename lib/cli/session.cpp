#include "cli/session.hpp"

#include "cli/exit_status.hpp"
#include "cli/lasting_context.hpp"
#include "cli/printing.hpp"
#include "cli/signals.hpp"

#include <redlock/redlock.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <exception>

namespace redlock::cli {

namespace asio = boost::asio;

int with_client(const config& c, interrupts who, const work& what)
{
    lasting_context lasting;
    asio::io_context& context = lasting.get();
    client locks(context, c);
    locks.async_run(asio::detached);

    bool closed = false;
    int status = internal;
    int interrupted_by = 0;
    std::exception_ptr failure;
    asio::cancellation_signal stop;
    asio::signal_set signals(context);
    if (who == interrupts::cancel_work) {
        for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
            if (!is_ignored(number)) {
                signals.add(number);
            }
        }
        signals.async_wait([&](error_code error, int number) {
            if (!error) {
                interrupted_by = number;
                stop.emit(asio::cancellation_type::terminal);
            }
        });
    }
    asio::co_spawn(
        context, what(locks),
        asio::bind_cancellation_slot(stop.slot(), [&](const std::exception_ptr& thrown, int given) {
            failure = thrown;
            status = given;
            signals.cancel();
            locks.async_close([&](error_code) { closed = true; });
        }));
    lasting.run_until([&] { return closed; });
    if (interrupted_by != 0 && (failure || status != success)) {
        return by_signal + interrupted_by;
    }
    if (failure) {
        std::rethrow_exception(failure);
    }
    return status;
}

asio::awaitable<void> connected(client& locks, const config& c, std::chrono::milliseconds bound)
{
    using namespace std::chrono_literals;
    const auto quorum = c.nodes.size() / 2 + 1;
    auto end = boot_clock::now() + bound;
    bool majority = false;
    asio::steady_timer timer(locks.get_executor());
    for (;;) {
        const stats now = locks.stats();
        if (!majority && now.nodes_ready >= quorum) {
            majority = true;
            end = std::min(end, boot_clock::now() + c.node_timeout);
        }
        if (now.nodes_connecting == 0 || boot_clock::now() >= end) {
            co_return;
        }
        timer.expires_after(1ms);
        co_await timer.async_wait(asio::deferred);
    }
}

}  // namespace redlock::cli
