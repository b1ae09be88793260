// An HTTP service of several processes and threads that does one thing at a time for each customer.
// POST /customers/<id>/charge works under the lock "customers/<id>", and waits for the lock no
// longer than its deadline. If the HTTP client goes away, its request stops waiting or working, and
// leaves the lock to the next request. Status 409 means that another request works for the
// customer. Status 503 means that the nodes gave no lock, or that the lock was lost.
//
// Run it with a port and the nodes:
//
//     http_service 8080 redis://10.0.0.1 redis://10.0.0.2 redis://10.0.0.3

#include <redlock/redlock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include <array>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <syncstream>
#include <thread>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using namespace asio::experimental::awaitable_operators;
using namespace std::chrono_literals;

using request = http::request<http::string_body>;
using response = http::response<http::string_body>;
constexpr auto no_throw = asio::as_tuple(asio::deferred);

response answer(http::status status, std::string text)
{
    response result(status, 11);
    result.set(http::field::content_type, "text/plain");
    result.keep_alive(false);
    result.body() = std::move(text) + '\n';
    result.prepare_payload();
    return result;
}

// Takes the place of a payment provider and a database. The operation that it awaits is aborted
// when the lock is lost, and when the HTTP client has gone.
asio::awaitable<void> charge(std::string_view customer, std::chrono::milliseconds takes)
{
    struct logged {
        std::string_view customer;
        ~logged() { std::osyncstream(std::cout) << customer << ": ends" << std::endl; }
    };
    std::osyncstream(std::cout) << customer << ": begins" << std::endl;
    const logged end{customer};
    asio::steady_timer timer(co_await asio::this_coro::executor, takes);
    co_await timer.async_wait(asio::deferred);
}

asio::awaitable<response> serve(const request& req, redlock::client& locks)
{
    constexpr std::string_view before = "/customers/";
    constexpr std::string_view after = "/charge";
    const std::string_view target = req.target();
    if (req.method() != http::verb::post || !target.starts_with(before) ||
        !target.ends_with(after) || target.size() <= before.size() + after.size()) {
        co_return answer(http::status::not_found, "POST /customers/<id>/charge");
    }
    const auto customer = target.substr(1, target.size() - after.size() - 1);
    const std::chrono::milliseconds takes(std::atoi(req.body().c_str()));

    redlock::report report;
    auto body = [&](redlock::lock&) { return charge(customer, takes); };
    const auto result = co_await redlock::with_lock(
        locks, customer, {.ttl = 2s, .timeout = 2s, .report = &report}, body);
    switch (result.status) {
        case redlock::with_lock_status::completed: co_return answer(http::status::ok, "charged");
        case redlock::with_lock_status::failed:
            co_return answer(http::status::internal_server_error, "failed");
        case redlock::with_lock_status::not_acquired:
            if (report.holder_ttl) {
                co_return answer(http::status::conflict, result.error.message());
            }
            [[fallthrough]];
        case redlock::with_lock_status::lost:
        case redlock::with_lock_status::cancelled: break;
    }
    co_return answer(http::status::service_unavailable, result.error.message());
}

// Ends when the HTTP client has closed its side of the connection. Drops what the HTTP client sends
// meanwhile.
asio::awaitable<void> gone(tcp::socket& socket)
{
    std::array<char, 1024> dropped;
    redlock::error_code error;
    while (!error) {
        std::tie(error, std::ignore) =
            co_await socket.async_read_some(asio::buffer(dropped), no_throw);
    }
}

// Serves one request on a strand of its own. All work for the request runs on that strand, in any
// of the threads.
asio::awaitable<void> session(beast::tcp_stream stream, std::shared_ptr<redlock::client> locks)
{
    beast::flat_buffer buffer;
    request req;
    stream.expires_after(10s);
    auto [unread, size] = co_await http::async_read(stream, buffer, req, no_throw);
    if (unread) {
        co_return;
    }
    stream.expires_never();
    auto first = co_await (serve(req, *locks) || gone(stream.socket()));  // the other is cancelled
    if (auto* res = std::get_if<response>(&first)) {
        stream.expires_after(10s);
        co_await http::async_write(stream, *res, no_throw);
    }
}

asio::awaitable<void> listen(tcp::acceptor& acceptor, std::shared_ptr<redlock::client> locks)
{
    while (acceptor.is_open()) {
        asio::any_io_executor strand = asio::make_strand(acceptor.get_executor());
        auto [error, socket] = co_await acceptor.async_accept(strand, no_throw);
        if (!error) {
            asio::co_spawn(strand, session(beast::tcp_stream(std::move(socket)), locks),
                           asio::detached);
        }
    }
}

int main(int argc, char** argv)
try {
    if (argc < 3) {
        std::cerr << "usage: http_service PORT redis://10.0.0.1 ...\n";
        return 2;
    }
    constexpr int threads = 4;
    asio::io_context context(threads);
    // The last user of the client, the listener or a session, closes it. Then the context has
    // nothing more to do.
    std::shared_ptr<redlock::client> locks(
        new redlock::client(context, {.nodes = {argv + 2, argv + argc}, .thread_safe = true}),
        [](redlock::client* last) {
            last->async_close([last](redlock::error_code) { delete last; });
        });
    locks->async_run(asio::detached);

    const auto strand = asio::make_strand(context);
    const auto port = static_cast<asio::ip::port_type>(std::atoi(argv[1]));
    tcp::acceptor acceptor(strand, {asio::ip::address_v4::loopback(), port});
    asio::signal_set signals(strand, SIGINT, SIGTERM);
    signals.async_wait([&](redlock::error_code, int) { acceptor.close(); });
    asio::co_spawn(strand, listen(acceptor, std::move(locks)), asio::detached);

    std::vector<std::jthread> pool;
    for (int i = 1; i < threads; ++i) {
        pool.emplace_back([&] { context.run(); });
    }
    context.run();
} catch (const std::exception& thrown) {  // a wrong URL, for one
    std::cerr << "http_service: " << thrown.what() << '\n';
    return 1;
}
