#include "client/operations.hpp"

#include <redlock/reentrant_owner.hpp>
#include <redlock/with_lock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <exception>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::test;

namespace {

config some_config()
{
    config c = either_kind();
    c.fencing = true;
    return c;
}

struct owning_scene : scene {
    owning_scene() : scene(some_config()) { start(); }

    [[nodiscard]] acquire_options for_me() const
    {
        acquire_options o = long_lease();
        o.reentrant_owner = &me;
        return o;
    }

    outcome<acquiring> ask(acquire_options o)
    {
        outcome<acquiring> got;
        locks->async_acquire(name, o, got.receiver());
        REQUIRE(run_until(io, [&] { return got.done; }));
        return got;
    }

    lock mine()
    {
        auto got = ask(for_me());
        REQUIRE_FALSE(got.error);
        return std::move(*got.value);
    }

    release_result give_back(lock l)
    {
        outcome<releasing> got;
        locks->async_release(std::move(l), got.receiver());
        REQUIRE(run_until(io, [&] { return got.done; }));
        CHECK_FALSE(got.error);
        return *got.value;
    }

    /// Sends a command that reaches the nodes after any release.
    error_code extend(lock& l)
    {
        outcome<extending> got;
        locks->async_extend(l, long_ttl, got.receiver());
        REQUIRE(run_until(io, [&] { return got.done; }));
        return got.error;
    }

    redlock::reentrant_owner me;  // the scene has another name, which is a token
};

/// The ways in which a lock object stops holding its lock.
enum class parting { destroyed, moved_first, assigned_over, released };

void part(owning_scene& s, lock& l, parting way, release_result expected)
{
    switch (way) {
        case parting::destroyed: {
            const lock last = std::move(l);
            return;
        }
        case parting::moved_first: {
            lock there = std::move(l);
            CHECK_FALSE(l);
            CHECK(there.owns());
            std::vector<lock> many;
            many.push_back(std::move(there));
            return;
        }
        case parting::assigned_over: {
            const std::string own = std::exchange(s.name, fresh_name());
            l = s.mine();
            CHECK(l.resource() == s.name);
            CHECK(s.give_back(std::move(l)) == release_result::released);
            s.name = own;
            return;
        }
        case parting::released: CHECK(s.give_back(std::move(l)) == expected); return;
    }
}

asio::awaitable<void> nest(owning_scene& s, int& done)
{
    const acquire_options o = s.for_me();
    lock outer = co_await s.locks->async_acquire(s.name, o, asio::use_awaitable);
    const std::string token(outer.owner_token());
    {
        const lock inner = co_await s.locks->async_acquire(s.name, o, asio::use_awaitable);
        CHECK(inner.owner_token() == token);
    }
    co_await s.locks->async_extend(outer, long_ttl, asio::use_awaitable);
    lock inner = co_await s.locks->async_acquire(s.name, o, asio::use_awaitable);
    const auto one = co_await s.locks->async_release(std::move(outer), asio::use_awaitable);
    CHECK(one == release_result::still_held);
    CHECK(inner.owns());
    CHECK(inner.owner_token() == token);
    const auto last = co_await s.locks->async_release(std::move(inner), asio::use_awaitable);
    CHECK(last == release_result::released);
    ++done;
}

}  // namespace

TEST_CASE("a second hold has all data of the lock and asks no node", "[owner]")
{
    owning_scene s;
    const lock first = s.mine();
    const auto asked = s.locks->stats().commands;
    const lock second = s.mine();
    CHECK(s.locks->stats().commands == asked);
    CHECK(second.owns());
    CHECK(second.resource() == s.name);
    CHECK(second.owner_token() == first.owner_token());
    CHECK(second.fencing_token() == first.fencing_token());
    CHECK(second.fencing_token() > 0);
    CHECK(second.valid_until() == first.valid_until());
    CHECK(second.granted_by() == first.granted_by());
}

TEST_CASE("the holds of a reentrant owner end in any order and in any way", "[owner]")
{
    owning_scene s;
    const auto way = GENERATE(parting::destroyed, parting::moved_first, parting::assigned_over,
                              parting::released);
    const auto first = GENERATE(std::size_t{0}, std::size_t{1}, std::size_t{2});
    const auto second = GENERATE(std::size_t{0}, std::size_t{1});
    std::vector<lock> holds;
    for (int i = 0; i < 3; ++i) {
        holds.push_back(s.mine());
    }
    for (const std::size_t next : {first, second}) {
        lock l = std::move(holds[next]);
        holds.erase(holds.begin() + static_cast<std::ptrdiff_t>(next));
        part(s, l, way, release_result::still_held);
        for (lock& other : holds) {
            CHECK(other.owns());
            CHECK_FALSE(s.extend(other));
        }
        CHECK(nodes().count(s.name) >= 2);
    }
    part(s, holds.front(), way, release_result::released);
    CHECK(s.keys_become(0, s.name));
}

TEST_CASE("a hold that replaces another hold of its lock leaves the lock", "[owner]")
{
    owning_scene s;
    lock held = s.mine();
    held = s.mine();
    CHECK(held.owns());
    CHECK_FALSE(s.extend(held));
    CHECK(s.give_back(std::move(held)) == release_result::released);
}

TEST_CASE("coroutines acquire a second hold of a lock", "[owner]")
{
    owning_scene s;
    int done = 0;
    asio::co_spawn(s.io, nest(s, done), [](std::exception_ptr error) {
        if (error) {
            std::rethrow_exception(error);
        }
    });
    REQUIRE(run_until(s.io, [&] { return done == 1; }));
    CHECK(s.keys_become(0, s.name));
}

TEST_CASE("another owner does not hold the lock", "[owner]")
{
    owning_scene s;
    const lock held = s.mine();
    acquire_options o = long_lease();
    o.max_attempts = 1;
    CHECK(s.ask(o).error == errc::contended);
    const redlock::reentrant_owner someone;
    o.reentrant_owner = &someone;
    CHECK(s.ask(o).error == errc::contended);
    // A lock of another client with the same reentrant owner is not held either.
    running_client others(shared_config());
    o.reentrant_owner = &s.me;
    outcome<acquiring> got;
    others.locks->async_acquire(s.name, o, got.receiver());
    REQUIRE(run_until(others.io, [&] { return got.done; }));
    CHECK(got.error == errc::contended);
}

TEST_CASE("a detached lock no longer belongs to its reentrant owner for any number of holds",
          "[owner]")
{
    owning_scene s;
    lock first = s.mine();
    lock second = s.mine();
    lock third = s.mine();
    const std::string token = std::move(second).detach();
    CHECK(first.owner_token() == token);
    REQUIRE(run_until(s.io, [&] { return !first.owns(); }));
    CHECK(s.extend(first) == errc::not_held);
    CHECK(s.give_back(std::move(first)) == release_result::not_held);
    third = {};
    // A client that adopts the lock gets all of its resources.
    std::optional<error_code> adopted;
    lock again;
    s.locks->async_adopt(s.name, token, long_ttl, [&](error_code ec, lock l) {
        adopted = ec;
        again = std::move(l);
    });
    REQUIRE(run_until(s.io, [&] { return adopted.has_value(); }));
    CHECK_FALSE(*adopted);
    CHECK(s.give_back(std::move(again)) == release_result::released);
}

TEST_CASE("the report of a hold that asked no node is empty", "[owner]")
{
    owning_scene s;
    report r;
    acquire_options o = s.for_me();
    o.report = &r;
    const auto first = s.ask(o);
    CHECK(r.nodes.size() == nodes().size());
    const auto second = s.ask(o);
    REQUIRE_FALSE(second.error);
    CHECK(r.nodes.empty());
}

TEST_CASE("holds may outlive their client", "[owner]")
{
    std::optional<owning_scene> s(std::in_place);
    lock first = s->mine();
    lock second = s->mine();
    SECTION("the client")
    {
        s->locks.reset();
    }
    SECTION("the context")
    {
        s.reset();
    }
    first = {};
    CHECK(second.owns());
    second = {};
}

TEST_CASE("a second hold is granted where no other acquire has room", "[owner]")
{
    config c = some_config();
    c.max_in_flight = 1;
    running_scene s(c);
    acquire_options o = long_lease();
    const redlock::reentrant_owner someone;
    o.reentrant_owner = &someone;
    outcome<acquiring> held;
    s.locks->async_acquire(s.name, o, held.receiver());
    REQUIRE(run_until(s.io, [&] { return held.done; }));
    REQUIRE_FALSE(held.error);

    outcome<acquiring> waits;
    outcome<acquiring> refused;
    outcome<acquiring> within;
    outcome<acquiring> of_one;
    acquire_options others = long_lease();
    const std::string wanted = fresh_name();
    const held_by_another has(wanted);
    s.locks->async_acquire(wanted, others, waits.receiver());
    s.locks->async_acquire(s.name, others, refused.receiver());
    s.locks->async_acquire(s.name, o, within.receiver());
    s.locks->async_acquire({s.name}, o, of_one.receiver());
    REQUIRE(run_until(s.io, [&] { return refused.done && within.done && of_one.done; }));
    CHECK(refused.error == errc::overloaded);
    CHECK_FALSE(within.error);
    CHECK_FALSE(of_one.error);
    CHECK_FALSE(waits.done);
}

// GCC 12 destroys an object that an option owns twice, if a co_await contains the option.
static_assert(std::is_trivially_copyable_v<acquire_options>);
static_assert(std::is_trivially_copyable_v<extend_options>);
static_assert(std::is_trivially_copyable_v<release_options>);
static_assert(std::is_trivially_copyable_v<inspect_options>);

TEST_CASE("options can be written within a co_await", "[owner]")
{
    running_scene s(some_config());
    const redlock::reentrant_owner me;
    const auto twice = [&]() -> asio::awaitable<void> {
        lock outer =
            co_await s.locks->async_acquire(s.name, {.ttl = long_ttl, .reentrant_owner = &me});
        lock inner =
            co_await s.locks->async_acquire(s.name, {.ttl = long_ttl, .reentrant_owner = &me});
        const auto first = co_await s.locks->async_release(std::move(inner));
        CHECK(first == release_result::still_held);
        const auto last = co_await s.locks->async_release(std::move(outer));
        CHECK(last == release_result::released);
    };
    run_task(s.io, twice());
}

TEST_CASE("an acquire that has begun no longer needs the objects that its options point to",
          "[owner]")
{
    running_scene s(some_config());
    outcome<acquiring> first;
    outcome<acquiring> second;
    std::optional<redlock::reentrant_owner> brief(std::in_place);
    acquire_options o = long_lease();
    o.reentrant_owner = &*brief;
    std::string label = "a name that is longer than a short string";
    const std::string lasting = label;
    o.label = label;
    s.locks->async_acquire(s.name, o, first.receiver());
    s.locks->async_acquire(s.name, o, second.receiver());
    const std::string other = s.name + "/2";
    std::string found;
    std::optional<with_lock_result<void>> ended;
    const auto body = [&](lock&) -> asio::awaitable<void> {
        const inspection i = co_await s.locks->async_inspect(other);
        found = i.holder_label;
    };
    with_lock(*s.locks, other, o, body, [&](with_lock_result<void> r) { ended = std::move(r); });
    brief.reset();
    std::ranges::fill(label, '?');
    REQUIRE(run_until(s.io, [&] { return first.done && second.done && ended; }));
    CHECK(found == lasting);
    outcome<inspecting> looked;
    s.locks->async_inspect(s.name, looked.receiver());
    REQUIRE(run_until(s.io, [&] { return looked.done; }));
    CHECK(looked.value->holder_label == lasting);
    REQUIRE_FALSE(first.error);
    REQUIRE_FALSE(second.error);
    CHECK(first.value->owner_token() == second.value->owner_token());
}
