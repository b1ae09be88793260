#include "client/scopes.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/post.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <memory>
#include <optional>
#include <utility>

using namespace redlock;
using namespace redlock::test;

TEST_CASE("a with_lock that is cancelled cancels its body", "[with_lock]")
{
    running_scene s(brisk_config());
    bool begun = false;
    bool ended = false;
    const bool heeds = GENERATE(false, true);
    running_scope<int> scope(s, [&](lock&) -> asio::awaitable<int> {
        begun = true;
        try {
            co_await sleep(never);
        } catch (const boost::system::system_error&) {
            ended = true;
            if (heeds) {
                throw;
            }
        }
        co_return 3;
    });
    REQUIRE(run_until(s.io, [&] { return begun; }));
    s.io.poll();
    scope.signal.emit(cancellation_type::terminal);
    auto& r = scope.end();
    CHECK(ended);
    if (heeds) {
        CHECK(r.status == with_lock_status::cancelled);
        CHECK(r.error == asio::error::operation_aborted);
        CHECK(r.failure);
    } else {
        CHECK(r.status == with_lock_status::completed);
        CHECK(r.value == 3);
    }
    CHECK(s.keys_become(0, s.name));
}

TEST_CASE("a with_lock that is cancelled before it has its lock does not start its body",
          "[with_lock]")
{
    running_scene s(brisk_config());
    // The acquire waits for another acquire of the client, or the nodes refuse it.
    const bool in_line = GENERATE(false, true);
    std::optional<held_by_another> has;
    lock held;
    if (in_line) {
        held = s.take(s.name);
    } else {
        has.emplace(s.name);
    }
    running_scope<void> scope(s, [&](lock&) -> asio::awaitable<void> {
        FAIL("it runs");
        co_return;
    });
    REQUIRE(run_until(s.io, [&] {
        const stats now = s.locks->stats();
        return in_line ? now.waiters == 1 : now.attempts >= 3;
    }));
    scope.signal.emit(cancellation_type::terminal);
    auto& r = scope.end();
    CHECK(r.status == with_lock_status::cancelled);
    CHECK(r.error == asio::error::operation_aborted);
    CHECK_FALSE(r.failure);
    CHECK((in_line ? held : has->theirs).owns());
}

TEST_CASE("a with_lock that is cancelled before its first step ends as cancelled", "[with_lock]")
{
    running_scene s(brisk_config());
    std::optional<running_scope<void>> scope;
    asio::post(s.io, [&] { scope->signal.emit(cancellation_type::terminal); });
    scope.emplace(s, [](lock&) -> asio::awaitable<void> {
        FAIL("it runs");
        co_return;
    });
    auto& r = scope->end();
    CHECK(r.status == with_lock_status::cancelled);
    CHECK(r.error == asio::error::operation_aborted);
    CHECK_FALSE(r.failure);
    CHECK(s.keys_become(0, s.name));
}

TEST_CASE("a with_lock whose body is about to start elsewhere can be cancelled", "[with_lock]")
{
    running_scene s(brisk_config());
    asio::io_context other;
    asio::cancellation_signal signal;
    std::optional<with_lock_result<void>> ended;
    with_lock(
        *s.locks, s.name, long_lease(),
        [](lock&) -> asio::awaitable<void> { co_await sleep(never); },
        asio::bind_cancellation_slot(signal.slot(),
                                     asio::bind_executor(other, [&](with_lock_result<void> r) {
                                         ended.emplace(std::move(r));
                                     })));
    REQUIRE(run_until(s.io, [&] { return s.locks->stats().kept_alive == 1; }));
    s.io.poll();
    signal.emit(cancellation_type::terminal);
    REQUIRE(run_until(s.io, [&] {
        other.restart();
        other.poll();
        return ended.has_value();
    }));
    CHECK(ended->status == with_lock_status::cancelled);
    CHECK(ended->error == asio::error::operation_aborted);
    CHECK(s.keys_become(0, s.name));
}

TEST_CASE("a body that cancels its own with_lock and never waits completes", "[with_lock]")
{
    running_scene s(brisk_config());
    running_scope<int>* self = nullptr;
    running_scope<int> scope(s, [&](lock&) -> asio::awaitable<int> {
        self->signal.emit(cancellation_type::terminal);
        co_return 4;
    });
    self = &scope;
    CHECK(scope.end().status == with_lock_status::completed);
    CHECK(scope.end().value == 4);
    CHECK(s.keys_become(0, s.name));
}

TEST_CASE("a with_lock that is cancelled at any moment ends once and leaves no key", "[with_lock]")
{
    running_scene s(brisk_config());
    for (unsigned steps = 0; steps < 60; ++steps) {
        s.name = fresh_name();
        running_scope<void> scope(s, [&](lock&) -> asio::awaitable<void> { co_await sleep(1ms); });
        for (unsigned i = 0; i < steps && !scope.ended; ++i) {
            s.io.run_one_for(5ms);  // the test may cancel at each moment
        }
        scope.signal.emit(cancellation_type::terminal);
        const auto end = scope.end().status;
        CHECK((end == with_lock_status::completed || end == with_lock_status::cancelled));
        CHECK(s.keys_become(0, s.name));
    }
}

/// The operation that the body awaits is never called, and neither does the body continue.
TEST_CASE("a body that is destroyed while it waits drops its lock", "[with_lock]")
{
    running_scene s(brisk_config());
    const auto here = std::make_shared<int>();
    const auto body = [here](lock& held) -> asio::awaitable<void> {
        CHECK(held.owns());
        const auto waits = here;
        co_await asio::async_initiate<const asio::use_awaitable_t<>, void()>(
            [](auto handler) { const auto goes = std::move(handler); }, asio::use_awaitable);
        FAIL("it goes on");
    };
    bool has_ended = false;
    with_lock(*s.locks, s.name, long_lease(), body,
              [&](const with_lock_result<void>&) { has_ended = true; });
    REQUIRE(run_until(s.io, [&] { return s.locks->stats().kept_alive == 1; }));
    REQUIRE(run_until(s.io, [&] { return s.locks->stats().kept_alive == 0; }));
    CHECK(s.keys_become(0, s.name));
    CHECK_FALSE(has_ended);
    CHECK(here.use_count() == 2);  // ours and the one in our copy of the body
}
