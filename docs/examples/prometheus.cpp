// Serves all statistics of a client to Prometheus, in its text format, at /metrics. One small HTTP
// handler is enough for that. The compiler compares the tables with `redlock::stats`: a field that
// is missing here is an error.
//
// Run it with a port and the nodes:
//
//     prometheus 9100 redis://10.0.0.1 redis://10.0.0.2 redis://10.0.0.3

#include <redlock/redlock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <sstream>
#include <string>

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using namespace std::chrono_literals;

constexpr auto no_throw = asio::as_tuple(asio::deferred);

template <class T>
struct metric {
    T redlock::stats::*value;
    const char* name;
    const char* help;
};

constexpr metric<std::uint64_t> counters[] = {
    {&redlock::stats::acquired, "acquired", "Acquires that gave a lock"},
    {&redlock::stats::contended, "contended", "Acquires that ended contended"},
    {&redlock::stats::unavailable, "unavailable", "Acquires that ended unavailable"},
    {&redlock::stats::expired, "expired", "Acquires that ended expired"},
    {&redlock::stats::timed_out, "timed_out", "Acquires that ended timed_out"},
    {&redlock::stats::cancelled, "cancelled", "Acquires that their caller cancelled"},
    {&redlock::stats::attempts, "attempts", "Attempts begun: rounds of SET"},
    {&redlock::stats::hand_overs, "hand_overs",
     "Locks that ended while other acquires of the client waited for them"},
    {&redlock::stats::notified_attempts_granted, "notified_attempts_granted",
     "Attempts after a notification that got the lock"},
    {&redlock::stats::notified_attempts_refused, "notified_attempts_refused",
     "Attempts after a notification that did not get the lock"},
    {&redlock::stats::notifications_missed, "notifications_missed",
     "Polls that found a change without a notification"},
    {&redlock::stats::polls, "polls", "Further attempts without a notification"},
    {&redlock::stats::released, "released", "Releases that ended released"},
    {&redlock::stats::not_held, "not_held", "Releases that found nothing to release"},
    {&redlock::stats::release_unknown, "release_unknown", "Releases that no majority answered"},
    {&redlock::stats::dropped, "dropped", "Locks that their destructor released"},
    {&redlock::stats::extended, "extended", "Extends that extended the lease"},
    {&redlock::stats::lost, "lost", "Extends that ended lost"},
    {&redlock::stats::extend_unknown, "extend_unknown", "Extends that no majority answered"},
    {&redlock::stats::renewed, "renewed", "Renewals that gave new validity"},
    {&redlock::stats::renewal_unknown, "renewal_unknown", "Renewals that no majority answered"},
    {&redlock::stats::late_renewals, "late_renewals",
     "Renewals that began a node timeout late, or later"},
    {&redlock::stats::kept_alive_lost, "kept_alive_lost", "Kept-alive locks that were lost"},
    {&redlock::stats::limits_reached, "limits_reached", "Kept-alive locks that reached a limit"},
    {&redlock::stats::commands, "commands", "Commands queued, on all nodes"},
    {&redlock::stats::node_timeouts, "node_timeouts",
     "Commands that a node did not answer within node_timeout"},
    {&redlock::stats::node_errors, "node_errors", "Commands answered with an error"},
    {&redlock::stats::late_replies, "late_replies",
     "Replies that came after their command's deadline"},
    {&redlock::stats::late_grants, "late_grants", "Grants for which no acquire waited any more"},
    {&redlock::stats::background_releases, "background_releases",
     "Releases for which no caller waits, a node each"},
    {&redlock::stats::pending_releases_dropped, "pending_releases_dropped",
     "Pending releases dropped: too many, or no memory"},
    {&redlock::stats::counter_alignments, "counter_alignments",
     "Rounds that aligned fencing counters"},
    {&redlock::stats::script_reloads, "script_reloads", "Scripts that a node no longer knew"},
    {&redlock::stats::connects, "connects", "Connections that became usable"},
    {&redlock::stats::disconnects, "disconnects", "Usable connections that were lost or closed"},
    {&redlock::stats::protocol_errors, "protocol_errors",
     "Connections closed because of what the node sent"},
};

constexpr metric<std::size_t> gauges[] = {
    {&redlock::stats::nodes_ready, "nodes_ready", "Nodes that can be asked now"},
    {&redlock::stats::nodes_connecting, "nodes_connecting",
     "Nodes whose first attempt to connect has not ended"},
    {&redlock::stats::nodes_quarantined, "nodes_quarantined", "Nodes whose votes do not count yet"},
    {&redlock::stats::in_flight, "in_flight", "Operations begun and not completed"},
    {&redlock::stats::waiters, "waiters", "Waiters in the wait queues of the client"},
    {&redlock::stats::kept_alive, "kept_alive", "Locks that the client keeps alive"},
    {&redlock::stats::leases, "leases",
     "Leases that are held, acquired or not completely released"},
    {&redlock::stats::unanswered, "unanswered", "Commands without a reply yet, on all nodes"},
    {&redlock::stats::pending_releases, "pending_releases",
     "Pending releases and expiry repairs, on all nodes"},
    {&redlock::stats::buffered_bytes, "buffered_bytes",
     "Bytes queued and not yet written, on all nodes"},
};

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
    static_assert(sizeof counters / sizeof *counters * sizeof(std::uint64_t) +
                          sizeof gauges / sizeof *gauges * sizeof(std::size_t) ==
                      sizeof(redlock::stats),
                  "a field of stats is not in the tables, or twice");
    std::ostringstream out;
    write(out, stats, counters, "counter", "_total");
    write(out, stats, gauges, "gauge", "");
    return out.str();
}

asio::awaitable<void> session(beast::tcp_stream stream, redlock::client& locks)
{
    beast::flat_buffer buffer;
    http::request<http::empty_body> req;
    stream.expires_after(5s);
    auto [unread, size] = co_await http::async_read(stream, buffer, req, no_throw);
    if (unread) {
        co_return;
    }
    http::response<http::string_body> res(http::status::not_found, 11);
    if (req.method() == http::verb::get && req.target() == "/metrics") {
        res.result(http::status::ok);
        res.set(http::field::content_type, "text/plain; version=0.0.4; charset=utf-8");
        res.body() = metrics(locks.stats());
    }
    res.keep_alive(false);
    res.prepare_payload();
    co_await http::async_write(stream, res, no_throw);
}

asio::awaitable<void> listen(tcp::acceptor& acceptor, redlock::client& locks)
{
    for (;;) {
        auto [error, socket] = co_await acceptor.async_accept(no_throw);
        if (!error) {
            asio::co_spawn(acceptor.get_executor(),
                           session(beast::tcp_stream(std::move(socket)), locks), asio::detached);
        }
    }
}

// Does something that the statistics count.
asio::awaitable<void> work(redlock::client& locks)
{
    asio::steady_timer timer(co_await asio::this_coro::executor);
    for (;;) {
        auto [error, lock] =
            co_await locks.async_acquire("orders/42", {.ttl = 5s, .timeout = 1s}, no_throw);
        timer.expires_after(100ms);
        co_await timer.async_wait(no_throw);
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
    tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), port});
    asio::co_spawn(context, listen(acceptor, locks), asio::detached);
    asio::co_spawn(context, work(locks), asio::detached);
    asio::signal_set signals(context, SIGINT, SIGTERM);
    signals.async_wait([&](redlock::error_code, int) { context.stop(); });
    context.run();
} catch (const std::exception& thrown) {  // a wrong URL, for one
    std::cerr << "prometheus: " << thrown.what() << '\n';
    return 1;
}
