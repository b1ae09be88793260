#include "client/operations.hpp"
#include "support/allocation_count.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <chrono>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::test;

namespace {

acquire_options kept(const keep_alive& how = {})
{
    acquire_options o = long_lease();
    o.ttl = brief_ttl;
    o.keep_alive = how;
    return o;
}

struct keeping_scene : scene {
    explicit keeping_scene(config c = brisk_config()) : scene(telling(std::move(c))) { start(); }

    config telling(config c)
    {
        c.on_renewal = [this](const renewal& r) {
            told.push_back(r.outcome);
            ++told_of[std::string(r.resource)];
            if (act) {
                act(r);
            }
        };
        return c;
    }

    lock keep(const keep_alive& how = {}) { return keep(name, how); }

    lock keep(const std::string& resource, const keep_alive& how = {})
    {
        std::optional<error_code> done;
        lock taken;
        locks->async_acquire(resource, kept(how), [&](error_code ec, lock l) {
            done = ec;
            taken = std::move(l);
        });
        REQUIRE(run_until(io, [&] { return done.has_value(); }));
        REQUIRE_FALSE(*done);
        return taken;
    }

    [[nodiscard]] bool await_renewals(std::size_t more)
    {
        const std::size_t before = told.size();
        return run_until(io, [&] { return told.size() >= before + more; });
    }

    std::vector<renewal_outcome> told;
    std::map<std::string, std::size_t> told_of;
    std::function<void(const renewal&)> act;
};

/// Waits for the end of a lock. The results are stored separately, where they may outlive this
/// object, because handlers may be destroyed late.
struct waiting {
    struct notes {
        ledger handlers;
        std::optional<error_code> ended;
    };

    explicit waiting(lock& l)
    {
        l.async_wait_lost(once(handlers, [told = told](error_code ec) { told->ended = ec; }));
    }

    const std::shared_ptr<notes> told = std::make_shared<notes>();
    ledger& handlers = told->handlers;
    std::optional<error_code>& ended = told->ended;
};

}  // namespace

TEST_CASE("a kept lock can be moved", "[keep_alive]")
{
    keeping_scene s;
    lock first = s.keep();
    waiting end(first);
    lock second = std::move(first);
    std::vector<lock> many;
    many.push_back(std::move(second));
    REQUIRE(s.await_renewals(5));  // in more than one ttl
    CHECK(many.front().owns());
    CHECK_FALSE(end.ended);
    many.clear();
    REQUIRE(s.keys_become(0, s.name));
    REQUIRE(run_until(s.io, [&] { return end.ended.has_value(); }));
    CHECK(end.ended == make_error_code(errc::not_held));
}

TEST_CASE("p36: the client stops renewing a lock that is overwritten by assignment",
          "[keep_alive][pitfall][p36]")
{
    keeping_scene s;
    lock held = s.keep();
    waiting end(held);
    held = s.take(fresh_name());
    REQUIRE(s.keys_become(0, s.name));
    REQUIRE(run_until(s.io, [&] { return end.ended.has_value(); }));
    CHECK(end.ended == make_error_code(errc::not_held));
    // Three renewals of one lock take longer than one renewal of another lock with that ttl.
    const std::string other = fresh_name();
    const lock kept = s.keep(other);
    const auto renewed = s.told_of[s.name];
    REQUIRE(run_until(s.io, [&] { return s.told_of[other] >= 3; }));
    CHECK(s.told_of[s.name] == renewed);
    CHECK(held.owns());
}

TEST_CASE("p34: a kept lock may outlive its client and its context", "[keep_alive][pitfall][p34]")
{
    std::optional<keeping_scene> s(std::in_place);
    lock held = s->keep();
    waiting end(held);
    SECTION("the client")
    {
        s->locks.reset();
        REQUIRE(run_until(s->io, [&] { return end.ended.has_value(); }));
        CHECK(end.ended == make_error_code(errc::closed));
        CHECK(run_out(s->io));
        CHECK(s->told.empty());
    }
    SECTION("the context")
    {
        s.reset();
        CHECK(end.handlers.called + end.handlers.destroyed_uncalled == 1);
    }
    held = {};
}

TEST_CASE("p34: a kept lock is dropped when an exception unwinds the stack",
          "[keep_alive][pitfall][p34]")
{
    keeping_scene s;
    const auto body = [&] {
        const lock held = s.keep();
        throw std::runtime_error("of the body");
    };
    CHECK_THROWS_AS(body(), std::runtime_error);
    CHECK(s.keys_become(0, s.name));
    CHECK(run_until(s.io, [&] { return s.locks->stats().kept_alive == 0; }));
}

TEST_CASE("p36: the client stops renewing a lock that is abandoned without free memory",
          "[keep_alive][memory][pitfall][p36]")
{
    keeping_scene s(
        brisk_config(true));  // otherwise the client needs no memory to abandon the lock
    lock held = s.keep();
    lock other = s.keep(fresh_name());
    waiting end(held);
    s.io.poll();  // the next request needs memory for its way to the strand
    SECTION("dropped")
    {
        failing_allocations all(0, 1000);
        {
            const failing_allocations::in here(all);
            held = {};
        }
        CHECK(all.failed() > 0);
        CHECK(s.keys_become(0, s.name));
    }
    SECTION("detached")
    {
        const std::string token{held.owner_token()};
        std::string owner;
        failing_allocations all_but_the_name(1, 1000);
        {
            const failing_allocations::in here(all_but_the_name);
            owner = std::move(held).detach();
        }
        CHECK(all_but_the_name.failed() > 0);
        CHECK(owner == token);
        REQUIRE(run_until(s.io, [&] { return end.ended.has_value(); }));
        CHECK(nodes().count(s.name) >= 2);
    }
    REQUIRE(run_until(s.io, [&] { return end.ended.has_value(); }));
    CHECK(end.ended == make_error_code(errc::not_held));
    CHECK(run_until(s.io, [&] { return s.locks->stats().kept_alive == 1; }));
    CHECK(other.owns());
}

TEST_CASE("p34: a client that is destroyed without free memory keeps no lock alive",
          "[keep_alive][memory][pitfall][p34]")
{
    keeping_scene s(brisk_config(true));
    lock held = s.keep();
    waiting end(held);
    s.io.poll();  // the next request needs memory for its way to the strand
    failing_allocations all(0, 1000);
    {
        const failing_allocations::in here(all);
        s.locks.reset();
    }
    CHECK(all.failed() > 0);
    REQUIRE(run_until(s.io, [&] { return end.ended.has_value(); }));
    CHECK(end.ended == make_error_code(errc::closed));
    CHECK(run_out(s.io));
    CHECK(s.told.empty());
}

TEST_CASE("the renewal callback may do anything", "[keep_alive]")
{
    keeping_scene s;
    std::optional<lock> held(s.keep());
    SECTION("throw")
    {
        s.act = [](const renewal&) { throw std::runtime_error("of the sink"); };
        REQUIRE(s.await_renewals(4));
        CHECK(held->owns());
    }
    SECTION("drop the lock")
    {
        s.act = [&](const renewal&) { held.reset(); };
        REQUIRE(s.keys_become(0, s.name));
        CHECK(s.told.size() == 1);
    }
    SECTION("destroy the client")
    {
        s.act = [&](const renewal&) { s.locks.reset(); };
        REQUIRE(run_until(s.io, [&] { return !s.locks.has_value(); }));
        CHECK(run_out(s.io));
        CHECK(s.told.size() == 1);
    }
    SECTION("begin operations")
    {
        std::optional<error_code> extended;
        s.act = [&, begun = false](const renewal&) mutable {
            if (!std::exchange(begun, true)) {
                s.locks->async_extend(*held, long_ttl, [&](error_code ec) { extended = ec; });
            }
        };
        REQUIRE(run_until(s.io, [&] { return extended.has_value(); }));
        CHECK_FALSE(*extended);
        CHECK(held->remaining() > long_ttl / 2);
    }
}

TEST_CASE("any completion token can wait for the end of a lock", "[keep_alive][tokens]")
{
    keeping_scene s;
    lock held = s.keep();
    std::vector<error_code> ended;
    held.async_wait_lost([&](error_code ec) { ended.push_back(ec); });
    held.async_wait_lost()([&](error_code ec) { ended.push_back(ec); });
    auto future = held.async_wait_lost(asio::as_tuple(asio::use_future));
    auto strand = asio::make_strand(s.io);
    held.async_wait_lost(asio::bind_executor(strand, [&](error_code ec) {
        CHECK(strand.running_in_this_thread());
        ended.push_back(ec);
    }));
    asio::co_spawn(
        s.io,
        [&]() -> asio::awaitable<void> {
            auto [ec] = co_await held.async_wait_lost(asio::as_tuple(asio::use_awaitable));
            ended.push_back(ec);
        },
        asio::detached);
    s.io.poll();
    CHECK(ended.empty());
    for (std::size_t i = 0; i < nodes().size(); ++i) {
        (void)nodes()[i].command({"DEL", s.name});
    }
    REQUIRE(run_until(s.io, [&] { return ended.size() == 4; }));
    CHECK(ended == std::vector<error_code>(4, errc::lost));
    REQUIRE(run_until(s.io, [&] { return future.wait_for(0s) == std::future_status::ready; }));
    CHECK(std::get<0>(future.get()) == errc::lost);
    CHECK_FALSE(held.owns());
    CHECK(
        run_until(s.io, [&] { return !s.told.empty() && s.told.back() == renewal_outcome::lost; }));
}

TEST_CASE("a cancelled wait for a loss keeps the lock for every cancellation type", "[keep_alive]")
{
    keeping_scene s;
    lock held = s.keep();
    const auto type =
        GENERATE(cancellation_type::terminal, cancellation_type::partial, cancellation_type::total);
    asio::cancellation_signal signal;
    std::optional<error_code> ended;
    held.async_wait_lost(
        asio::bind_cancellation_slot(signal.slot(), [&](error_code ec) { ended = ec; }));
    s.io.poll();
    signal.emit(type);
    REQUIRE(run_until(s.io, [&] { return ended.has_value(); }));
    CHECK(ended == make_error_code(asio::error::operation_aborted));
    CHECK_FALSE(signal.slot().has_handler());
    REQUIRE(s.await_renewals(2));
    CHECK(held.owns());
}

TEST_CASE("a wait for a loss completes before the renewal callback runs", "[keep_alive]")
{
    keeping_scene s;
    lock held = s.keep();
    std::vector<std::string> order;
    held.async_wait_lost([&](error_code) { order.emplace_back("who waits"); });
    s.act = [&](const renewal& r) {
        if (r.outcome == renewal_outcome::lost) {
            order.emplace_back("the sink");
        }
    };
    for (std::size_t i = 0; i < nodes().size(); ++i) {
        (void)nodes()[i].command({"DEL", s.name});
    }
    REQUIRE(run_until(s.io, [&] { return order.size() == 2; }));
    CHECK(order == std::vector<std::string>{"who waits", "the sink"});
}

TEST_CASE("a wait for the end of an empty lock has no lock to watch", "[keep_alive]")
{
    asio::io_context io;
    lock empty;
    std::optional<error_code> ended;
    SECTION("on the handler's own executor")
    {
        empty.async_wait_lost(asio::bind_executor(io, [&](error_code ec) { ended = ec; }));
        CHECK_FALSE(ended);
        io.run();
    }
    SECTION("in a coroutine")
    {
        asio::co_spawn(
            io,
            [&]() -> asio::awaitable<void> {
                auto [ec] = co_await empty.async_wait_lost(asio::as_tuple(asio::deferred));
                ended = ec;
            },
            asio::detached);
        io.run();
    }
    SECTION("on the system executor")
    {
        auto future = empty.async_wait_lost(asio::as_tuple(asio::use_future));
        ended = std::get<0>(future.get());
    }
    CHECK(ended == make_error_code(errc::not_held));
}

TEST_CASE("invalid keep-alive options are refused", "[keep_alive][arguments]")
{
    keeping_scene s;
    outcome<acquiring> got;
    s.locks->async_acquire(s.name, kept({.max_hold = 999ms}), got.receiver());
    REQUIRE(run_until(s.io, [&] { return got.done; }));
    CHECK(got.error == errc::invalid_max_hold);
    CHECK(got.error == condition::invalid_argument);
}

TEST_CASE("renewals and extends and releases continue while no acquire is admitted", "[keep_alive]")
{
    config c = brisk_config();
    c.max_in_flight = 1;
    keeping_scene s(c);
    lock held = s.keep();
    waiting end(held);
    lock other = s.take(fresh_name());
    const std::string wanted = fresh_name();
    const held_by_another has(wanted);
    outcome<acquiring> waits;
    asio::cancellation_signal signal;
    s.locks->async_acquire(wanted, long_lease(),
                           asio::bind_cancellation_slot(signal.slot(), waits.receiver()));
    outcome<acquiring> refused;
    s.locks->async_acquire(fresh_name(), long_lease(), refused.receiver());
    REQUIRE(run_until(s.io, [&] { return refused.done; }));
    CHECK(refused.error == errc::overloaded);

    outcome<extending> extended;
    s.locks->async_extend(other, long_ttl, extended.receiver());
    outcome<releasing> released;
    REQUIRE(run_until(s.io, [&] { return extended.done; }));
    CHECK_FALSE(extended.error);
    s.locks->async_release(std::move(other), released.receiver());
    REQUIRE(run_until(s.io, [&] { return released.done; }));
    CHECK_FALSE(released.error);
    REQUIRE(s.await_renewals(4));
    CHECK(held.owns());
    CHECK_FALSE(end.ended);
    signal.emit(cancellation_type::terminal);
    REQUIRE(run_until(s.io, [&] { return waits.done; }));
}
