// A plain implementation of a quorum lock with Boost.Asio's coroutines: a reader and a writer for
// each node, and a coroutine for each worker, which waits for its quorum. No deadline, no
// reconnect, no retry: any surprise ends it.

#include "common/floor_run.hpp"

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <deque>
#include <exception>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace {

namespace asio = boost::asio;
using asio::awaitable;
using asio::use_awaitable;
using namespace redlock::bench;
using clock_type = floor_run::clock;

/// An event that one coroutine waits for. Setting it resumes that coroutine at once.
class event {
public:
    awaitable<void> wait()
    {
        return asio::async_initiate<const asio::use_awaitable_t<>, void()>(
            [this](auto handler) { waiter_ = std::move(handler); }, use_awaitable);
    }

    void set()
    {
        if (waiter_) {
            asio::dispatch(std::move(waiter_));
        }
    }

private:
    asio::any_completion_handler<void()> waiter_;
};

/// One worker's present request to all nodes. It outlives the worker, because late replies still
/// arrive.
struct round {
    std::uint32_t number = 0;
    std::size_t yes = 0;
    std::size_t no = 0;
    bool won = false;
    event decided;
};

/// A round and the number of its question. A reply to an earlier number is late.
struct expectation {
    round* asker;
    std::uint32_t number;
};

struct node {
    explicit node(stream_socket s) : socket(std::move(s)) {}

    stream_socket socket;
    std::string queued;
    std::deque<expectation> expected;
    event wake;
    bool flush_posted = false;
};

class loop {
public:
    explicit loop(floor_run& run) : run_(run), rounds_(run.workers())
    {
        for (auto& socket : run.connect_all(io_)) {
            nodes_.push_back(std::make_unique<node>(std::move(socket)));
        }
    }

    void operator()();

private:
    awaitable<void> read(node& n);
    awaitable<void> write(node& n);
    awaitable<void> work(std::size_t i);
    awaitable<bool> ask_all(round& r, const std::string& command);
    void queue(node& n, const std::string& command);
    void on_reply(expectation e, bool granted);

    floor_run& run_;
    asio::io_context io_{1};
    std::vector<std::unique_ptr<node>> nodes_;
    std::vector<round> rounds_;
    std::size_t active_ = 0;
};

void loop::operator()()
{
    const auto rethrow = [](std::exception_ptr e) {
        if (e) {
            std::rethrow_exception(e);
        }
    };
    run_.start();
    for (auto& n : nodes_) {
        asio::co_spawn(io_, read(*n), rethrow);
        asio::co_spawn(io_, write(*n), rethrow);
    }
    active_ = run_.workers();
    for (std::size_t i = 0; i < run_.workers(); ++i) {
        asio::co_spawn(io_, work(i), rethrow);
    }
    io_.run();
}

awaitable<void> loop::read(node& n)
{
    std::string in;
    for (;;) {
        co_await asio::async_read_until(n.socket, asio::dynamic_buffer(in), "\r\n", use_awaitable);
        std::string_view rest = in;
        for (auto end = rest.find("\r\n"); end != rest.npos; end = rest.find("\r\n")) {
            const auto reply = rest.substr(0, end);
            if (reply.starts_with('-')) {
                throw std::runtime_error("a node says " + std::string(reply));
            }
            const auto e = n.expected.front();
            n.expected.pop_front();
            on_reply(e, reply == "+OK" || reply == ":1");
            rest.remove_prefix(end + 2);
        }
        in.erase(0, in.size() - rest.size());
    }
}

awaitable<void> loop::write(node& n)
{
    std::string writing;
    for (;;) {
        while (n.queued.empty()) {
            co_await n.wake.wait();
        }
        std::swap(writing, n.queued);
        co_await asio::async_write(n.socket, asio::buffer(writing), use_awaitable);
        writing.clear();
    }
}

awaitable<void> loop::work(std::size_t i)
{
    commands text(i);
    auto& r = rounds_[i];
    do {
        text.renew();
        const auto began = clock_type::now();
        if (co_await ask_all(r, text.acquire())) {
            run_.acquired(clock_type::now() - began);
        } else {
            run_.failed();
        }
        if (!co_await ask_all(r, text.release())) {
            run_.failed();
        }
    } while (run_.next_cycle(clock_type::now()));
    ++r.number;
    if (--active_ == 0) {
        io_.stop();
    }
}

awaitable<bool> loop::ask_all(round& r, const std::string& command)
{
    ++r.number;
    r.yes = 0;
    r.no = 0;
    for (auto& n : nodes_) {
        n->expected.push_back({&r, r.number});
        queue(*n, command);
    }
    co_await r.decided.wait();
    co_return r.won;
}

void loop::queue(node& n, const std::string& command)
{
    n.queued += command;
    if (std::exchange(n.flush_posted, true)) {
        return;
    }
    // Runs after all handlers that are ready now, so that everything they queue leaves in one
    // write.
    asio::post(io_, [&n] {
        n.flush_posted = false;
        n.wake.set();
    });
}

void loop::on_reply(expectation e, bool granted)
{
    auto& r = *e.asker;
    if (e.number != r.number) {
        return;
    }
    const bool decided =
        granted ? ++r.yes == run_.quorum() : ++r.no == run_.nodes() - run_.quorum() + 1;
    if (!decided) {
        return;
    }
    r.won = granted;
    r.decided.set();
}

}  // namespace

int main(int argc, char** argv)
{
    try {
        floor_run run(argc, argv, "floor-asio");
        loop turn(run);
        turn();
        run.report();
    } catch (const std::exception& e) {
        std::cerr << "redlock-floor-asio: " << e.what() << '\n';
        return 1;
    }
    return 0;
}
