#include "load/figures.hpp"
#include "redlock_bench/commands.hpp"
#include "redlock_bench/turns.hpp"

#include <redlock/client.hpp>
#include <redlock/version.hpp>

#include <nlohmann/json.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <array>
#include <chrono>
#include <deque>
#include <exception>
#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>

#include <unistd.h>

namespace redlock::bench {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

std::int64_t now_ns()
{
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               bench_clock::now().time_since_epoch())
        .count();
}

/// The common data of the workers of this process.
struct contest {
    const contender_options& o;
    acquire_options acquire;
    history told;
    bool stopping = false;
};

/// Takes the lock, holds it and releases it, again and again.
class contestant_worker {
public:
    contestant_worker(contest& all, client& locks, std::size_t index)
        : all_(all),
          locks_(locks),
          timer_(locks.get_executor())
    {
        turn_.worker = index;
    }

    void take()
    {
        turn_.called = now_ns();
        try_again();
    }

    /// The time at which it asked for the lock, if it waits for it.
    [[nodiscard]] std::optional<std::int64_t> waits_since() const
    {
        return turn_.granted < turn_.called ? std::optional{turn_.called} : std::nullopt;
    }

private:
    void try_again()
    {
        if (!all_.stopping) {
            locks_.async_acquire(all_.o.resource, all_.acquire,
                                 [this](error_code why, lock l) { on_taken(why, std::move(l)); });
        }
    }

    void on_taken(error_code why, lock l)
    {
        if (why) {
            all_.told.failures += all_.stopping ? 0u : 1u;
            wait(1ms, &contestant_worker::try_again);
            return;
        }
        turn_.granted = now_ns();
        held_ = std::move(l);
        if (all_.o.hold_ms > 0) {
            wait(std::chrono::milliseconds(all_.o.hold_ms), &contestant_worker::give_back);
        } else {
            give_back();
        }
    }

    void give_back()
    {
        turn_.released = now_ns();
        locks_.async_release(std::move(held_), [this](error_code why, release_result) {
            all_.told.failures += why && !all_.stopping ? 1u : 0u;
            all_.told.turns.push_back(turn_);
            take();
        });
    }

    void wait(std::chrono::milliseconds duration, void (contestant_worker::*then)())
    {
        timer_.expires_after(duration);
        timer_.async_wait([this, then](error_code) { (this->*then)(); });
    }

    contest& all_;
    client& locks_;
    turn turn_;
    lock held_;
    asio::steady_timer timer_;
};

/// Waits as other clients do: the delay plus or minus a half.
config config_for(const contender_options& o)
{
    config c;
    c.nodes = o.nodes;
    if (o.delay_ms > 0) {
        c.release_notifications = false;
        c.fair_queue = false;
        c.backoff = [random = std::minstd_rand(std::random_device{}()), delay = o.delay_ms](
                        std::uint32_t, std::chrono::nanoseconds) mutable {
            std::uniform_int_distribution<std::int64_t> any(delay / 2, delay + delay / 2);
            return std::chrono::milliseconds(any(random));
        };
    }
    return c;
}

class contender_run {
public:
    explicit contender_run(const contender_options& o);

    void operator()();

private:
    asio::awaitable<void> script();
    asio::awaitable<void> connect();
    [[nodiscard]] std::uint64_t commands() const;

    const contender_options& o_;
    asio::io_context io_{1};
    contest all_;
    std::deque<client> clients_;
    std::deque<contestant_worker> workers_;
};

contender_run::contender_run(const contender_options& o) : o_(o), all_{o, {}, {}}
{
    all_.acquire.ttl = std::chrono::milliseconds(o.ttl_ms);
    all_.acquire.timeout = 1h;
    all_.acquire.fencing = o.fencing;
    for (std::size_t i = 0; i < o.clients; ++i) {
        clients_.emplace_back(io_.get_executor(), config_for(o));
    }
    for (std::size_t i = 0; i < o.workers; ++i) {
        workers_.emplace_back(all_, clients_[i % o.clients], i);
    }
}

void contender_run::operator()()
{
    asio::co_spawn(io_, script(), [](std::exception_ptr e) {
        if (e) {
            std::rethrow_exception(e);
        }
    });
    io_.run();
}

asio::awaitable<void> contender_run::script()
{
    asio::posix::stream_descriptor input(io_, ::dup(STDIN_FILENO));
    std::array<char, 1> any{};
    co_await connect();
    std::cout << nlohmann::json{{"redlock", version()}} << std::endl;
    co_await asio::async_read(input, asio::buffer(any), asio::use_awaitable);
    const std::uint64_t before = commands();
    for (auto& each : workers_) {
        each.take();
    }
    error_code end;
    co_await asio::async_read(input, asio::buffer(any),
                              asio::redirect_error(asio::use_awaitable, end));
    all_.stopping = true;
    for (const auto& each : workers_) {
        if (const auto since = each.waits_since()) {
            all_.told.waiting.push_back(*since);
        }
    }
    all_.told.commands = commands() - before;
    std::cout << nlohmann::json(all_.told) << std::endl;
    for (auto& each : clients_) {
        co_await each.async_close(asio::use_awaitable);
    }
    io_.stop();
}

asio::awaitable<void> contender_run::connect()
{
    asio::steady_timer timer(io_);
    const auto end = bench_clock::now() + 5s;
    for (auto& each : clients_) {
        each.async_run([](error_code) {});
    }
    for (auto& each : clients_) {
        while (each.stats().nodes_ready < o_.nodes.size()) {
            if (bench_clock::now() > end) {
                throw std::runtime_error("not all nodes can be reached");
            }
            timer.expires_after(5ms);
            co_await timer.async_wait(asio::use_awaitable);
        }
    }
}

std::uint64_t contender_run::commands() const
{
    std::uint64_t sum = 0;
    for (const auto& each : clients_) {
        sum += each.stats().commands;
    }
    return sum;
}

}  // namespace

int contend_alone(const contender_options& o)
{
    contender_run r(o);
    r();
    return 0;
}

}  // namespace redlock::bench
