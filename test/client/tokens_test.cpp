#include "client/operations.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/recycling_allocator.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <future>
#include <thread>

using namespace redlock;
using namespace redlock::test;

namespace {

// Tokens whose results can be awaited give the values without the error code, or with it in a
// tuple.

template <class Operation, class... Token>
asio::awaitable<void> awaiting(scene& s, outcome<Operation>& got, Token... token)
{
    if constexpr (outcome<Operation>::has_value) {
        got.take({}, co_await Operation::begin(s, token...));
    } else {
        co_await Operation::begin(s, token...);
        got.take({});
    }
}

template <class Operation>
asio::awaitable<void> redirecting(scene& s, outcome<Operation>& got)
{
    error_code ec;
    if constexpr (outcome<Operation>::has_value) {
        auto value = co_await Operation::begin(s, asio::redirect_error(asio::use_awaitable, ec));
        got.take(ec, std::move(value));
    } else {
        co_await Operation::begin(s, asio::redirect_error(asio::use_awaitable, ec));
        got.take(ec);
    }
}

template <class Operation>
asio::awaitable<void> tupled(scene& s, outcome<Operation>& got)
{
    auto all = co_await Operation::begin(s, asio::as_tuple(asio::use_awaitable));
    std::apply(got.receiver(), std::move(all));
}

void rethrow(std::exception_ptr error)
{
    if (error) {
        std::rethrow_exception(error);
    }
}

/// Runs until the operation that has just begun is done.
template <class Operation>
void finish(scene& s, const outcome<Operation>& got)
{
    asio::post(s.io, [&s] { Operation::finish(s); });
    REQUIRE(run_until(s.io, [&] { return got.done; }));
}

template <class Operation>
void spawn(scene& s, asio::awaitable<void> body)
{
    asio::co_spawn(s.io, std::move(body), rethrow);
}

void close(scene& s)
{
    std::optional<error_code> closed;
    s.locks->async_close([&](error_code ec) { closed = ec; });
    REQUIRE(run_until(s.io, [&] { return closed.has_value(); }));
}

/// The value or the exception of a future, while the context runs in another thread.
template <class Operation>
void wait_elsewhere(scene& s, outcome<Operation>& got)
{
    s.io.restart();
    auto future = Operation::begin(s, asio::use_future);
    asio::post(s.io, [&s] { Operation::finish(s); });
    std::thread runner([&s] { s.io.run(); });
    try {
        if constexpr (outcome<Operation>::has_value) {
            got.take({}, future.get());
        } else {
            future.get();
            got.take({});
        }
    } catch (const boost::system::system_error& e) {
        got.done = true;
        got.error = e.code();
    }
    s.io.stop();
    runner.join();
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("every kind of completion token works", "[tokens]", all_operations)
{
    scene s;
    TestType::prepare(s);
    outcome<TestType> got;

    SECTION("a callback")
    {
        TestType::begin(s, got.receiver());
    }
    SECTION("use_awaitable")
    {
        spawn<TestType>(s, awaiting(s, got, asio::use_awaitable));
    }
    SECTION("deferred, awaited")
    {
        spawn<TestType>(s, awaiting(s, got, asio::deferred));
    }
    SECTION("the default, awaited")
    {
        spawn<TestType>(s, awaiting(s, got));
    }
    SECTION("deferred, started by hand")
    {
        TestType::begin(s, asio::deferred)(got.receiver());
    }
    SECTION("redirect_error")
    {
        spawn<TestType>(s, redirecting(s, got));
    }
    SECTION("as_tuple")
    {
        spawn<TestType>(s, tupled(s, got));
    }
    SECTION("bind_executor")
    {
        TestType::begin(s, asio::bind_executor(asio::make_strand(s.io), got.receiver()));
    }
    SECTION("bind_allocator")
    {
        TestType::begin(s, asio::bind_allocator(asio::recycling_allocator<void>(), got.receiver()));
    }
    finish(s, got);
    CHECK(got.fulfilled(s));
}

TEMPLATE_LIST_TEST_CASE("a bound cancellation slot is free again in the handler", "[tokens]",
                        all_operations)
{
    scene s;
    TestType::prepare(s);
    outcome<TestType> got;
    asio::cancellation_signal signal;
    bool was_free = false;
    TestType::begin(s, asio::bind_cancellation_slot(signal.slot(), [&](auto&&... values) {
                        was_free = !signal.slot().has_handler();
                        got.receiver()(std::forward<decltype(values)>(values)...);
                    }));
    CHECK(signal.slot().has_handler());
    finish(s, got);
    CHECK(was_free);
    CHECK(got.fulfilled(s));
}

TEMPLATE_LIST_TEST_CASE("futures work with the context in another thread", "[tokens]",
                        all_operations)
{
    scene s;
    TestType::prepare(s);
    outcome<TestType> got;
    wait_elsewhere(s, got);
    CHECK(got.fulfilled(s));
}

TEMPLATE_LIST_TEST_CASE("every kind of completion token reports the error", "[tokens]",
                        all_operations)
{
    scene s;
    TestType::prepare(s);
    close(s);
    outcome<TestType> got;

    SECTION("a callback")
    {
        TestType::begin(s, got.receiver());
        finish(s, got);
    }
    SECTION("use_awaitable throws")
    {
        spawn<TestType>(s, awaiting(s, got, asio::use_awaitable));
        try {
            static_cast<void>(run_until(s.io, [&] { return got.done; }));
        } catch (const boost::system::system_error& e) {
            got.error = e.code();
        }
    }
    SECTION("redirect_error")
    {
        spawn<TestType>(s, redirecting(s, got));
        finish(s, got);
    }
    SECTION("as_tuple")
    {
        spawn<TestType>(s, tupled(s, got));
        finish(s, got);
    }
    SECTION("use_future throws")
    {
        wait_elsewhere(s, got);
    }
    CHECK(got.error == TestType::when_closed());
    if constexpr (std::is_same_v<typename TestType::result, lock>) {
        CHECK((!got.value || !*got.value));
    }
}

TEST_CASE("the overloads without options work", "[tokens]")
{
    running_scene s(default_ttl_config());
    const auto body = [&]() -> asio::awaitable<void> {
        lock l = co_await s.locks->async_acquire(s.name);
        const std::string owner = std::move(l).detach();
        CHECK_FALSE(l);
        l = co_await s.locks->async_adopt(s.name, owner, long_ttl);
        co_await s.locks->async_extend(l, long_ttl, extend_options{});
        const inspection i = co_await s.locks->async_inspect(s.name, inspect_options{});
        CHECK(i.state == lock_state::held);
        const auto r = co_await s.locks->async_release(std::move(l), release_options{});
        CHECK(r == release_result::released);
    };
    run_task(s.io, body());
    CHECK(s.locks->stats().released == 1);
}

TEST_CASE("a deferred operation begins only when it is awaited", "[tokens]")
{
    running_scene s;
    const auto before = s.locks->stats().commands;
    outcome<acquiring> got;
    {
        auto later = s.locks->async_acquire(s.name, long_lease());
        s.io.poll();
        CHECK(s.locks->stats().commands == before);
        CHECK(s.locks->stats().in_flight == 0);
        std::move(later)(got.receiver());
    }
    finish(s, got);
    CHECK(got.fulfilled(s));
}

TEST_CASE("a deferred release that is never awaited still releases the lock", "[tokens]")
{
    scene s;
    releasing::prepare(s);
    {
        auto unawaited = s.locks->async_release(std::move(s.held));
    }
    CHECK(s.keys_become(0, s.name));
    CHECK(s.locks->stats().dropped == 1);
}
