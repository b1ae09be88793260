// The server of docs/tutorial.md. It takes lines "ORDER TEXT", and writes each text to its order.
// It writes under a lock of that order, which it keeps alive. The table refuses the write of a
// holder that is too late. line_server.hpp has the sockets.
//
// Run it with a port and the nodes:
//
//     tutorial 7200 redis://10.0.0.1 redis://10.0.0.2 redis://10.0.0.3

#include "line_server.hpp"

#include <redlock/redlock.hpp>

#include <boost/asio.hpp>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <map>
#include <string>

namespace asio = boost::asio;
using namespace std::chrono_literals;

// Takes the place of a database: compares and writes in one step.
struct table {
    // False: a later holder of the lock was here.
    bool write(const std::string& order, const std::string& text, std::uint64_t token)
    {
        row& at = rows[order];
        if (token < at.fence) {
            return false;
        }
        at = {text, token};
        return true;
    }

    struct row {
        std::string text;
        std::uint64_t fence = 0;
    };
    std::map<std::string, row> rows;
};

// Explains to an operator why there is no lock.
std::string explain(redlock::error_code error, const redlock::report& report)
{
    std::string text = "no lock: " + error.message();
    if (report.holder_ttl) {
        text += "; its holder has it for " + std::to_string(report.holder_ttl->count()) +
                " ms more, or longer if that is extended";
    }
    for (const auto& node : report.nodes) {
        text += "\n  " + node.node + ": " + to_string(node.outcome) + ' ' + node.error;
    }
    return text;
}

// Works for five seconds, longer than the ttl of its lock.
asio::awaitable<std::string> work(table& orders, const std::string& order, const std::string& text,
                                  redlock::lock& lock)
{
    asio::steady_timer timer(co_await asio::this_coro::executor, 5s);
    co_await timer.async_wait(asio::deferred);  // throws if the lock is lost
    if (!lock.owns()) {
        co_return "not written: the lock is over";
    }
    const auto token = lock.fencing_token();
    co_return orders.write(order, text, token) ? "written with token " + std::to_string(token)
                                               : "refused: a later holder was here";
}

asio::awaitable<std::string> serve(redlock::client& locks, table& orders, std::string order,
                                   std::string text)
{
    redlock::report report;
    auto body = [&](redlock::lock& lock) { return work(orders, order, text, lock); };
    const auto result =
        co_await redlock::with_lock(locks, "orders/" + order,
                                    {.ttl = 2s,
                                     .timeout = 1s,
                                     .keep_alive = redlock::keep_alive{.max_hold = 1min},
                                     .report = &report},
                                    body);
    switch (result.status) {
        case redlock::with_lock_status::completed: co_return *result.value;
        case redlock::with_lock_status::not_acquired: co_return explain(result.error, report);
        case redlock::with_lock_status::lost: co_return "not written: the lock was lost on the way";
        case redlock::with_lock_status::failed:
        case redlock::with_lock_status::cancelled: break;
    }
    co_return "not written: " + std::string(to_string(result.status));
}

int main(int argc, char** argv)
try {
    if (argc < 3) {
        std::cerr << "usage: tutorial PORT redis://10.0.0.1 redis://10.0.0.2 redis://10.0.0.3\n";
        return 2;
    }
    asio::io_context context;
    table orders;
    redlock::client locks(context, {.nodes = {argv + 2, argv + argc}});
    locks.async_run(asio::detached);
    const auto port = static_cast<asio::ip::port_type>(std::atoi(argv[1]));
    asio::ip::tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), port});
    auto handler = [&](auto order, auto text) { return serve(locks, orders, order, text); };
    asio::co_spawn(context, line_server::serve(acceptor, handler), asio::detached);
    asio::signal_set signals(context, SIGINT, SIGTERM);
    signals.async_wait([&](redlock::error_code, int) {
        acceptor.close();
        locks.async_close(asio::detached);  // bodies under way are cancelled, their locks expire
    });
    context.run();
} catch (const std::exception& thrown) {  // a wrong URL, for one
    std::cerr << "tutorial: " << thrown.what() << '\n';
    return 1;
}
