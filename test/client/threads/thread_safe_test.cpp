#include "client/threads/shared_client.hpp"

#include <redlock/reentrant_owner.hpp>
#include <redlock/with_lock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

using namespace redlock;
using namespace redlock::test;

namespace {

std::vector<std::string> fresh_names(std::size_t count)
{
    std::vector<std::string> names(count);
    std::generate(names.begin(), names.end(), fresh_name);
    return names;
}

/// Locks on their way from one thread to another.
class exchange {
public:
    void put(lock l)
    {
        const std::lock_guard guard(mutex_);
        locks_.push_back(std::move(l));
    }

    [[nodiscard]] lock get()
    {
        const std::lock_guard guard(mutex_);
        lock l;
        if (!locks_.empty()) {
            l = std::move(locks_.front());
            locks_.pop_front();
        }
        return l;
    }

private:
    std::mutex mutex_;
    std::deque<lock> locks_;
};

asio::awaitable<void> cycles(client& locks, std::string name, unsigned count,
                             std::atomic<unsigned>& done)
{
    for (unsigned i = 0; i < count; ++i) {
        lock l = co_await locks.async_acquire(name, long_lease(), asio::use_awaitable);
        co_await locks.async_extend(l, 2 * long_ttl, asio::use_awaitable);
        const inspection seen = co_await locks.async_inspect(name, asio::use_awaitable);
        const bool held = seen.state == lock_state::held && l.owns();
        const auto r = co_await locks.async_release(std::move(l), asio::use_awaitable);
        done += held && r == release_result::released ? 1U : 0U;
    }
}

}  // namespace

TEST_CASE("coroutines in many threads share a client", "[threads]")
{
    std::atomic<unsigned> done{0};
    shared_client c;
    constexpr unsigned workers = 24;
    constexpr unsigned rounds = 10;
    std::vector<std::future<void>> futures;
    for (unsigned i = 0; i < workers; ++i) {
        futures.push_back(
            asio::co_spawn(c.pool, cycles(*c.locks, fresh_name(), rounds, done), asio::use_future));
    }
    for (auto& f : futures) {
        f.get();
    }
    CHECK(done == workers * rounds);
    c.close();
    const stats s = c.locks->stats();
    CHECK(s.acquired == workers * rounds);
    CHECK(s.released == workers * rounds);
    CHECK(s.in_flight == 0);
    CHECK(s.leases == 0);
}

TEST_CASE("threads that do not run the context can use the client", "[threads]")
{
    std::atomic<unsigned> good{0};
    shared_client c;
    in_threads([&](unsigned) {
        const std::string name = fresh_name();
        for (int i = 0; i < 20; ++i) {
            lock l = c.locks->async_acquire(name, long_lease(), asio::use_future).get();
            const bool owns = l.owns() && l.resource() == name && l.granted_by() >= 2;
            static_cast<void>(c.locks->stats());
            const auto r = c.locks->async_release(std::move(l), asio::use_future).get();
            good += owns && r == release_result::released ? 1U : 0U;
        }
    });
    CHECK(good == thread_count * 20);
    c.close();
}

TEST_CASE("a lock excludes many threads that want one name", "[threads]")
{
    const std::string name = fresh_name();
    shared_client c;
    std::atomic<int> inside{0};
    std::atomic<unsigned> together{0};
    in_threads([&](unsigned) {
        for (int i = 0; i < 5; ++i) {
            lock l = c.locks->async_acquire(name, long_lease(), asio::use_future).get();
            together += ++inside > 1 ? 1U : 0U;
            std::this_thread::yield();
            --inside;
            c.locks->async_release(std::move(l), asio::use_future).get();
        }
    });
    CHECK(together == 0);
    c.close();
}

TEST_CASE("a lock can move to another thread that uses and drops it", "[threads]")
{
    const auto names = fresh_names(thread_count * 20);
    shared_client c;
    exchange locks;
    std::atomic<unsigned> lost{0};
    in_threads([&](unsigned thread) {
        for (unsigned i = 0; i < 20; ++i) {
            const std::string& name = names[thread * 20 + i];
            locks.put(c.locks->async_acquire(name, long_lease(), asio::use_future).get());
            lock other = locks.get();
            if (other) {
                lost += other.owns() && other.owner_token().size() == 40 ? 0U : 1U;
                c.locks->async_extend(other, long_ttl, asio::detached);
                // The thread drops the lock, perhaps while it is being extended.
            }
        }
    });
    while (lock left = locks.get()) {
        CHECK(left.owns());
    }
    CHECK(lost == 0);
    c.close();
    for (const std::string& name : names) {
        CHECK(nodes().count(name) == 0);
    }
    CHECK(c.locks->stats().dropped == names.size());
}

TEST_CASE("a thread cancels its operations while the client works in other threads", "[threads]")
{
    const auto names = fresh_names(thread_count * 30);
    shared_client c;
    ledger handlers;
    std::atomic<unsigned> other_errors{0};
    in_threads([&](unsigned thread) {
        // The handlers, and the signals they are bound to, belong to this thread.
        asio::io_context own{1};
        for (unsigned i = 0; i < 30; ++i) {
            const std::string& name = names[thread * 30 + i];
            const auto note = [&](error_code ec) {
                other_errors += !ec || ec == asio::error::operation_aborted ? 0U : 1U;
            };
            asio::cancellation_signal signal;
            const auto bound = [&](auto handler) {
                return asio::bind_executor(
                    own.get_executor(),
                    asio::bind_cancellation_slot(signal.slot(), std::move(handler)));
            };
            lock held;
            if (i % 3 != 0) {
                held = c.locks->async_acquire(name, long_lease(), asio::use_future).get();
            }
            switch (i % 3) {
                case 0:
                    c.locks->async_acquire(
                        name, long_lease(),
                        bound(once(handlers, [&](error_code ec, lock) { note(ec); })));
                    break;
                case 1: c.locks->async_extend(held, long_ttl, bound(once(handlers, note))); break;
                default: held.async_wait_lost(bound(once(handlers, note)));
            }
            for (unsigned k = 0; k < i; ++k) {
                std::this_thread::yield();
            }
            signal.emit(asio::cancellation_type::terminal);
            own.restart();
            own.run();
        }
    });
    CHECK(handlers.called == names.size());
    CHECK(handlers.called_again == 0);
    CHECK(other_errors == 0);
    c.close();
    for (const std::string& name : names) {
        CHECK(nodes().count(name) == 0);
    }
}

TEST_CASE("a client is closed while all threads use it", "[threads]")
{
    ledger handlers;
    std::atomic<unsigned> begun{0};
    std::atomic<unsigned> unexpected{0};
    {
        shared_client c;
        in_threads([&](unsigned thread) {
            for (unsigned i = 0; i < 50; ++i) {
                ++begun;
                c.locks->async_acquire(fresh_name(), long_lease(),
                                       once(handlers, [&](error_code ec, lock) {
                                           unexpected += !ec || ec == errc::closed ? 0U : 1U;
                                       }));
                if (thread == 0 && i == 25) {
                    c.locks->async_close(asio::detached);
                }
            }
        });
        c.run_ended.get();
    }
    CHECK(handlers.called == begun);
    CHECK(handlers.called_again == 0);
    CHECK(unexpected == 0);
}

TEST_CASE("a client is destroyed while its operations complete in other threads", "[threads]")
{
    acquire_options kept = long_lease();
    kept.keep_alive.emplace();
    for (int i = 0; i < 10; ++i) {
        ledger handlers;
        {
            shared_client c;
            std::vector<lock> held;
            for (int k = 0; k < 10; ++k) {
                held.push_back(c.locks->async_acquire(fresh_name(), kept, asio::use_future).get());
            }
            for (int k = 0; k < 20; ++k) {
                c.locks->async_acquire(fresh_name(), long_lease(),
                                       once(handlers, [](error_code, lock) {}));
            }
            for (std::size_t k = 0; k < 5; ++k) {
                held[k].async_wait_lost(once(handlers, [](error_code) {}));
                c.locks->async_extend(held[k], long_ttl, once(handlers, [](error_code) {}));
                c.locks->async_release(std::move(held[k + 5]),
                                       once(handlers, [](error_code, release_result) {}));
            }
            for (int k = 0; k < i; ++k) {
                std::this_thread::yield();
            }
            c.locks.reset();
        }
        CHECK(handlers.called == 35);
        CHECK(handlers.destroyed_uncalled == 0);
    }
}

TEST_CASE("a handler may wait for another one that completes at the same time", "[threads]")
{
    shared_client c;
    // Most pairs complete in one turn of the client.
    for (unsigned i = 0; i < 200; ++i) {
        std::promise<void> second;
        std::promise<std::future_status> first;
        c.locks->async_acquire(
            "", [&](error_code, lock) { first.set_value(second.get_future().wait_for(patience)); });
        c.locks->async_acquire("", [&](error_code, lock) { second.set_value(); });
        REQUIRE(first.get_future().get() == std::future_status::ready);
    }
    c.close();
}

TEST_CASE("a client on a strand serves many threads without thread_safe", "[threads]")
{
    asio::thread_pool pool(thread_count);
    const auto strand = asio::make_strand(pool);
    client locks(strand, shared_config());
    std::atomic<unsigned> done{0};
    std::vector<std::future<void>> futures;
    asio::post(strand, [&] { locks.async_run(asio::detached); });
    for (int i = 0; i < 8; ++i) {
        futures.push_back(
            asio::co_spawn(strand, cycles(locks, fresh_name(), 5, done), asio::use_future));
    }
    for (auto& f : futures) {
        f.get();
    }
    CHECK(done == 40);
    asio::post(strand, [&] { locks.async_close(asio::detached); });
    pool.join();
}

TEST_CASE("threads share kept locks and their reentrant owner and their losses", "[threads]")
{
    std::atomic<unsigned> told{0};
    config how = safe();
    how.node_timeout = brief_timeout;
    how.on_renewal = [&](const renewal& r) { told += r.outcome == renewal_outcome::renewed; };
    shared_client c(how);
    acquire_options o = long_lease();
    o.ttl = brief_ttl;
    o.keep_alive.emplace();
    const redlock::reentrant_owner someone;
    o.reentrant_owner = &someone;
    const std::string name = fresh_name();
    std::atomic<unsigned> owned{0};
    std::atomic<unsigned> ended{0};
    std::atomic<unsigned> nested{0};
    std::atomic<unsigned> completed{0};
    // All threads hold one lock, and ask about it while it is renewed.
    in_threads([&](unsigned) {
        lock l = c.locks->async_acquire(name, o, asio::use_future).get();
        l.async_wait_lost([&](error_code ec) { ended += ec == errc::not_held; });
        bool always = true;
        const auto end = std::chrono::steady_clock::now() + patience;
        while (told < 2 && std::chrono::steady_clock::now() < end) {
            always = always && l.owns() && l.remaining() <= brief_ttl;
        }
        owned += always;
        const auto body = [&](lock& within) -> asio::awaitable<bool> { co_return within.owns(); };
        completed +=
            with_lock(*c.locks, name, o, body, asio::use_future).get().value.value_or(false);
        const auto r = c.locks->async_release(std::move(l), asio::use_future).get();
        nested += r == release_result::still_held;
    });
    CHECK(told >= 2);
    CHECK(owned == thread_count);
    CHECK(completed == thread_count);
    CHECK(nested == thread_count - 1);
    c.close();
    CHECK(ended == thread_count);
}

TEST_CASE("one thread detaches a lock while others hold it", "[threads]")
{
    shared_client c;
    for (int i = 0; i < 20; ++i) {
        acquire_options o = long_lease();
        const redlock::reentrant_owner someone;
        o.reentrant_owner = &someone;
        const std::string name = fresh_name();
        std::array<lock, thread_count> held;
        for (lock& l : held) {
            l = c.locks->async_acquire(name, o, asio::use_future).get();
        }
        std::atomic<unsigned> given{0};
        in_threads([&](unsigned t) {
            const std::string token = std::move(held[t]).detach();
            given += token.empty() ? 0U : 1U;
        });
        CHECK(given == 1);
    }
    c.close();
}
