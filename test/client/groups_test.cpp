#include "client/operations.hpp"

#include <redlock/with_lock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::test;

namespace {

using names = std::vector<std::string>;

config some_config()
{
    config c = default_ttl_config();
    c.thread_safe = GENERATE(false, true);
    return c;
}

/// A scene of two resources.
struct joint_scene : scene {
    joint_scene() : scene(some_config()) { start(); }

    [[nodiscard]] names both() const { return {name, other}; }

    /// The acquire gives one lock of both resources, and one release frees both.
    void demand(outcome<acquiring>& got)
    {
        REQUIRE(run_until(io, [&] { return got.done; }));
        REQUIRE_FALSE(got.error);
        lock l = std::move(*got.value);
        CHECK(l.owns());
        CHECK(l.resource() == name);
        CHECK(names(l.resources().begin(), l.resources().end()) == both());
        CHECK(nodes().count(name) >= 2);
        CHECK(nodes().count(other) >= 2);

        outcome<releasing> freed;
        locks->async_release(std::move(l), freed.receiver());
        REQUIRE(run_until(io, [&] { return freed.done; }));
        CHECK(*freed.value == release_result::released);
        CHECK(keys_become(0, name));
        CHECK(keys_become(0, other));
    }

    /// The result of a coroutine.
    void demand(asio::awaitable<lock> body)
    {
        outcome<acquiring> got;
        asio::co_spawn(io, std::move(body), [&got](std::exception_ptr error, lock l) {
            if (error) {
                std::rethrow_exception(error);
            }
            got.take({}, std::move(l));
        });
        demand(got);
    }

    std::string other = fresh_name();
};

// GCC 12 takes no list in an expression with co_await.

asio::awaitable<lock> by_list(joint_scene& s)
{
    auto taking = s.locks->async_acquire({s.name, s.other}, long_lease(), asio::use_awaitable);
    co_return co_await std::move(taking);
}

asio::awaitable<lock> by_list_of_defaults(joint_scene& s)
{
    auto taking = s.locks->async_acquire({s.name, s.other}, asio::use_awaitable);
    co_return co_await std::move(taking);
}

asio::awaitable<lock> by_vector(joint_scene& s)
{
    co_return co_await s.locks->async_acquire(s.both(), long_lease(), asio::use_awaitable);
}

asio::awaitable<lock> by_deferred(joint_scene& s)
{
    auto taking = s.locks->async_acquire({s.name, s.other}, long_lease());
    co_return co_await std::move(taking);
}

}  // namespace

TEST_CASE("a list or a vector names several resources", "[groups]")
{
    joint_scene s;
    outcome<acquiring> got;
    SECTION("a list with options")
    {
        s.locks->async_acquire({s.name, s.other}, long_lease(), got.receiver());
        s.demand(got);
    }
    SECTION("a list without options")
    {
        s.locks->async_acquire({s.name, s.other}, got.receiver());
        s.demand(got);
    }
    SECTION("a list of literals")
    {
        s.name = "asio/groups/from";
        s.other = "asio/groups/to";
        s.locks->async_acquire({"asio/groups/from", "asio/groups/to"}, long_lease(),
                               got.receiver());
        s.demand(got);
    }
    SECTION("a vector with options")
    {
        s.locks->async_acquire(s.both(), long_lease(), got.receiver());
        s.demand(got);
    }
    SECTION("a vector without options")
    {
        s.locks->async_acquire(s.both(), got.receiver());
        s.demand(got);
    }
}

TEST_CASE("a list or a vector names several resources to adopt", "[groups]")
{
    joint_scene s;
    s.name = "asio/groups/from";
    s.other = "asio/groups/to";
    outcome<acquiring> had;
    s.locks->async_acquire(s.both(), long_lease(), had.receiver());
    REQUIRE(run_until(s.io, [&] { return had.done; }));
    REQUIRE_FALSE(had.error);
    const std::string owner = std::move(*had.value).detach();
    outcome<acquiring> got;
    SECTION("a list with options")
    {
        s.locks->async_adopt({s.name, s.other}, owner, long_ttl, extend_options{}, got.receiver());
    }
    SECTION("a list of literals without options")
    {
        s.locks->async_adopt({"asio/groups/from", "asio/groups/to"}, owner, long_ttl,
                             got.receiver());
    }
    SECTION("a list for a deferred operation")
    {
        auto adopting =
            s.locks->async_adopt({std::string(s.name), std::string(s.other)}, owner, long_ttl);
        std::move(adopting)(got.receiver());
    }
    SECTION("a vector")
    {
        s.locks->async_adopt(s.both(), owner, long_ttl, got.receiver());
    }
    s.demand(got);
}

TEST_CASE("a list names several resources under which a handler starts operations",
          "[groups][with_lock]")
{
    joint_scene s;
    s.name = "asio/groups/from";
    s.other = "asio/groups/to";
    names held;
    const auto start = [&](lock_scope scope) {
        const lock& l = scope.held();
        held.assign(l.resources().begin(), l.resources().end());
        scope.done();
    };
    std::optional<with_lock_result<void>> ended;
    const auto keep = [&](with_lock_result<void> r) { ended.emplace(std::move(r)); };
    SECTION("variables")
    {
        with_lock(*s.locks, {s.name, s.other}, long_lease(), start, keep);
    }
    SECTION("literals")
    {
        with_lock(*s.locks, {"asio/groups/from", "asio/groups/to"}, long_lease(), start, keep);
    }
    SECTION("a deferred operation")
    {
        auto scope =
            with_lock(*s.locks, {std::string(s.name), std::string(s.other)}, long_lease(), start);
        std::move(scope)(keep);
    }
    REQUIRE(run_until(s.io, [&] { return ended.has_value(); }));
    CHECK(ended->status == with_lock_status::completed);
    CHECK(held == s.both());
}

TEST_CASE("coroutines lock several resources", "[groups]")
{
    joint_scene s;
    using body_type = asio::awaitable<lock> (*)(joint_scene&);
    const body_type body =
        GENERATE(as<body_type>{}, by_list, by_list_of_defaults, by_vector, by_deferred);
    s.demand(body(s));
}

TEST_CASE("a deferred acquire of several resources may be started more than once", "[groups]")
{
    joint_scene s;
    const auto begun_by = [&s](auto acquire) {
        outcome<acquiring> first;
        auto copy = acquire;
        std::move(acquire)(first.receiver());
        s.demand(first);
        outcome<acquiring> second;
        std::move(copy)(second.receiver());
        s.demand(second);
    };
    // The names in this call are gone when the acquire begins.
    SECTION("by a list")
    {
        begun_by(s.locks->async_acquire({std::string(s.name), std::string(s.other)}, long_lease()));
    }
    SECTION("by a vector")
    {
        begun_by(s.locks->async_acquire(s.both(), long_lease(), asio::deferred));
    }
}

TEST_CASE("a lock names its resources in the order in which they were given", "[groups]")
{
    joint_scene s;
    CHECK(s.held.resources().empty());
    outcome<acquiring> got;
    s.locks->async_acquire({s.other, s.name}, long_lease(), got.receiver());
    REQUIRE(run_until(s.io, [&] { return got.done; }));
    REQUIRE_FALSE(got.error);
    s.held = std::move(*got.value);
    CHECK(s.held.resource() == s.other);
    REQUIRE(s.held.resources().size() == 2);
    CHECK(s.held.resources()[0] == s.other);
    CHECK(s.held.resources()[1] == s.name);

    const lock moved = std::move(s.held);
    CHECK(s.held.resources().empty());
    CHECK(moved.resources().size() == 2);

    const lock one = s.take(fresh_name());
    REQUIRE(one.resources().size() == 1);
    CHECK(one.resources().front() == one.resource());
}

TEST_CASE("each of several resources has a fencing token", "[groups]")
{
    joint_scene s;
    CHECK(s.held.fencing_token(s.name) == 0);
    acquire_options o = long_lease();
    const redlock::reentrant_owner someone;
    o.reentrant_owner = &someone;
    o.fencing = true;
    outcome<acquiring> all;
    s.locks->async_acquire(s.both(), o, all.receiver());
    REQUIRE(run_until(s.io, [&] { return all.done; }));
    REQUIRE_FALSE(all.error);
    const lock& both = *all.value;
    REQUIRE(both.fencing_token() > 0);
    CHECK(both.fencing_token(s.name) == both.fencing_token());
    CHECK(both.fencing_token(s.other) == both.fencing_token());
    CHECK(both.fencing_token(s.name + "'") == 0);
    CHECK(both.fencing_token("") == 0);

    // A further hold names only the resources that it was asked for.
    outcome<acquiring> part;
    s.locks->async_acquire(s.other, o, part.receiver());
    REQUIRE(run_until(s.io, [&] { return part.done; }));
    REQUIRE_FALSE(part.error);
    CHECK(part.value->fencing_token(s.other) == both.fencing_token());
    CHECK(part.value->fencing_token(s.name) == 0);

    const std::string third = fresh_name();
    outcome<acquiring> alone;
    o.reentrant_owner = nullptr;
    s.locks->async_acquire(third, o, alone.receiver());
    REQUIRE(run_until(s.io, [&] { return alone.done; }));
    REQUIRE_FALSE(alone.error);
    CHECK(alone.value->fencing_token(third) == alone.value->fencing_token());
    CHECK(alone.value->fencing_token(third) > 0);
    CHECK(alone.value->fencing_token(s.other) == 0);

    outcome<acquiring> without;
    o.fencing = false;
    s.locks->async_acquire(fresh_name(), o, without.receiver());
    REQUIRE(run_until(s.io, [&] { return without.done; }));
    REQUIRE_FALSE(without.error);
    CHECK(without.value->fencing_token(without.value->resource()) == 0);
}

TEST_CASE("a client that holds one of several resources keeps others from all of them", "[groups]")
{
    joint_scene s;
    const lock one = s.take(s.other);
    acquire_options o = long_lease();
    o.max_attempts = 1;
    outcome<acquiring> got;
    s.locks->async_acquire(s.both(), o, got.receiver());
    REQUIRE(run_until(s.io, [&] { return got.done; }));
    CHECK(got.error == errc::contended);
    CHECK(s.keys_become(0, s.name));
    CHECK(one.owns());
}

TEST_CASE("a reentrant owner can hold a part of its lock under the names it asks for",
          "[groups][owner]")
{
    joint_scene s;
    acquire_options o = long_lease();
    const redlock::reentrant_owner someone;
    o.reentrant_owner = &someone;
    outcome<acquiring> all;
    s.locks->async_acquire(s.both(), o, all.receiver());
    REQUIRE(run_until(s.io, [&] { return all.done; }));
    outcome<acquiring> part;
    s.locks->async_acquire(s.other, o, part.receiver());
    REQUIRE(run_until(s.io, [&] { return part.done; }));
    REQUIRE_FALSE(part.error);
    CHECK(part.value->resources().size() == 1);
    CHECK(part.value->resource() == s.other);
    CHECK(part.value->owner_token() == all.value->owner_token());
    all.value.reset();
    CHECK(part.value->owns());
    part.value.reset();
    CHECK(s.keys_become(0, s.name));
    CHECK(s.keys_become(0, s.other));
}
