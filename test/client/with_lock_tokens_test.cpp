#include "client/scopes.hpp"

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>

using namespace redlock;
using namespace redlock::test;

TEST_CASE("a with_lock can be awaited or deferred or return a future", "[with_lock]")
{
    running_scene s(brisk_config());
    const auto body = [](lock& l) -> asio::awaitable<std::string> {
        co_return std::string(l.resource());
    };
    const auto all = [&]() -> asio::awaitable<void> {
        auto first = co_await with_lock(*s.locks, s.name, brief(), body);
        CHECK(first.value == s.name);
        auto second = co_await with_lock(*s.locks, s.name, brief(), body, asio::use_awaitable);
        CHECK(second.value == s.name);
        // The capture can only be moved. (GCC 12 destroys it twice if it is made within the
        // co_await.)
        auto owner = [p = std::make_unique<int>(5)](lock&) -> asio::awaitable<int> {
            co_return *p;
        };
        auto third =
            co_await with_lock(*s.locks, s.name, brief(), std::move(owner), asio::use_awaitable);
        CHECK(third.value == 5);
    };
    run_task(s.io, all());
    auto future = with_lock(*s.locks, s.name, brief(), body, asio::use_future);
    REQUIRE(run_until(s.io, [&] { return future.wait_for(0s) == std::future_status::ready; }));
    CHECK(future.get().value == s.name);
    // The thread of Asio's own pool that ran the body may still hold work of the client's context.
    s.locks.reset();
    s.io.restart();
    s.io.run();
}

TEST_CASE("a with_lock accepts a handler with an erased type", "[with_lock]")
{
    config c = brisk_config();
    c.thread_safe = GENERATE(false, true);
    running_scene s(c);
    std::optional<int> value;
    asio::any_completion_handler<void(with_lock_result<int>)> handler =
        [&](const with_lock_result<int>& r) { value = r.value; };
    with_lock(
        *s.locks, s.name, brief(), [](lock&) -> asio::awaitable<int> { co_return 5; },
        std::move(handler));
    REQUIRE(run_until(s.io, [&] { return value.has_value(); }));
    CHECK(value == 5);
    CHECK(s.keys_become(0, s.name));
}

TEST_CASE("a deferred with_lock may be started more than once", "[with_lock]")
{
    running_scene s(brisk_config());
    const auto deferred = with_lock(
        *s.locks, s.name, brief(), [](lock_scope h) { h.done(); }, asio::deferred);
    unsigned completed = 0;
    const auto count = [&](const with_lock_result<void>& r) {
        completed += r.status == with_lock_status::completed ? 1 : 0;
    };
    deferred(count);
    deferred(count);
    REQUIRE(run_until(s.io, [&] { return completed == 2; }));
}
