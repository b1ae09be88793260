#include "chaos/client.hpp"

#include "chaos/mapped.hpp"

#include <redlock/redlock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <atomic>
#include <csignal>
#include <exception>
#include <memory>
#include <random>
#include <stop_token>
#include <thread>
#include <utility>

namespace redlock::chaos {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr auto quiet = asio::as_tuple(asio::use_awaitable);

/// The timeout of an acquire of a worker's own resource.
constexpr auto own_patience = 5s;

reason reason_of(const error_code& e)
{
    if (!e) {
        return reason::none;
    }
    if (e == asio::error::operation_aborted) {
        return reason::cancelled;
    }
    if (e.category() != error_category()) {
        return reason::other;
    }
    switch (static_cast<errc>(e.value())) {
        case errc::contended: return reason::contended;
        case errc::unavailable: return reason::unavailable;
        case errc::expired: return reason::expired;
        case errc::timed_out: return reason::timed_out;
        case errc::lost: return reason::lost;
        case errc::not_held: return reason::not_held;
        case errc::closed:
        case errc::overloaded:
        case errc::too_many_waiters:
        case errc::no_entropy:
        case errc::held_in_part:
        case errc::no_fencing_token:
        case errc::invalid_resource:
        case errc::invalid_ttl:
        case errc::invalid_timeout:
        case errc::invalid_max_attempts:
        case errc::invalid_max_outage:
        case errc::invalid_label:
        case errc::invalid_min_validity:
        case errc::invalid_max_hold:
        case errc::duplicate_resource:
        case errc::invalid_owner_token:
        case errc::invalid_config: break;
    }
    return reason::other;
}

config config_of(const client_options& o)
{
    config c;
    c.nodes = o.nodes;
    c.node_timeout = o.node_timeout;
    c.drift_factor = o.drift_factor;
    c.connect_timeout = 1s;
    // Clients recover soon after a fault, so that a run has many faults.
    c.reconnect_backoff_max = 200ms;
    c.stall_timeout = 600ms;
    c.ping_interval = 500ms;
    c.backoff_max = 60ms;
    c.thread_safe = o.threads > 1;
    if (o.guarded) {
        c.restart_guard = guard_config{.max_ttl = 2 * o.ttl};
    }
    return c;
}

/// Records when the process was suspended, whether it was stopped or the machine had no time for
/// it. Its thread only reads the clock.
class pulse {
public:
    explicit pulse(const history_file& record)
        : thread_([&record](const std::stop_token& end) { beat(record, end); })
    {}

private:
    static constexpr auto interval = 10ms;
    static constexpr nanos still = 100'000'000;

    static void beat(const history_file& to, const std::stop_token& end)
    {
        nanos last = now();
        while (!end.stop_requested()) {
            std::this_thread::sleep_for(interval);
            const nanos at = now();
            if (at - last > still) {
                to.add({.at = at, .value = at - last, .what = event::stood_still});
            }
            last = at;
        }
    }

    std::jthread thread_;
};

/// Shared by the workers of a process.
struct shop {
    explicit shop(const client_options& o)
        : options(o),
          io(static_cast<int>(o.threads)),
          locks(io, config_of(o)),
          history(o.place.history(o.process)),
          wall(o.place.board(o.process)),
          own_set(o.place.set(o.own))
    {
        for (unsigned i = 0; i < o.shared; ++i) {
            sets.push_back(std::make_unique<mapped<shared_set>>(o.place.set(i)));
        }
    }

    [[nodiscard]] shared_set& set(unsigned resource) const
    {
        return resource < sets.size() ? **sets[resource] : *own_set;
    }

    const client_options& options;
    asio::io_context io;
    redlock::client locks;
    history_file history;
    mapped<board> wall;
    mapped<shared_set> own_set;
    std::vector<std::unique_ptr<mapped<shared_set>>> sets;
    std::atomic<bool> stopping{false};
    std::atomic<unsigned> working{0};
};

class worker {
public:
    worker(shop& s, unsigned index)
        : shop_(s),
          index_(index),
          executor_(asio::make_strand(s.io)),
          timer_(executor_),
          random_(s.options.seed + 1'000 * s.options.process + index)
    {}

    [[nodiscard]] const asio::any_io_executor& executor() const { return executor_; }

    asio::awaitable<void> run()
    {
        while (!shop_.stopping) {
            resource_ = index_ == 0 ? shop_.options.own : (index_ - 1) % shop_.options.shared;
            auto held = co_await take();
            if (held) {
                co_await update(held);
                co_await give_back(std::move(held));
            }
            co_await rest(std::chrono::microseconds(500 + below(index_ == 0 ? 9'500 : 1'500)));
        }
    }

private:
    unsigned below(unsigned bound)
    {
        return std::uniform_int_distribution<unsigned>(0, bound - 1)(random_);
    }

    bool one_in(unsigned n) { return below(n) == 0; }

    asio::awaitable<void> rest(std::chrono::nanoseconds time)
    {
        timer_.expires_after(time);
        co_await timer_.async_wait(quiet);
    }

    void note(event what, std::int64_t value = 0, reason why = reason::none)
    {
        shop_.history.add({now(), value, static_cast<std::uint16_t>(index_),
                           static_cast<std::uint16_t>(resource_), what, why});
    }

    std::chrono::milliseconds some_ttl()
    {
        const auto least = shop_.options.ttl;
        return least + std::chrono::milliseconds(below(static_cast<unsigned>(least.count()) + 1));
    }

    /// The longest time of an operation: its timeout plus a node timeout.
    [[nodiscard]] nanos longest(std::chrono::milliseconds deadline = {}) const
    {
        return std::chrono::nanoseconds(deadline + shop_.options.node_timeout).count();
    }

    static nanos end_of(const lock& held) { return held.valid_until().time_since_epoch().count(); }

    asio::awaitable<lock> take()
    {
        acquire_options wanted{.ttl = some_ttl(),
                               .timeout = index_ == 0 ? own_patience : shop_.options.wait};
        note(event::acquire_begins, longest(wanted.timeout));
        is_kept_ = !shop_.options.heedless && one_in(4);
        if (is_kept_) {
            wanted.keep_alive.emplace();
        }
        const bool impatient = index_ != 0 && one_in(16);
        if (impatient) {
            timer_.expires_after(std::chrono::microseconds(below(10'000)));
            timer_.async_wait([this](const error_code& e) {
                if (!e) {
                    enough_.emit(asio::cancellation_type::terminal);
                }
            });
        }
        const auto name = resource_name(resource_);
        auto [error, held] = co_await shop_.locks.async_acquire(
            name, wanted, asio::bind_cancellation_slot(enough_.slot(), quiet));
        timer_.cancel();
        if (error) {
            note(event::not_acquired, 0, reason_of(error));
        } else {
            note(event::token, static_cast<std::int64_t>(held.fencing_token()));
            told_end_ = end_of(held);
            note(event::acquired, told_end_);
            shop_.wall->holds_shared[index_] = index_ != 0 ? 1 : 0;
        }
        co_return std::move(held);
    }

    asio::awaitable<void> update(lock& held)
    {
        auto& set = shop_.set(resource_);
        note(event::reads);
        const auto size = set.size.load();
        if (const auto most = shop_.options.hold.count(); most != 0) {
            co_await rest(std::chrono::microseconds(below(static_cast<unsigned>(most) * 1'000)));
        }
        const bool overstays =
            !shop_.options.heedless && index_ != 0 && one_in(is_kept_ ? 10 : 100);
        if ((overstays && !is_kept_) || one_in(4)) {
            co_await extend(held);
        }
        if (overstays) {
            // Other workers then take over an abandoned lock. A kept-alive lock must be renewed
            // meanwhile.
            co_await rest(held.remaining() + std::chrono::milliseconds(below(50)));
        }
        if (is_kept_ && end_of(held) > told_end_) {
            note(event::renewed, end_of(held));
        }
        write(held, set, size);
    }

    asio::awaitable<void> extend(lock& held)
    {
        note(event::extend_begins, longest());
        const auto [error] = co_await shop_.locks.async_extend(held, some_ttl(), quiet);
        if (error) {
            note(event::not_extended, 0, reason_of(error));
        } else {
            told_end_ = end_of(held);
            note(event::extended, told_end_);
        }
    }

    /// The step that needs the lock. The board shows it, since only the margin protects against a
    /// pause between the check and the end of the write.
    void write(const lock& held, shared_set& set, std::uint64_t size)
    {
        auto& in_step = shop_.wall->in_step[index_];
        in_step = 1;
        const bool may = shop_.options.heedless || held.remaining() > shop_.options.ttl / 5;
        if (may && size < shared_set::capacity) {
            const auto element = (std::uint64_t{shop_.options.process} << 44) |
                                 (std::uint64_t{index_} << 36) | ++updates_;
            set.elements[size] = element;
            set.size = size + 1;
            const bool late = !held.owns();
            note(late ? event::wrote_late : event::wrote, static_cast<std::int64_t>(element));
        } else {
            note(event::refrained);
        }
        in_step = 0;
    }

    asio::awaitable<void> give_back(lock held)
    {
        note(event::gives_back, longest());
        shop_.wall->holds_shared[index_] = 0;
        reason why = reason::none;
        if (one_in(8)) {
            held = lock();  // in the background
        } else {
            const auto [error, found] = co_await shop_.locks.async_release(std::move(held), quiet);
            why = error ? reason_of(error)
                        : (found == release_result::not_held ? reason::not_held : reason::none);
        }
        note(event::given_back, 0, why);
    }

    shop& shop_;
    unsigned index_;
    asio::any_io_executor executor_;
    asio::steady_timer timer_;
    asio::cancellation_signal enough_;
    std::mt19937_64 random_;
    unsigned resource_ = 0;
    bool is_kept_ = false;
    /// The end of the validity in the last record.
    nanos told_end_ = 0;
    std::uint64_t updates_ = 0;
};

/// Shows how many nodes are connected and have a vote, until the last worker has ended. Then closes
/// the client.
asio::awaitable<void> keep(shop& s)
{
    asio::steady_timer timer(co_await asio::this_coro::executor);
    while (s.working != 0) {
        const stats now = s.locks.stats();
        s.wall->nodes_voting = static_cast<std::uint32_t>(now.nodes_ready - now.nodes_quarantined);
        timer.expires_after(5ms);
        co_await timer.async_wait(quiet);
    }
    (void)co_await s.locks.async_close(quiet);
}

/// The director sees an exception in a worker as the end of the process.
void rethrow(const std::exception_ptr& error)
{
    if (error) {
        std::rethrow_exception(error);
    }
}

}  // namespace

std::string resource_name(unsigned resource)
{
    return "chaos/" + std::to_string(resource);
}

int run_client(const client_options& options)
{
    shop s(options);
    const pulse alive(s.history);
    asio::signal_set signals(s.io, SIGTERM);
    signals.async_wait([&](const error_code&, int) { s.stopping = true; });
    std::vector<std::unique_ptr<worker>> workers;
    s.working = options.workers;
    for (unsigned i = 0; i < options.workers; ++i) {
        workers.push_back(std::make_unique<worker>(s, i));
        asio::co_spawn(workers.back()->executor(), workers.back()->run(),
                       [&](const std::exception_ptr& error) {
                           rethrow(error);
                           --s.working;
                       });
    }
    s.locks.async_run(asio::detached);
    asio::co_spawn(s.io, keep(s), [&](const std::exception_ptr& error) {
        rethrow(error);
        signals.cancel();
    });
    std::vector<std::thread> others;
    for (unsigned i = 1; i < options.threads; ++i) {
        others.emplace_back([&] { s.io.run(); });
    }
    s.io.run();
    for (auto& each : others) {
        each.join();
    }
    return 0;
}

}  // namespace redlock::chaos
