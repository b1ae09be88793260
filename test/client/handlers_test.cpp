#include "client/operations.hpp"

#include <boost/asio/post.hpp>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <array>
#include <memory>
#include <stdexcept>

using namespace redlock;
using namespace redlock::test;

namespace {

struct thrown : std::runtime_error {
    thrown() : std::runtime_error("by a handler of the test") {}
};

[[noreturn]] void throw_it()
{
    throw thrown();
}

/// Runs until `done`, and counts the exceptions that handlers throw.
template <class Predicate>
unsigned run_through(asio::io_context& io, Predicate done)
{
    unsigned count = 0;
    for (;;) {
        bool in_time = true;
        try {
            in_time = run_until(io, done);
        } catch (const thrown&) {
            ++count;
            continue;
        }
        REQUIRE(in_time);
        return count;
    }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("a handler that throws does not harm another handler", "[handlers]",
                        all_operations)
{
    scene s(either_kind());
    TestType::prepare(s);
    ledger of;
    outcome<TestType> got;
    TestType::begin(s, once(of, [&](auto&&... values) {
                        got.receiver()(std::forward<decltype(values)>(values)...);
                        throw_it();
                    }));
    asio::post(s.io, [&] { TestType::finish(s); });
    CHECK(run_through(s.io, [&] { return got.done; }) <= 1);
    run_through(s.io, [&] { return of.called == 1; });
    got.value = {};
    s.held = {};
    s.locks->async_close(asio::detached);
    run_through(s.io, [&] { return s.io.stopped(); });
    CHECK(got.error == error_code{});
    CHECK(of.called == 1);
    CHECK(of.called_again == 0);
    CHECK(of.destroyed_uncalled == 0);
}

TEST_CASE("all handlers of a turn are called even if each throws", "[handlers]")
{
    running_scene s;
    ledger of;
    constexpr unsigned count = 20;
    for (unsigned i = 0; i < count; ++i) {
        s.locks->async_acquire(fresh_name(), long_lease(),
                               once(of, [](error_code, lock) { throw_it(); }));
        s.locks->async_acquire("", once(of, [](error_code, lock) { throw_it(); }));
    }
    CHECK(run_through(s.io, [&] { return of.called == 2 * count; }) >= 2 * count - 1);
    CHECK(of.called_again == 0);
}

TEST_CASE("operations begun in the turn of a throwing handler are still sent", "[handlers]")
{
    running_scene s;
    outcome<acquiring> got;
    acquire_options o = long_lease();
    o.max_attempts = 1;
    // The client refuses this operation at once, so it completes in the turn that must send the
    // SET.
    s.locks->async_acquire("", [](error_code, lock) { throw_it(); });
    s.locks->async_acquire(s.name, o, got.receiver());
    CHECK(run_through(s.io, [&] { return got.done; }) == 1);
    CHECK(got.fulfilled(s));
}

TEMPLATE_LIST_TEST_CASE("a handler may destroy the client", "[handlers]", all_operations)
{
    scene s(either_kind());
    TestType::prepare(s);
    ledger of;
    bool destroyed = false;
    outcome<acquiring> other;
    TestType::begin(s, once(of, [&](auto&&...) {
                        s.locks.reset();
                        destroyed = true;
                    }));
    if (!std::is_same_v<TestType, closing>) {
        s.locks->async_acquire(fresh_name(), long_lease(), once(of, [&](error_code ec, lock l) {
                                   other.take(ec, std::move(l));
                               }));
    }
    asio::post(s.io, [&] {
        if (s.locks) {
            TestType::finish(s);
        }
    });
    s.io.run_for(patience);
    CHECK(s.io.stopped());
    CHECK(destroyed);
    CHECK(of.called == (std::is_same_v<TestType, closing> ? 1 : 2));
    CHECK(of.called_again == 0);
    CHECK(of.destroyed_uncalled == 0);
    if (other.done && other.error) {
        CHECK(other.error == errc::closed);
    }
    CHECK(s.ended.has_value() == !std::is_same_v<TestType, running>);
}

TEST_CASE("a handler may destroy the lock it was given or another one", "[handlers]")
{
    running_scene s;
    s.held = s.take(fresh_name());
    const std::string other(s.held.resource());
    bool done = false;
    s.locks->async_acquire(s.name, long_lease(), [&](error_code ec, lock) {
        CHECK_FALSE(ec);
        s.held = {};
        done = true;
    });
    REQUIRE(run_until(s.io, [&] { return done; }));
    CHECK(s.keys_become(0, s.name));
    CHECK(s.keys_become(0, other));
}

TEST_CASE("a lock may be destroyed or moved while it is extended", "[handlers]")
{
    scene s(either_kind());
    extending::prepare(s);
    outcome<extending> got;
    extending::begin(s, got.receiver());

    SECTION("destroyed")
    {
        s.held = {};
        REQUIRE(run_until(s.io, [&] { return got.done; }));
        CHECK(s.keys_become(0, s.name));
    }
    SECTION("moved")
    {
        lock other = std::move(s.held);
        REQUIRE(run_until(s.io, [&] { return got.done; }));
        CHECK_FALSE(got.error);
        CHECK(other.remaining() > long_ttl);
    }
}

TEST_CASE("a handler may begin the next operation", "[handlers]")
{
    running_scene s;
    ledger of;
    unsigned rounds = 0;
    struct step {
        scene& s;
        ledger& of;
        unsigned& rounds;

        void operator()() const
        {
            s.locks->async_acquire(
                s.name, long_lease(), once(of, [here = *this](error_code ec, lock l) {
                    REQUIRE_FALSE(ec);
                    here.s.locks->async_release(
                        std::move(l), once(here.of, [here](error_code failed, release_result r) {
                            REQUIRE_FALSE(failed);
                            REQUIRE(r == release_result::released);
                            if (++here.rounds < 50) {
                                here();
                            }
                        }));
                }));
        }
    };
    step{s, of, rounds}();
    REQUIRE(run_until(s.io, [&] { return rounds == 50; }));
    CHECK(of.called == 100);
    CHECK(of.destroyed_uncalled == 0);
}

TEST_CASE("a handler may stop the context and the context can continue later", "[handlers]")
{
    running_scene s;
    ledger of;
    std::array<outcome<acquiring>, 5> got;
    for (auto& one : got) {
        s.locks->async_acquire(fresh_name(), long_lease(), once(of, [&](error_code ec, lock l) {
                                   one.take(ec, std::move(l));
                                   s.io.stop();
                               }));
    }
    s.io.run_for(patience);
    CHECK(of.called >= 1);
    REQUIRE(run_until(s.io, [&] { return of.called == got.size(); }));
    for (const auto& one : got) {
        CHECK_FALSE(one.error);
    }
}

TEST_CASE("a handler that owns the client does not keep it forever", "[handlers]")
{
    ledger of;
    std::weak_ptr<client> watched;
    {
        asio::io_context io{1};
        auto locks = std::make_shared<client>(io, default_ttl_config());
        watched = locks;
        locks->async_run(once(of, [locks](error_code) {}));
        locks->async_acquire(fresh_name(), once(of, [locks](error_code, lock) {}));
        io.poll_one();
    }
    CHECK(watched.expired());
    CHECK(of.called == 0);
    CHECK(of.destroyed_uncalled == 2);
}
