// An HTTP service of several processes and threads that does one thing at a time for each customer.
// POST /customers/<id>/charge works under the lock "customers/<id>", and waits for the lock no
// longer than its deadline. If the HTTP client goes away, its request stops waiting or working, and
// leaves the lock to the next request. Status 409 means that another request works for the
// customer. Status 503 means that the nodes gave no lock, or that the lock was lost.
//
// Run it with a port and the nodes:
//
//     http_service 8080 redis://10.0.0.1 redis://10.0.0.2 redis://10.0.0.3

#include "http_server.hpp"

#include <redlock/redlock.hpp>

#include <boost/asio.hpp>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <regex>
#include <string>
#include <string_view>
#include <syncstream>
#include <utility>

namespace asio = boost::asio;
namespace http = boost::beast::http;
using http_server::answer;
using namespace std::chrono_literals;

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

asio::awaitable<http_server::response> handle(const http_server::request& req,
                                              redlock::client& locks)
{
    static const std::regex path("/(customers/[^/]+)/charge");
    const std::string target = req.target();
    std::smatch found;
    if (req.method() != http::verb::post || !std::regex_match(target, found, path)) {
        co_return answer(http::status::not_found, "POST /customers/<id>/charge\n");
    }
    const std::string customer = found[1];
    const std::chrono::milliseconds takes(std::atoi(req.body().c_str()));

    redlock::report report;
    auto body = [&](redlock::lock&) { return charge(customer, takes); };
    const auto result = co_await redlock::with_lock(
        locks, customer, {.ttl = 2s, .timeout = 2s, .report = &report}, body);
    const std::string error = result.error.message() + '\n';
    switch (result.status) {
        case redlock::with_lock_status::completed: co_return answer(http::status::ok, "charged\n");
        case redlock::with_lock_status::failed:
            co_return answer(http::status::internal_server_error, "failed\n");
        case redlock::with_lock_status::not_acquired:
            if (report.holder_ttl) {
                co_return answer(http::status::conflict, error);
            }
            [[fallthrough]];
        case redlock::with_lock_status::lost:
        case redlock::with_lock_status::cancelled: break;
    }
    co_return answer(http::status::service_unavailable, error);
}

int main(int argc, char** argv)
try {
    if (argc < 3) {
        std::cerr << "usage: http_service PORT redis://10.0.0.1 ...\n";
        return 2;
    }
    asio::thread_pool threads(4);
    // The last user of the client, the listener or a request, closes it. Then the threads have
    // nothing more to do.
    std::shared_ptr<redlock::client> locks(
        new redlock::client(threads, {.nodes = {argv + 2, argv + argc}, .thread_safe = true}),
        [](redlock::client* last) {
            last->async_close([last](redlock::error_code) { delete last; });
        });
    locks->async_run(asio::detached);

    const auto strand = asio::make_strand(threads);
    const auto port = static_cast<asio::ip::port_type>(std::atoi(argv[1]));
    asio::ip::tcp::acceptor acceptor(strand, {asio::ip::address_v4::loopback(), port});
    asio::signal_set signals(strand, SIGINT, SIGTERM);
    signals.async_wait([&](redlock::error_code, int) { acceptor.close(); });
    auto handler = [locks = std::move(locks)](const auto& req) { return handle(req, *locks); };
    asio::co_spawn(strand, http_server::serve(acceptor, std::move(handler)), asio::detached);
    threads.join();
} catch (const std::exception& thrown) {  // a wrong URL, for one
    std::cerr << "http_service: " << thrown.what() << '\n';
    return 1;
}
