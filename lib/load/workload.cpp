#include "load/workload.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <chrono>
#include <exception>
#include <stdexcept>
#include <utility>

namespace redlock::bench {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

constexpr auto patience = 2s;

/// How many of the held locks are acquired at a time: as many as there are workers by default.
/// After more in flight the records of a client would lie further apart.
constexpr std::size_t taken_at_a_time = 64;

void rethrow(const std::exception_ptr& e)
{
    if (e) {
        std::rethrow_exception(e);
    }
}

config with_log(config c, std::string& last_warning)
{
    c.log = [&last_warning, next = std::move(c.log)](log_level level, std::string_view line) {
        if (level >= log_level::warning) {
            last_warning = line;
        }
        if (next) {
            next(level, line);
        }
    };
    return c;
}

}  // namespace

workload::workload(asio::io_context& io, config c, plan p)
    : io_(io),
      nodes_(c.nodes.size()),
      all_(io.get_executor(), with_log(std::move(c), last_warning_), std::move(p)),
      patience_(io)
{}

asio::awaitable<void> workload::connect()
{
    all_.locks.async_run([](error_code) {});
    const auto end = bench_clock::now() + patience;
    asio::steady_timer timer(io_);
    for (;;) {
        const auto ready = stats().nodes_ready;
        const bool late = bench_clock::now() > end;
        if (ready == nodes_ || (late && ready > nodes_ / 2)) {
            co_return;
        }
        if (late) {
            throw boost::system::system_error(errc::unavailable,
                                              "only " + std::to_string(ready) + " of " +
                                                  std::to_string(nodes_) +
                                                  " nodes can be reached: " + last_warning_);
        }
        timer.expires_after(5ms);
        co_await timer.async_wait(asio::use_awaitable);
    }
}

asio::awaitable<void> workload::hold()
{
    held_.reserve(all_.todo.held);
    for (std::size_t i = 0; i < taken_at_a_time; ++i) {
        hold_next();
    }
    asio::steady_timer timer(io_);
    while (held_.size() < all_.todo.held) {
        if (not_held_) {
            throw std::runtime_error("a lock to hold was not acquired: " + not_held_.message());
        }
        timer.expires_after(1ms);
        co_await timer.async_wait(asio::use_awaitable);
    }
}

void workload::hold_next()
{
    if (holding_ == all_.todo.held) {
        return;
    }
    acquire_options o = all_.todo.acquire;
    o.ttl = 1h;
    all_.locks.async_acquire(all_.mark + "held:" + std::to_string(holding_++), o,
                             [this](error_code why, lock l) {
                                 if (why) {
                                     not_held_ = why;
                                     return;
                                 }
                                 held_.push_back(std::move(l));
                                 hold_next();
                             });
}

void workload::start()
{
    all_.active = all_.todo.workers;
    for (std::size_t i = 0; i < all_.todo.workers; ++i) {
        switch (all_.todo.style) {
            case api::callback: workers_.emplace_back(all_, i).take(); break;
            case api::await: asio::co_spawn(io_, work(all_, i), &rethrow); break;
        }
    }
}

void workload::stop()
{
    all_.stopping = true;
    all_.on_all_left = [this] { patience_.cancel(); };
    patience_.expires_after(all_.active == 0 ? 0s : patience);
    patience_.async_wait([this](error_code) { close(); });
}

void workload::close()
{
    all_.locks.async_close([this](error_code) { io_.stop(); });
}

}  // namespace redlock::bench
