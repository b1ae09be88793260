// Shows the short pieces of code in the pages that acquire locks. This file is compiled and run.
//
// Run it with the nodes:
//
//     pieces redis://10.0.0.1 redis://10.0.0.2 redis://10.0.0.3

#include <redlock/redlock.hpp>

#include <boost/asio.hpp>

#include <array>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;

asio::awaitable<void> kept_alive(redlock::client& locks)
{
    auto lock = co_await locks.async_acquire("orders/42",
                                             {.ttl = 10s, .keep_alive = redlock::keep_alive{}});
    std::cout << "kept alive: " << lock.resource() << '\n';
    lock = {};  // released
    auto [why] = co_await lock.async_wait_lost(asio::as_tuple(asio::deferred));
    std::cout << "over: " << why.message() << '\n';
}

asio::awaitable<void> several(redlock::client& locks)
{
    const std::vector<std::string> accounts{"account/7", "account/9"};
    auto lock = co_await locks.async_acquire(accounts, {.ttl = 10s});
    std::cout << "both: " << lock.resources()[0] << ' ' << lock.resources()[1] << '\n';
}

asio::awaitable<void> send_invoice(redlock::client& locks, const redlock::reentrant_owner& me)
{
    // A further hold if the caller has the lock; otherwise a lock of its own.
    auto lock = co_await locks.async_acquire("orders/43", {.ttl = 10s, .reentrant_owner = &me});
    std::cout << "invoice under token " << lock.fencing_token() << '\n';
    if (co_await locks.async_release(std::move(lock)) == redlock::release_result::still_held) {
        std::cout << "the caller still has the lock\n";
    }
}

asio::awaitable<void> close_order(redlock::client& locks)
{
    redlock::reentrant_owner me;
    auto lock = co_await locks.async_acquire("orders/43", {.ttl = 10s, .reentrant_owner = &me});
    co_await send_invoice(locks, me);
}

asio::awaitable<void> told_apart(redlock::client& locks, std::string_view resource)
{
    auto [error, lock] = co_await locks.async_acquire(resource, {.ttl = 5s, .timeout = 0s},
                                                      asio::as_tuple(asio::deferred));
    if (error == redlock::errc::contended) {
        std::cout << "another client works\n";  // and that is all right
    } else if (error == redlock::condition::not_acquired) {
        std::cout << "no lock just now\n";  // try later
    } else if (error == redlock::condition::invalid_argument) {
        std::cout << "mistake: " << error.message() << '\n';  // trying again will not help
    } else if (error) {
        std::cout << "broken: " << error.message() << '\n';
    }
}

// Reads once under the lock, with handlers only.
void read(redlock::client& locks, asio::local::stream_protocol::socket& socket,
          asio::mutable_buffer buffer)
{
    redlock::with_lock(
        locks, "orders/44", {.ttl = 10s},
        [&socket, buffer](redlock::lock_scope scope) {
            const auto ex = scope.get_executor();
            const auto slot = scope.slot();  // emits there when the lock is lost
            auto on_read = [scope = std::move(scope)](auto error, std::size_t) mutable {
                scope.done(error);
            };
            socket.async_read_some(buffer, asio::bind_cancellation_slot(
                                               slot, asio::bind_executor(ex, std::move(on_read))));
        },
        [](const redlock::with_lock_result<void>& result) {
            std::cout << "read: " << to_string(result.status) << '\n';
        });
}

asio::awaitable<void> all(redlock::client& locks, asio::local::stream_protocol::socket& socket)
{
    co_await kept_alive(locks);
    co_await several(locks);
    co_await close_order(locks);
    const auto held = co_await locks.async_acquire("orders/42");
    co_await told_apart(locks, "orders/42");
    co_await told_apart(locks, "");
    std::array<char, 16> bytes;
    read(locks, socket, asio::buffer(bytes));
    [[maybe_unused]] const auto next = co_await locks.async_acquire("orders/44");
    co_await locks.async_close();
}

int main(int argc, char** argv)
try {
    asio::io_context context;
    asio::local::stream_protocol::socket ours(context);
    asio::local::stream_protocol::socket theirs(context);
    asio::local::connect_pair(ours, theirs);
    asio::write(theirs, asio::buffer("hello", 5));
    redlock::client locks(context, {.nodes = {argv + 1, argv + argc}});
    locks.async_run(asio::detached);
    asio::co_spawn(context, all(locks, ours), [](std::exception_ptr thrown) {
        if (thrown) {
            std::rethrow_exception(thrown);
        }
    });
    context.run();
} catch (const std::exception& thrown) {  // a wrong URL, for one
    std::cerr << "pieces: " << thrown.what() << '\n';
    return 1;
}
