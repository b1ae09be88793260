#include "harness.hpp"

#include <redlock/reentrant_owner.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::test;

namespace {

using names = std::vector<std::string>;

struct owned_world : running_world {
    acquire_options for_me(acquire_options o = {.ttl = 10s})
    {
        o.reentrant_owner = &me;
        return o;
    }
    core::lease& mine(std::string_view resource) { return lock(resource, for_me()); }
    [[nodiscard]] std::size_t commands() const { return core->snapshot().commands; }
    call& given_back(core::lease& l)
    {
        call& c = release(l);
        advance(5ms);
        return c;
    }

    reentrant_owner me;
};

}  // namespace

TEST_CASE("an owner gets a further hold of its lock without a command", "[core][owner]")
{
    owned_world w;
    core::lease& first = w.mine("r");
    const auto asked = w.commands();
    core::lease& second = w.mine("r");
    CHECK(w.commands() == asked);
    CHECK(&first != &second);
    CHECK(&second.root() == &first);
    CHECK(second.token == first.token);

    const bool first_ends_first = GENERATE(true, false);
    core::lease& one = first_ends_first ? first : second;
    core::lease& other = first_ends_first ? second : first;
    CHECK(w.given_back(one).released == release_result::still_held);
    CHECK(w.commands() == asked);
    CHECK(other.root().valid_until() > w.now);
    CHECK(w.keys() == 3);
    CHECK(w.given_back(other).released == release_result::released);
    CHECK(w.keys() == 0);
    CHECK(w.is_idle());

    // After that the lock is free for every owner.
    core::lease& next = w.mine("r");
    CHECK(next.within == nullptr);
    w.drop(next);
    w.advance(5ms);
    CHECK(w.is_idle());
}

TEST_CASE("an acquire that was refused and then gets a further hold has an empty report",
          "[core][owner]")
{
    owned_world w;
    const names both{"q", "r"};
    w.occupy("r");
    w.with_report = true;
    call& refused = w.acquire(both, w.for_me({.ttl = 10s, .timeout = 1min}));
    w.advance(1s);
    REQUIRE(refused.report.attempts > 0);
    w.flush_keys();
    call& first = w.acquire(both, w.for_me());
    w.advance(2s);
    REQUIRE(first.held != nullptr);
    REQUIRE(refused.held != nullptr);
    REQUIRE(refused.held->within == first.held);
    CHECK(refused.report.nodes.empty());
    CHECK(refused.report.attempts == 0);
    w.drop(*refused.held);
    w.drop(*first.held);
    w.advance(5ms);
    CHECK(w.is_idle());
}

TEST_CASE("an acquire of another owner or without one must wait", "[core][owner]")
{
    owned_world w;
    core::lease& held = w.mine("r");
    acquire_options other{.timeout = 0ms};
    CHECK(w.acquire("r", other).error == errc::contended);
    const redlock::reentrant_owner someone;
    other.reentrant_owner = &someone;
    CHECK(w.acquire("r", other).error == errc::contended);
    const reentrant_owner same = w.me;
    other.reentrant_owner = &same;
    call& again = w.acquire("r", other);
    REQUIRE(again.held != nullptr);
    w.drop(*again.held);
    w.drop(held);
    w.advance(50ms);
    CHECK(w.is_idle());
}

TEST_CASE("a further hold that would be too short extends the lock", "[core][owner]")
{
    owned_world w;
    core::lease& first = w.mine("r");
    w.advance(6s);
    const auto before = first.valid_until();
    SECTION("if less than half of the validity for its ttl is left")
    {
        core::lease& second = w.lock("r", w.for_me({.ttl = 9s}));
        CHECK(first.valid_until() == second.root().valid_until());
        CHECK(first.valid_until() > before + 4s);
        w.drop(second);
    }
    SECTION("but not if half is left")
    {
        const auto asked = w.commands();
        w.drop(w.lock("r", w.for_me({.ttl = 7s})));
        CHECK(w.commands() == asked);
        CHECK(first.valid_until() == before);
    }
    SECTION("if less than min_validity is left")
    {
        w.drop(w.lock("r", w.for_me({.ttl = 7s, .min_validity = 6s})));
        CHECK(first.valid_until() > before + 2s);
    }
    SECTION("and fails if no majority answers")
    {
        for (unsigned i = 0; i < 2; ++i) {
            w.peers[i]->frozen = true;
        }
        call& c = w.acquire("r", w.for_me({.ttl = 9s, .timeout = 0ms}));
        w.advance(100ms);
        CHECK(c.error == errc::unavailable);
        CHECK(first.valid_until() == before);
        CHECK(first.holds == 1);
        w.thaw(0);
        w.thaw(1);
    }
    SECTION("and retries like other acquires until its deadline")
    {
        for (unsigned i = 0; i < 2; ++i) {
            w.peers[i]->frozen = true;
        }
        const bool is_in_time = GENERATE(true, false);
        call& c = w.acquire("r", w.for_me({.ttl = 9s, .timeout = is_in_time ? 3s : 1s}));
        w.advance(is_in_time ? 500ms : 2s);
        CHECK(c.done() == !is_in_time);
        w.thaw(0);
        w.thaw(1);
        w.advance(1s);
        if (is_in_time) {
            REQUIRE(c.held != nullptr);
            CHECK(first.valid_until() > before + 3s);
            w.drop(*c.held);
        } else {
            CHECK(c.error == errc::timed_out);
        }
        CHECK(first.holds == 1);
    }
    SECTION("and retries no more often than max_attempts")
    {
        for (unsigned i = 0; i < 2; ++i) {
            w.peers[i]->frozen = true;
        }
        call& c = w.acquire("r", w.for_me({.ttl = 9s, .max_attempts = 2}));
        w.advance(2s);
        CHECK(c.error == errc::unavailable);
        w.thaw(0);
        w.thaw(1);
    }
    SECTION("and does not begin after the deadline if it wakes up late")
    {
        w.peers[0]->frozen = w.peers[1]->frozen = true;
        call& c = w.acquire("r", w.for_me({.ttl = 9s, .timeout = 1s}));
        w.advance(60ms);
        CHECK_FALSE(c.done());
        const auto asked = w.count(2, "EVALSHA");
        w.now += 2s;
        w.advance(0ms);
        CHECK(c.error == errc::timed_out);
        CHECK(w.count(2, "EVALSHA") == asked);
        w.thaw(0);
        w.thaw(1);
    }
    SECTION("and can be cancelled between two attempts")
    {
        w.peers[0]->frozen = w.peers[1]->frozen = true;
        call& c = w.acquire("r", w.for_me({.ttl = 9s}));
        w.advance(60ms);
        CHECK_FALSE(c.done());
        w.cancel(c);
        CHECK(c.done());
        CHECK(first.holds == 1);
        w.thaw(0);
        w.thaw(1);
    }
    SECTION("and can be cancelled during an attempt")
    {
        w.manual();
        call& c = w.acquire("r", w.for_me({.ttl = 9s}));
        w.cancel(c);
        CHECK(c.done());
        CHECK(c.held == nullptr);
        CHECK(first.holds == 1);
        for (unsigned i = 0; i < 3; ++i) {
            w.answer(i, yes);
        }
        w.manual(false);
    }
    SECTION("and may find that the lock is lost")
    {
        for (unsigned i = 0; i < 2; ++i) {
            w.peers[i]->master.flush_keys();
        }
        CHECK(w.acquire("r", w.for_me({.ttl = 9s})).error == errc::lost);
        CHECK(first.lost);
    }
    w.drop(first);
    w.advance(50ms);  // a client waits before it replaces stalled connections
    CHECK(w.keys() == 0);
    CHECK(w.is_idle());
}

TEST_CASE("a further hold of a lost lock fails although the lock is free", "[core][owner]")
{
    owned_world w;
    core::lease& first = w.mine("r");
    w.advance(20s);
    CHECK(w.acquire("r", w.for_me()).error == errc::lost);
    w.drop(first);
    w.advance(5ms);
    core::lease& next = w.mine("r");
    CHECK(next.within == nullptr);
    w.drop(next);
    w.advance(5ms);
    CHECK(w.is_idle());
}

TEST_CASE("a further hold joins the owner's lock that is still valid", "[core][owner]")
{
    owned_world w;
    core::lease& first = w.lock("r", w.for_me({.ttl = 1s}));
    w.advance(2s);
    call& both = w.acquire(names{"r", "s"}, w.for_me());
    w.advance(5ms);
    REQUIRE(both.held != nullptr);
    core::lease& again = w.mine("r");
    CHECK(&again.root() == both.held);
    w.drop(first);
    w.drop(again);
    w.drop(*both.held);
    w.advance(50ms);
    CHECK(w.keys() == 0);
    CHECK(w.is_idle());
}

TEST_CASE("a detached lock loses all its further holds", "[core][owner]")
{
    owned_world w;
    core::lease& first = w.mine("r");
    core::lease& second = w.mine("r");
    call& lost = w.wait_lost(second);
    w.core->operations().detach(w.now, first);
    w.settle();
    CHECK(lost.error == errc::not_held);
    CHECK(second.root().valid_until() <= w.now);
    CHECK(w.acquire("r", w.for_me({.timeout = 0ms})).error == errc::contended);
    CHECK(w.given_back(second).released == release_result::not_held);
    CHECK(w.keys() == 3);
    CHECK(w.core->snapshot().leases == 0);
}

TEST_CASE("a further hold waits for no node that never answered", "[core][owner]")
{
    bench_world w;
    w.peers[2]->dial = peer::dialling::silent;
    w.start();
    acquire_options mine{.ttl = 10s};
    const redlock::reentrant_owner someone;
    mine.reentrant_owner = &someone;
    core::lease& first = w.lock("r", mine);
    w.close(0);
    call& c = w.acquire("r", mine);
    CHECK(c.held != nullptr);
    w.drop(*c.held);
    w.drop(first);
    w.advance(5s);
}

TEST_CASE("two waiters of one owner both hold the lock once one of them gets it", "[core][owner]")
{
    owned_world w;
    core::lease& others = w.lock("r", {.ttl = 10s});
    call& one = w.acquire("r", w.for_me({.ttl = 10s, .timeout = 5s}));
    call& two = w.acquire("r", w.for_me({.ttl = 10s, .timeout = 5s}));
    w.advance(300ms);
    CHECK_FALSE(one.done());
    w.drop(others);
    w.advance(2s);
    REQUIRE(one.held != nullptr);
    REQUIRE(two.held != nullptr);
    CHECK(&one.held->root() == &two.held->root());
    w.drop(*one.held);
    w.advance(5ms);
    CHECK(w.keys() == 3);
    w.drop(*two.held);
    w.advance(5ms);
    CHECK(w.keys() == 0);
    CHECK(w.is_idle());
}

TEST_CASE("an owner of several resources gets further holds of each or some of them",
          "[core][owner][group]")
{
    owned_world w;
    call& all = w.acquire(names{"a", "b", "c"}, w.for_me());
    w.advance(5ms);
    REQUIRE(all.held != nullptr);
    const auto asked = w.commands();
    core::lease& one = w.mine("b");
    call& two = w.acquire(names{"c", "a"}, w.for_me());
    REQUIRE(two.held != nullptr);
    CHECK(w.commands() == asked);
    CHECK(one.resource == "b");
    CHECK(two.held->resources().front() == "c");
    CHECK(w.acquire(names{"a", "d"}, w.for_me()).error == errc::held_in_part);
    CHECK(w.acquire(names{"d", "b"}, w.for_me()).error == errc::held_in_part);
    acquire_options other{.ttl = 10s, .timeout = 0ms};
    const redlock::reentrant_owner someone;
    other.reentrant_owner = &someone;
    CHECK(w.acquire(names{"a", "d"}, other).error == errc::contended);
    w.drop(*all.held);
    w.drop(one);
    w.advance(50ms);
    CHECK(w.keys() == 9);
    w.drop(*two.held);
    w.advance(50ms);
    CHECK(w.keys() == 0);
    CHECK(w.is_idle());
}

TEST_CASE("a further hold can keep the lock alive and extend it and hear of its loss",
          "[core][owner][keep_alive]")
{
    owned_world w;
    core::lease& first = w.lock("r", w.for_me({.ttl = 2s}));
    const bool is_waited_for = GENERATE(true, false);
    call* early = is_waited_for ? &w.wait_lost(first) : nullptr;
    core::lease& second = w.lock("r", w.for_me({.ttl = 2s, .keep_alive = keep_alive{}}));
    core::lease& third = w.lock("r", w.for_me({.ttl = 2s, .keep_alive = keep_alive{}}));
    CHECK(w.core->snapshot().kept_alive == 1);
    call& lost = w.wait_lost(second);
    w.advance(10s);
    CHECK(first.valid_until() > w.now);
    call& extended = w.extend(third, 30s);
    w.advance(5ms);
    CHECK_FALSE(extended.error);
    CHECK(first.valid_until() > w.now + 25s);
    w.drop(first);
    CHECK((early == nullptr || early->error == errc::not_held));
    CHECK_FALSE(lost.done());
    w.drop(second);
    w.advance(5ms);
    // The lock continues, but this hold has ended and can no longer be lost.
    CHECK(lost.error == errc::not_held);
    CHECK(w.core->snapshot().kept_alive == 1);
    w.advance(60s);
    CHECK(third.root().valid_until() > w.now);
    w.drop(third);
    w.advance(5ms);
    CHECK(w.core->snapshot().kept_alive == 0);
    CHECK(w.is_idle());
}

TEST_CASE("a client keeps a lock alive as long as one of its holds wants that",
          "[core][owner][keep_alive]")
{
    owned_world w;
    core::lease& first = w.lock("r", w.for_me({.ttl = 2s}));
    core::lease& second = w.lock("r", w.for_me({.ttl = 2s, .keep_alive = keep_alive{}}));
    core::lease& third = w.lock("r", w.for_me({.ttl = 2s, .keep_alive = keep_alive{}}));
    w.advance(10s);
    const bool ends_in_turn = GENERATE(true, false);
    w.drop(ends_in_turn ? second : third);
    w.advance(10s);
    CHECK(first.valid_until() > w.now);
    CHECK(w.core->snapshot().kept_alive == 1);
    const bool is_renewing = GENERATE(true, false);
    if (is_renewing) {
        w.peers[0]->frozen = w.peers[1]->frozen = true;
        w.advance(600ms);
    }
    call& lost = w.wait_lost(first);
    const auto renewed = w.core->snapshot().renewed;
    w.drop(ends_in_turn ? third : second);
    w.thaw(0);
    w.thaw(1);
    CHECK(w.core->snapshot().kept_alive == 0);
    const auto end = first.valid_until();
    CHECK(end > w.now);
    w.advance(300ms);
    CHECK(first.valid_until() == end);
    CHECK_FALSE(lost.done());
    w.advance(2s);
    CHECK(lost.error == errc::lost);
    CHECK(w.core->snapshot().renewed == renewed);
    w.drop(first);
    w.advance(5s);
    CHECK(w.is_idle());
}

TEST_CASE("the hold with the largest demands decides how long a lock is kept",
          "[core][owner][keep_alive]")
{
    owned_world w;
    const auto kept = [](keep_alive how = {}) { return std::optional{how}; };
    SECTION("by a ttl that is longer than the lock's")
    {
        core::lease& first = w.lock("r", w.for_me({.ttl = 1s}));
        acquire_options o = w.for_me({.ttl = 10s, .min_validity = 100ms});
        o.keep_alive = kept();
        core::lease& second = w.lock("r", o);
        w.advance(5s);
        CHECK(first.valid_until() > w.now);
        CHECK(w.core->snapshot().renewed > 0);
        w.advance(5s);
        CHECK(first.valid_until() > w.now + 5s);
        w.drop(second);
        w.drop(first);
    }
    SECTION("by a max_hold that the first renewal reaches")
    {
        core::lease& first = w.lock("r", w.for_me({.ttl = 6s}));
        acquire_options o = w.for_me({.ttl = 10s});
        o.keep_alive = kept({.max_hold = 10s});
        core::lease& second = w.lock("r", o);
        w.advance(9s);
        CHECK(first.valid_until() > w.now);
        w.advance(2s);
        CHECK(first.lost);
        w.drop(second);
        w.drop(first);
    }
    SECTION("by the longest max_hold")
    {
        acquire_options o = w.for_me({.ttl = 2s});
        o.keep_alive = kept({.max_hold = 4s});
        core::lease& first = w.lock("r", o);
        o.keep_alive = kept({.max_hold = 20s});
        w.advance(2s);
        core::lease& second = w.lock("r", o);
        w.advance(19s);
        CHECK(first.valid_until() > w.now);
        CHECK(w.core->snapshot().limits_reached <= 1);
        w.advance(2s);
        CHECK(first.lost);
        CHECK(w.core->snapshot().limits_reached == 1);
        w.drop(second);
        w.drop(first);
    }
    SECTION("by the largest max_renewals")
    {
        acquire_options o = w.for_me({.ttl = 3s});
        o.keep_alive = kept({.max_renewals = 1});
        core::lease& first = w.lock("r", o);
        core::lease& second = w.lock("r", w.for_me({.ttl = 3s, .keep_alive = keep_alive{}}));
        w.advance(20s);
        CHECK(first.valid_until() > w.now);
        w.drop(second);
        w.advance(3s);
        CHECK(first.lost);
        w.drop(first);
    }
    SECTION("even if the other holds have already reached their limits")
    {
        acquire_options o = w.for_me({.ttl = 3s});
        o.keep_alive = kept({.max_renewals = 0});
        core::lease& first = w.lock("r", o);
        w.advance(1s);
        CHECK(w.core->snapshot().limits_reached == 1);
        core::lease& second = w.lock("r", w.for_me({.ttl = 3s, .keep_alive = keep_alive{}}));
        w.advance(20s);
        CHECK(first.valid_until() > w.now);
        w.drop(second);
        w.drop(first);
    }
    w.advance(5s);
    CHECK(w.is_idle());
}

TEST_CASE("a further hold that asks for a fencing token fails if the lock has none",
          "[core][owner][fencing]")
{
    owned_world w;
    core::lease& first = w.lock("r", w.for_me({.ttl = 10s, .fencing = false}));
    const auto asked = w.commands();
    CHECK(w.acquire("r", w.for_me({.ttl = 10s, .fencing = true})).error == errc::no_fencing_token);
    CHECK(w.commands() == asked);
    CHECK(first.holds == 1);
    core::lease& second = w.lock("r", w.for_me({.ttl = 10s, .fencing = false}));
    w.drop(first);
    w.drop(second);
    w.advance(5ms);
    CHECK(w.is_idle());
}

TEST_CASE("a further hold whose lock ends before its handler runs is lost", "[core][owner]")
{
    owned_world w;
    core::lease& first = w.lock("r", w.for_me({.ttl = 1s}));
    w.advance(5ms);
    acquire_options o = w.for_me({.ttl = 1s, .timeout = 10s});
    core::operation& op = w.core->operations().acquire(w.now, "r", o);
    op.user = nullptr;
    // The program is suspended between the decision and the handler.
    w.now += 3s;
    w.core->check_leases(w.now);
    core::operation* told = w.core->operations().take_finished(w.now);
    REQUIRE(told == &op);
    CHECK(told->error == errc::lost);
    CHECK(first.lost);
    w.core->operations().recycle(*told);
    w.drop(first);
    w.advance(5ms);
    CHECK(w.is_idle());
}

TEST_CASE("the number of holds is right after allocations have failed", "[core][owner]")
{
    for (unsigned every = 1; every < 12; ++every) {
        owned_world w;
        core::lease& first = w.mine("r");
        w.fail_every = every;
        std::vector<call*> begun;
        for (int i = 0; i < 20; ++i) {
            begun.push_back(&w.acquire("r", w.for_me({.ttl = i % 2 == 0 ? 10s : 30s})));
            w.advance(1ms);
        }
        w.fail_every = 0;
        // An acquire whose extend has failed for lack of memory extends again after a pause.
        for (int second = 0; second < 9 && !std::ranges::all_of(begun, &call::done); ++second) {
            w.advance(1s);
        }
        for (call* c : begun) {
            if (c->held != nullptr) {
                w.drop(*c->held);
            }
        }
        CHECK(first.holds == 1);
        CHECK(w.given_back(first).released == release_result::released);
        w.advance(2min);
        CHECK(w.keys() == 0);
        CHECK(w.is_idle());
    }
}

TEST_CASE("a failed acquire of several resources without memory leaves no owner's lock",
          "[core][owner][group]")
{
    const unsigned every = GENERATE(range(1u, 12u));
    owned_world w;
    for (auto& p : w.peers) {
        p->frozen = true;
    }
    call& begun = w.acquire(names{"a", "b", "c"}, w.for_me());
    w.fail_every = every;
    for (unsigned i = 0; i < 3; ++i) {
        w.thaw(i);
    }
    w.fail_every = 0;
    w.advance(1s);
    if (begun.held != nullptr) {
        w.drop(*begun.held);
    }
    w.advance(1s);
    for (const char* name : {"a", "b", "c"}) {
        core::lease& next = w.lock(name, w.for_me({.ttl = 10s, .timeout = 30s}));
        CHECK(next.within == nullptr);
        w.drop(next);
    }
    w.advance(2min);
    CHECK(w.keys() == 0);
    CHECK(w.is_idle());
}

TEST_CASE("an owner's other locks do not affect a further hold", "[core][owner]")
{
    owned_world w;
    std::vector<core::lease*> held;
    for (int i = 0; i < 50; ++i) {
        held.push_back(&w.mine("r" + std::to_string(i)));
    }
    for (int i = 0; i < 50; ++i) {
        core::lease& again = w.mine("r" + std::to_string(i));
        CHECK(&again.root() == held[static_cast<std::size_t>(i)]);
        w.drop(*held[static_cast<std::size_t>(i)]);
        CHECK(w.mine("r" + std::to_string(i)).within == &again.root());
    }
}
