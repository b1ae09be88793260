#include "client/scopes.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

using namespace redlock;
using namespace redlock::test;

namespace {

/// Asks the nodes until a with_lock that doesn't wait for its body would have ended. Such a
/// with_lock waits for one answer of each node at most, and a node answers in turn.
asio::awaitable<void> outlast_end(scene& s)
{
    for (int i = 0; i < 3; ++i) {
        (void)co_await s.locks->async_inspect(s.name, asio::use_awaitable);
    }
}

}  // namespace

TEST_CASE("a body runs under its lock as long as it needs and with_lock returns its value",
          "[with_lock]")
{
    running_scene s(brisk_config());
    running_scope<int> scope(
        s,
        [&](lock& l) -> asio::awaitable<int> {
            co_await outlast_ttl(s);
            CHECK(l.owns());
            CHECK(l.resource() == s.name);
            CHECK(nodes().count(s.name) >= 2);
            co_return 42;
        },
        brief());
    auto& r = scope.end();
    CHECK(r);
    CHECK(r.status == with_lock_status::completed);
    CHECK_FALSE(r.error);
    CHECK_FALSE(r.failure);
    CHECK(std::move(r).get() == 42);
    // The lock was released before the handler got the end.
    CHECK(nodes().count(s.name) <= 1);
    CHECK(s.keys_become(0, s.name));
}

TEST_CASE("a with_lock ends when a majority has released its lock", "[with_lock]")
{
    config c = either_kind();
    c.ping_interval = 0ms;
    running_scene s(c);
    // After this loop each of the three nodes has only the release left to answer.
    const auto body = [&](lock&) -> asio::awaitable<void> {
        while (s.locks->stats().unanswered > 0) {
            co_await sleep(1ms);
        }
    };
    std::optional<std::size_t> unanswered;
    with_lock(*s.locks, s.name, long_lease(), body,
              [&](const with_lock_result<void>&) { unanswered = s.locks->stats().unanswered; });
    REQUIRE(run_until(s.io, [&] { return unanswered.has_value(); }));
    CHECK(*unanswered <= 1);
}

TEST_CASE("a with_lock whose body throws fails and releases the lock", "[with_lock]")
{
    running_scene s(brisk_config());
    const bool at_once = GENERATE(false, true);
    running_scope<void> scope(s, [&](lock&) -> asio::awaitable<void> {
        if (!at_once) {
            co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
        }
        throw std::runtime_error("of the body");
    });
    auto& r = scope.end();
    CHECK_FALSE(r);
    CHECK(r.status == with_lock_status::failed);
    CHECK_FALSE(r.error);
    CHECK_THROWS_AS(std::move(r).get(), std::runtime_error);
    CHECK(s.keys_become(0, s.name));
}

TEST_CASE("a with_lock whose body throws before it becomes a coroutine fails too", "[with_lock]")
{
    running_scene s(brisk_config());
    running_scope<void> scope(s, [](lock&) -> asio::awaitable<void> {
        throw std::runtime_error("before the first step");
    });
    CHECK(scope.end().status == with_lock_status::failed);
    CHECK(s.keys_become(0, s.name));
}

TEST_CASE("a body whose lock is lost is cancelled and with_lock reports the loss", "[with_lock]")
{
    running_scene s(brisk_config());
    std::optional<error_code> seen;
    bool ended = false;
    enum class manner { heeds, swallows, throws_another };
    const auto how = GENERATE(manner::heeds, manner::swallows, manner::throws_another);
    running_scope<int> scope(
        s,
        [&](lock& l) -> asio::awaitable<int> {
            delete_keys(s.name);
            const auto end = std::make_shared<bool*>(&ended);
            try {
                co_await sleep(never);
            } catch (const boost::system::system_error& e) {
                seen = e.code();
            }
            CHECK_FALSE(l.owns());
            ended = true;
            if (how == manner::heeds) {
                throw boost::system::system_error(asio::error::operation_aborted);
            }
            if (how == manner::throws_another) {
                throw std::runtime_error("of the body");
            }
            co_return 7;
        },
        brief());
    auto& r = scope.end();
    CHECK(ended);
    CHECK(seen == make_error_code(asio::error::operation_aborted));
    CHECK(r.status == with_lock_status::lost);
    CHECK(r.error == errc::lost);
    CHECK(static_cast<bool>(r.failure) == (how != manner::swallows));
    CHECK(r.value.has_value() == (how == manner::swallows));
    CHECK_THROWS_AS(std::move(r).get(), boost::system::system_error);
    CHECK(s.keys_become(0, s.name));
}

TEST_CASE("a with_lock waits for a body that ignores the loss and reports the lock as lost",
          "[with_lock]")
{
    running_scene s(brisk_config());
    bool ended = false;
    running_scope<void> scope(
        s,
        [&](lock& l) -> asio::awaitable<void> {
            co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
            delete_keys(s.name);
            (void)co_await l.async_wait_lost(asio::as_tuple(asio::use_awaitable));
            co_await outlast_end(s);
            ended = true;
        },
        brief());
    CHECK(scope.end().status == with_lock_status::lost);
    CHECK(ended);
}

TEST_CASE("a body whose lock ends with another hold of its reentrant owner is cancelled",
          "[with_lock][owner]")
{
    config c = brisk_config();
    c.thread_safe = GENERATE(false, true);
    running_scene s(c);
    acquire_options o = long_lease();
    const redlock::reentrant_owner someone;
    o.reentrant_owner = &someone;
    lock outer = s.take(s.name, o);
    std::optional<error_code> seen;
    running_scope<void> scope(
        s,
        [&](lock&) -> asio::awaitable<void> {
            CHECK_FALSE(std::move(outer).detach().empty());
            try {
                co_await sleep(never);
            } catch (const boost::system::system_error& e) {
                seen = e.code();
            }
        },
        o);
    CHECK(scope.end().status == with_lock_status::lost);
    CHECK(scope.end().error == errc::lost);
    CHECK(seen == make_error_code(asio::error::operation_aborted));
    delete_keys(s.name);
}

TEST_CASE("a with_lock that gets no lock does not start its body", "[with_lock]")
{
    running_scene s(brisk_config());
    const lock held = s.take(s.name);
    acquire_options o = long_lease();
    o.timeout = 0ms;
    running_scope<void> scope(
        s,
        [&](lock&) -> asio::awaitable<void> {
            FAIL("it runs");
            co_return;
        },
        o);
    CHECK(scope.end().status == with_lock_status::not_acquired);
    CHECK(scope.end().error == errc::contended);
}

TEST_CASE("a body may release its lock itself", "[with_lock]")
{
    running_scene s(brisk_config());
    running_scope<void> scope(s, [&](lock& l) -> asio::awaitable<void> {
        const auto how = co_await s.locks->async_release(std::move(l), asio::use_awaitable);
        CHECK(how == release_result::released);
        co_await outlast_end(s);
    });
    CHECK(scope.end().status == with_lock_status::completed);
}

TEST_CASE("a client that is closed or destroyed ends its with_locks", "[with_lock]")
{
    running_scene s(brisk_config());
    bool begun = false;
    running_scope<void> scope(s, [&](lock&) -> asio::awaitable<void> {
        begun = true;
        co_await sleep(never);
    });
    REQUIRE(run_until(s.io, [&] { return begun; }));
    if (GENERATE(false, true)) {
        s.locks.reset();
    } else {
        s.locks->async_close(asio::detached);
    }
    CHECK(scope.end().status == with_lock_status::lost);
    CHECK(scope.end().error == errc::closed);
    CHECK(run_out(s.io));
}

TEST_CASE("p34: a context that is destroyed within a with_lock destroys body and handler",
          "[with_lock][pitfall][p34]")
{
    ledger handlers;
    const auto alive = std::make_shared<int>(1);
    {
        running_scene s(brisk_config());
        bool begun = false;
        with_lock(
            *s.locks, s.name, brief(),
            [&begun, alive](lock&) -> asio::awaitable<void> {
                begun = true;
                co_await sleep(never);
            },
            once(handlers, [](const with_lock_result<void>&) {}));
        REQUIRE(run_until(s.io, [&] { return begun; }));
    }
    CHECK(handlers.called == 0);
    CHECK(handlers.destroyed_uncalled == 1);
    CHECK(alive.use_count() == 1);
}

TEST_CASE("a body runs on its handler's executor and never concurrently with its own end",
          "[with_lock]")
{
    config c = brisk_config();
    std::atomic<bool> is_renewed{false};
    c.on_renewal = [&](const renewal&) { is_renewed = true; };
    running_scene s(c);
    asio::thread_pool pool(2);
    auto future = with_lock(
        *s.locks, s.name, brief(),
        [&](lock&) -> asio::awaitable<bool> {
            while (!is_renewed) {
                co_await sleep(10ms);
            }
            co_return pool.get_executor().running_in_this_thread();
        },
        asio::bind_executor(pool, asio::use_future));
    REQUIRE(run_until(s.io, [&] { return future.wait_for(0s) == std::future_status::ready; }));
    CHECK(future.get().value == true);
    pool.join();
}

TEST_CASE("no part of a with_lock runs after its end", "[with_lock]")
{
    running_scene s(brisk_config());
    asio::io_context of_body;
    lock kept;
    bool is_over = false;
    with_lock(
        *s.locks, s.name, brief(),
        [&](lock& l) -> asio::awaitable<void> {
            kept = std::move(l);  // and the lock may live on
            co_return;
        },
        asio::bind_executor(of_body, [&](const with_lock_result<void>& r) {
            CHECK(r.status == with_lock_status::completed);
            is_over = true;
        }));
    REQUIRE(run_until(s.io, [&] {
        of_body.poll();
        of_body.restart();
        return is_over;
    }));
    // Its context may end with it.
    bool is_lost = false;
    kept.async_wait_lost([&](error_code) { is_lost = true; });
    delete_keys(s.name);
    REQUIRE(run_until(s.io, [&] { return is_lost; }));
    (void)s.io.poll();
    CHECK(of_body.poll() == 0);
}

TEST_CASE("a body can be made of handlers", "[with_lock]")
{
    running_scene s(brisk_config());
    asio::steady_timer timer(s.io);
    std::optional<lock_scope> kept;
    std::optional<error_code> seen;
    const auto run = [&](auto start, const acquire_options& o = long_lease()) {
        return std::make_unique<running_scope<void>>(s, std::move(start), o);
    };
    SECTION("done")
    {
        std::function<void(lock_scope)> work = [&](lock_scope h) {
            CHECK(h.held().owns());
            if (s.locks->stats().renewed >= more_than_a_ttl) {
                h.done();
                return;
            }
            const auto on = h.get_executor();
            timer.expires_after(10ms);
            timer.async_wait(asio::bind_executor(
                on, [&work, h = std::move(h)](error_code) mutable { work(std::move(h)); }));
        };
        auto scope = run([&](lock_scope h) { work(std::move(h)); }, brief());
        CHECK(scope->end().status == with_lock_status::completed);
    }
    SECTION("at once")
    {
        auto scope = run([](lock_scope h) { h.done(); });
        CHECK(scope->end().status == with_lock_status::completed);
    }
    SECTION("failed")
    {
        auto scope = run([](lock_scope h) { h.done(asio::error::eof); });
        CHECK(scope->end().status == with_lock_status::failed);
        CHECK_THROWS_AS(std::move(scope->end()).get(), boost::system::system_error);
    }
    SECTION("thrown")
    {
        auto scope = run([](lock_scope) { throw std::runtime_error("of the start"); });
        CHECK(scope->end().status == with_lock_status::failed);
        CHECK_THROWS_AS(std::move(scope->end()).get(), std::runtime_error);
    }
    SECTION("forgotten")
    {
        auto scope = run([](const lock_scope&) {});
        CHECK(scope->end().status == with_lock_status::failed);
    }
    SECTION("done twice and asked after that")
    {
        auto scope = run([](lock_scope h) {
            CHECK_FALSE(h.stopped());
            h.done();
            h.done(make_error_code(asio::error::eof));
            CHECK_FALSE(h.slot().is_connected());
            CHECK_FALSE(h.stopped());
        });
        CHECK(scope->end().status == with_lock_status::completed);
    }
    SECTION("lost between two operations")
    {
        std::function<void(lock_scope)> next = [&](lock_scope h) {
            if (h.stopped()) {
                h.done(make_error_code(asio::error::operation_aborted));
                return;
            }
            // The body is never running when a signal is emitted.
            const auto ex = h.get_executor();
            asio::post(ex, [&next, h = std::move(h)]() mutable { next(std::move(h)); });
        };
        auto scope = run(
            [&](lock_scope h) {
                delete_keys(s.name);
                next(std::move(h));
            },
            brief());
        CHECK(scope->end().status == with_lock_status::lost);
    }
    SECTION("lost")
    {
        auto scope = run(
            [&](lock_scope h) {
                delete_keys(s.name);
                timer.expires_after(never);
                const auto slot = h.slot();
                timer.async_wait(asio::bind_cancellation_slot(
                    slot, [&, h = std::move(h)](error_code ec) mutable {
                        seen = ec;
                        h.done(ec);
                    }));
            },
            brief());
        CHECK(scope->end().status == with_lock_status::lost);
        CHECK(seen == make_error_code(asio::error::operation_aborted));
    }
    CHECK(s.keys_become(0, s.name));
}

TEST_CASE("a body runs under a lock of several resources and so does a with_lock within it",
          "[with_lock][group][owner]")
{
    running_scene s(brisk_config());
    acquire_options o = long_lease();
    const redlock::reentrant_owner someone;
    o.reentrant_owner = &someone;
    const std::vector<std::string> both{s.name, s.name + "/2"};
    bool was_within = false;
    std::optional<with_lock_result<int>> ended;
    const auto inner = [&](lock& held) -> asio::awaitable<void> {
        was_within = held.owns() && held.resource() == both[1];
        co_return;
    };
    const auto outer = [&](lock& held) -> asio::awaitable<int> {
        const auto before = s.locks->stats().in_flight;
        for (int i = 0; i < 3; ++i) {
            const auto within =
                co_await with_lock(*s.locks, both[1], o, inner, asio::use_awaitable);
            CHECK(within.status == with_lock_status::completed);
        }
        // No part of a with_lock runs after its end. The count is a turn old.
        CHECK(s.locks->stats().in_flight <= before + 1);
        co_return held.owns() ? static_cast<int>(held.resources().size()) : 0;
    };
    with_lock(*s.locks, {both[0], both[1]}, o, outer,
              [&](with_lock_result<int> r) { ended.emplace(std::move(r)); });
    REQUIRE(run_until(s.io, [&] { return ended.has_value(); }));
    CHECK(ended->status == with_lock_status::completed);
    CHECK(ended->value == 2);
    CHECK(was_within);
    for (const std::string& name : both) {
        CHECK(s.keys_become(0, name));
    }
}
