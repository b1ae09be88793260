// Serves all statistics of a client to Prometheus, in its text format, at /metrics.
// prometheus_metrics.hpp has the names and the help texts.
//
// Run it with a port and the nodes:
//
//     prometheus 9100 redis://10.0.0.1 redis://10.0.0.2 redis://10.0.0.3

#include "http_server.hpp"
#include "prometheus_metrics.hpp"

#include <redlock/redlock.hpp>

#include <boost/asio.hpp>

#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <sstream>
#include <string>

namespace asio = boost::asio;
namespace http = boost::beast::http;
using http_server::answer;
using namespace std::chrono_literals;

template <class T, std::size_t Size>
void write(std::ostream& out, const redlock::stats& stats, const metric<T> (&table)[Size],
           const char* type, const char* suffix)
{
    for (const auto& m : table) {
        const auto name = std::string("redlock_") + m.name + suffix;
        out << "# HELP " << name << ' ' << m.help << '\n'
            << "# TYPE " << name << ' ' << type << '\n'
            << name << ' ' << stats.*m.value << '\n';
    }
}

std::string metrics(const redlock::stats& stats)
{
    std::ostringstream out;
    write(out, stats, counters, "counter", "_total");
    write(out, stats, gauges, "gauge", "");
    return out.str();
}

asio::awaitable<http_server::response> handle(const http_server::request& req,
                                              const redlock::client& locks)
{
    if (req.method() != http::verb::get || req.target() != "/metrics") {
        co_return answer(http::status::not_found, "GET /metrics\n");
    }
    co_return answer(http::status::ok, metrics(locks.stats()),
                     "text/plain; version=0.0.4; charset=utf-8");
}

// Does something that the statistics count.
asio::awaitable<void> work(redlock::client& locks)
{
    asio::steady_timer timer(co_await asio::this_coro::executor);
    for (;;) {
        auto [error, lock] = co_await locks.async_acquire("orders/42", {.ttl = 5s, .timeout = 1s},
                                                          http_server::no_throw);
        timer.expires_after(100ms);
        co_await timer.async_wait(http_server::no_throw);
    }
}

int main(int argc, char** argv)
try {
    if (argc < 3) {
        std::cerr << "usage: prometheus PORT redis://10.0.0.1 ...\n";
        return 2;
    }
    asio::io_context context;
    redlock::client locks(context, {.nodes = {argv + 2, argv + argc}});
    locks.async_run(asio::detached);
    const auto port = static_cast<asio::ip::port_type>(std::atoi(argv[1]));
    asio::ip::tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), port});
    auto handler = [&locks](const auto& req) { return handle(req, locks); };
    asio::co_spawn(context, http_server::serve(acceptor, handler), asio::detached);
    asio::co_spawn(context, work(locks), asio::detached);
    asio::signal_set signals(context, SIGINT, SIGTERM);
    signals.async_wait([&](redlock::error_code, int) { context.stop(); });
    context.run();
} catch (const std::exception& thrown) {  // a wrong URL, for one
    std::cerr << "prometheus: " << thrown.what() << '\n';
    return 1;
}
