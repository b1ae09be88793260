// Takes, extends and releases a lock with completion handlers only, in a program of one thread
// without a coroutine. SIGINT and SIGTERM cancel an acquire that waits, through its cancellation
// slot. The client then releases what the nodes may have granted.
//
// Run it with the nodes:
//
//     handlers redis://10.0.0.1 redis://10.0.0.2 redis://10.0.0.3

#include <redlock/redlock.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include <csignal>
#include <exception>
#include <iostream>
#include <memory>
#include <utility>

namespace asio = boost::asio;
using namespace std::chrono_literals;

// The handler that comes next owns the job, and so keeps it alive.
class job : public std::enable_shared_from_this<job> {
public:
    job(asio::io_context& context, redlock::client& locks)
        : locks_(locks),
          timer_(context),
          signals_(context, SIGINT, SIGTERM)
    {}

    void start()
    {
        signals_.async_wait([self = shared_from_this()](redlock::error_code error, int) {
            if (!error) {
                self->called_off_.emit(asio::cancellation_type::terminal);
            }
        });
        locks_.async_acquire(
            "orders/42", {.ttl = 2s, .timeout = 1min},
            asio::bind_cancellation_slot(called_off_.slot(),
                                         [self = shared_from_this()](auto error, auto lock) {
                                             self->on_acquired(error, std::move(lock));
                                         }));
    }

private:
    void on_acquired(redlock::error_code error, redlock::lock lock)
    {
        signals_.cancel();
        if (error == asio::error::operation_aborted) {
            std::cout << "cancelled\n";
            return close();
        }
        if (error) {
            std::cout << "no lock: " << error.message() << '\n';
            return close();
        }
        std::cout << "ours\n";
        lock_ = std::move(lock);
        timer_.expires_after(300ms);  // the first half of the work
        timer_.async_wait([self = shared_from_this()](auto) { self->on_half_done(); });
    }

    void on_half_done()
    {
        locks_.async_extend(lock_, 2s, [self = shared_from_this()](redlock::error_code error) {
            // `unavailable` only says that the lock ends as it would have without the extend.
            std::cout << (error ? error.message() : "extended") << '\n';
            self->finish();
        });
    }

    void finish()
    {
        if (lock_.owns()) {
            std::cout << "done\n";  // the second half of the work
        }
        locks_.async_release(std::move(lock_),
                             [self = shared_from_this()](auto error, auto result) {
                                 if (!error && result == redlock::release_result::released) {
                                     std::cout << "released\n";
                                 }
                                 self->close();
                             });
    }

    // The client keeps the context busy until it is closed.
    void close() { locks_.async_close(asio::detached); }

    redlock::client& locks_;
    redlock::lock lock_;
    asio::steady_timer timer_;
    asio::signal_set signals_;
    asio::cancellation_signal called_off_;
};

int main(int argc, char** argv)
try {
    if (argc < 2) {
        std::cerr << "usage: handlers redis://10.0.0.1 redis://10.0.0.2 redis://10.0.0.3\n";
        return 2;
    }
    asio::io_context context;
    redlock::client locks(context, {.nodes = {argv + 1, argv + argc}});
    locks.async_run(asio::detached);
    std::make_shared<job>(context, locks)->start();
    context.run();
} catch (const std::exception& thrown) {  // a wrong URL, for one
    std::cerr << "handlers: " << thrown.what() << '\n';
    return 1;
}
