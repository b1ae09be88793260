#include "harness.hpp"

#include <redlock/reentrant_owner.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;

namespace {

constexpr nanos way = 1ms;
constexpr nanos round_trip = 2 * way;

/// Locks on three nodes, each a millisecond away.
struct line_world : bench_world {
    explicit line_world(redlock::config c = {}) : bench_world(3, std::move(c))
    {
        set_ways(way, way);
        start();
        advance(1s);
    }

    [[nodiscard]] static acquire_options patient(std::chrono::milliseconds ttl = 10s)
    {
        return {.ttl = ttl, .timeout = 60s};
    }
    core::lease& had(std::string_view resource, const acquire_options& o = patient())
    {
        call& c = acquire(resource, o);
        advance(round_trip);
        REQUIRE(c.held != nullptr);
        return *c.held;
    }
    call& waiting(std::string_view resource, const acquire_options& o = patient())
    {
        call& c = acquire(resource, o);
        REQUIRE_FALSE(c.done());
        return c;
    }
    [[nodiscard]] std::size_t in_line() const { return core->snapshot().waiters; }
    /// The first words of the commands that a node got since then, in order.
    [[nodiscard]] std::vector<std::string> sent(std::size_t since) const
    {
        std::vector<std::string> first;
        for (std::size_t i = since; i < peers[0]->log.size(); ++i) {
            first.push_back(peers[0]->log[i][0]);
        }
        return first;
    }
    [[nodiscard]] std::size_t sent() const { return peers[0]->log.size(); }
    void give_back(call& c)
    {
        REQUIRE(c.held != nullptr);
        (void)release(*c.held);
    }
    /// Another client has "r" for a moment, and this client is refused.
    void meet_others()
    {
        occupy("r");
        call& refused = acquire("r", {.timeout = 0ms});
        advance(round_trip);
        CHECK(refused.error == errc::contended);
        flush_keys();
    }
    /// Takes "r", holds it, releases it and leaves it free. Returns the wait for it.
    nanos cycle(nanos hold = {}, nanos gap = round_trip, const acquire_options& o = patient())
    {
        const instant asked = now;
        call& c = acquire("r", o);
        while (!c.done()) {
            advance(100us);
        }
        const nanos waited = now - asked;
        advance(hold);
        give_back(c);
        advance(gap);
        return waited;
    }
    void end_all(const std::vector<call*>& all)
    {
        for (call* c : all) {
            for (int i = 0; i < 400 && !c->done(); ++i) {
                advance(1ms);  // the client may yield to others first
            }
            give_back(*c);
        }
        advance(3s);
        CHECK(keys() == 0);
        CHECK(is_idle());
    }
};

}  // namespace

TEST_CASE("acquires of one client wait in a queue and only the first asks the nodes",
          "[core][line]")
{
    line_world w;
    core::lease& held = w.had("r");
    std::vector<call*> calls;
    const auto asked = w.peers[0]->log.size();
    for (int i = 0; i < 4; ++i) {
        calls.push_back(&w.waiting("r"));
    }
    w.advance(1s);
    CHECK(w.peers[0]->log.size() == asked);
    call& other = w.acquire("another");
    w.advance(1s);
    CHECK(other.done());
    CHECK(w.in_line() == 4);

    (void)w.release(held);
    for (std::size_t i = 0; i < calls.size(); ++i) {
        CHECK(w.in_line() == calls.size() - 1 - i);
        w.advance(round_trip);
        for (std::size_t j = 0; j < calls.size(); ++j) {
            CHECK(calls[j]->done() == (j <= i));
        }
        w.give_back(*calls[i]);
    }
    CHECK(w.core->snapshot().hand_overs == 4);
    CHECK(w.core->snapshot().attempts == 6);
    w.end_all({&other});
}

TEST_CASE("the SET of the next waiter goes out in one batch after the release", "[core][line]")
{
    line_world w;
    redlock::acquire_options o = w.patient();
    o.fencing = false;
    call& first = w.acquire("r", o);
    w.advance(round_trip);
    call& second = w.waiting("r", o);
    call& third = w.waiting("r", o);
    const auto before = w.sent();
    const bool dropped = GENERATE(false, true);
    const instant begun = w.now;
    if (dropped) {
        w.drop(*first.held);
    } else {
        w.give_back(first);
    }
    w.advance(way);
    const auto sent = w.sent(before);
    REQUIRE(sent.size() >= 2);
    CHECK(sent[0] == "EVALSHA");
    CHECK(sent[1] == "SET");
    w.advance(way);
    REQUIRE(second.held != nullptr);
    CHECK(second.ended - begun == round_trip);
    CHECK(second.held->t0 == begun);
    w.end_all({&second, &third});
}

TEST_CASE("a waiter at any position leaves the queue at its deadline or cancellation",
          "[core][line]")
{
    line_world w;
    core::lease& held = w.had("r");
    const std::size_t who = static_cast<std::size_t>(GENERATE(0, 1, 2));
    const bool cancelled = GENERATE(false, true);
    CAPTURE(who, cancelled);
    w.with_report = true;
    std::vector<call*> calls;
    for (std::size_t i = 0; i < 3; ++i) {
        acquire_options o = w.patient();
        if (i == who && !cancelled) {
            o.timeout = 2s;
        }
        calls.push_back(&w.waiting("r", o));
    }
    const instant begun = w.now;
    w.advance(2s - 1ns);
    CHECK(w.in_line() == 3);
    if (cancelled) {
        w.cancel(*calls[who]);
    }
    w.advance(1ns);
    REQUIRE(calls[who]->done());
    CHECK(calls[who]->ended == begun + (cancelled ? nanos{2s} - 1ns : nanos{2s}));
    if (!cancelled) {
        CHECK(calls[who]->error == errc::timed_out);
        const report& told = calls[who]->report;
        CHECK(told.attempts == 0);
        CHECK(told.queue_position == who);
        REQUIRE(told.holder_ttl);
        CHECK(*told.holder_ttl <= 8s);
        CHECK(*told.holder_ttl > 7s);
    }
    CHECK(w.in_line() == 2);
    calls.erase(calls.begin() + static_cast<std::ptrdiff_t>(who));
    (void)w.release(held);
    w.end_all(calls);
}

TEST_CASE("a timed-out waiter in the queue reports how long another client holds the lock",
          "[core][line]")
{
    config c;
    c.release_notifications = GENERATE(false, true);
    line_world w{c};
    const bool is_lasting = GENERATE(false, true);
    for (auto& p : w.peers) {
        p->master.put("r", {.value = "a stranger's",
                            .end = is_lasting ? std::nullopt : std::optional{w.now + 10s}});
    }
    call& first = w.waiting("r");
    w.advance(w.settings.backoff_max);  // the first one has asked once more
    w.with_report = true;
    acquire_options o = w.patient();
    o.timeout = 2s;
    call& second = w.waiting("r", o);
    w.advance(2s);
    REQUIRE(second.error == errc::timed_out);
    if (is_lasting) {
        CHECK_FALSE(second.report.holder_ttl);
    } else {
        REQUIRE(second.report.holder_ttl);
        CHECK(*second.report.holder_ttl <= 8s);
        CHECK(*second.report.holder_ttl > 7s);
    }
    w.cancel(first);
    w.advance(round_trip);
}

TEST_CASE("a waiter that joins during the first one's attempt asks directly after it",
          "[core][line]")
{
    line_world w;
    call& first = w.acquire("r", w.patient());
    w.advance(way);
    call& second = w.waiting("r");
    w.advance(way);
    REQUIRE(first.held != nullptr);
    w.give_back(first);
    w.advance(round_trip);
    CHECK(second.held != nullptr);
    w.end_all({&second});
}

TEST_CASE("a waiter that is cancelled at its turn lets the next one go", "[core][line]")
{
    line_world w;
    core::lease& held = w.had("r");
    call& first = w.waiting("r");
    call& second = w.waiting("r");
    (void)w.release(held);
    w.advance(way);
    w.cancel(first);
    CHECK(first.done());
    w.advance(round_trip);
    CHECK(second.held != nullptr);
    w.end_all({&second});
}

TEST_CASE("an acquire with a single attempt does not wait in the queue", "[core][line]")
{
    line_world w;
    core::lease& held = w.had("r");
    call& in_front = w.waiting("r");
    const bool by_deadline = GENERATE(false, true);
    acquire_options o = w.patient();
    if (by_deadline) {
        o.timeout = 0s;
    } else {
        o.max_attempts = 1;
    }
    w.with_report = true;
    call& c = w.acquire("r", o);
    w.advance(round_trip);
    CHECK(c.error == errc::contended);
    const report& told = c.report;
    CHECK(told.attempts == 1);
    REQUIRE(told.holder_ttl);
    CHECK(*told.holder_ttl > 9s);
    CHECK(w.in_line() == 1);
    (void)w.release(held);
    w.end_all({&in_front});
}

TEST_CASE("the first waiter asks when the holder of its client loses the lock", "[core][line]")
{
    line_world w;
    core::lease& held = w.had("r", w.patient(2s));
    call& first = w.waiting("r");
    call& second = w.waiting("r");
    const auto is_the_firsts = [&] {
        CHECK(first.held != nullptr);
        w.drop(held);
    };
    SECTION("the validity ends without a release")
    {
        const nanos left = held.valid_until() - w.now;
        w.advance(left - 1ns);
        CHECK(w.core->snapshot().attempts == 1);
        w.advance(1ns);
        CHECK(w.core->snapshot().attempts == 2);
        w.advance(1s);
        is_the_firsts();
    }
    SECTION("the lock was extended")
    {
        w.advance(1s);
        call& e = w.extend(held, 4s);
        w.advance(round_trip);
        CHECK_FALSE(e.error);
        w.advance(3s);
        CHECK(w.core->snapshot().attempts == 1);
        w.advance(2s);
        is_the_firsts();
    }
    SECTION("the lock is lost")
    {
        w.flush_keys();
        call& e = w.extend(held, 2s);
        w.advance(round_trip);
        CHECK(e.error == errc::lost);
        w.advance(round_trip);
        is_the_firsts();
    }
    SECTION("the lock is detached")
    {
        w.core->operations().detach(w.now, held);
        w.settle();
        CHECK(w.core->snapshot().attempts == 2);
        w.advance(3s);
        CHECK(first.held != nullptr);
    }
    w.end_all({&first, &second});
}

TEST_CASE("a waiter that cannot get enough validity does not delay the others", "[core][line]")
{
    line_world w;
    core::lease& held = w.had("r");
    acquire_options o = w.patient(1s);
    // A millisecond more than the lock can have.
    o.min_validity = 988ms - 1ms;
    o.timeout = 1s;
    call& first = w.waiting("r", o);
    call& second = w.waiting("r");
    (void)w.release(held);
    w.advance(2 * round_trip);
    CHECK_FALSE(first.done());
    CHECK(second.held != nullptr);
    w.advance(1s);
    CHECK(first.error == errc::timed_out);
    w.end_all({&second});
}

TEST_CASE("a waiter whose turn failed stays at the front of the queue", "[core][line]")
{
    line_world w;
    core::lease& held = w.had("r");
    acquire_options o = w.patient(1s);
    o.min_validity = 988ms - 1ms;  // impossible with nodes that are this far away
    call& first = w.waiting("r", o);
    call& second = w.waiting("r");
    call& third = w.waiting("r");
    (void)w.release(held);
    w.advance(500ms);
    REQUIRE(second.held != nullptr);
    CHECK(w.in_line() == 2);
    w.set_ways(100us, 100us);
    w.give_back(second);
    w.advance(10 * round_trip);
    CHECK(first.held != nullptr);
    CHECK_FALSE(third.done());
    w.end_all({&first, &third});
}

TEST_CASE("a wait queue refuses an acquire beyond its limit", "[core][line]")
{
    redlock::config c;
    const bool each = GENERATE(false, true);
    (each ? c.max_waiters_per_resource : c.max_waiters) = 2;
    c.max_in_flight = 3;
    line_world w(c);
    core::lease& held = w.had("r");
    core::lease& other = w.had("other");
    call& first = w.waiting("r");
    call& second = w.waiting("r");
    call& third = w.acquire("r");
    CHECK(third.error == errc::too_many_waiters);
    CHECK(third.ended == w.now);
    call& behind_other = w.acquire("other");
    CHECK(behind_other.done() == !each);
    // Waiters take no room from the acquires that ask the nodes.
    CHECK(w.core->operations().has_room_for(core::operation::kind::acquire));
    (void)w.release(held);
    (void)w.release(other);
    w.advance(round_trip);
    std::vector<call*> rest{&first, &second};
    if (each) {
        rest.push_back(&behind_other);
    }
    w.end_all(rest);
}

TEST_CASE("a queue serves very many acquires of one owner as fast as few", "[core][line][owner]")
{
    // The processor time for that many waiters.
    const auto spent_on = [](unsigned many) {
        line_world w;
        reentrant_owner me;
        acquire_options mine = w.patient();
        mine.reentrant_owner = &me;
        core::lease& others = w.had("r");
        std::vector<call*> all;
        for (unsigned i = 0; i < many; ++i) {
            all.push_back(&w.acquire("r", mine));
        }
        CHECK(w.in_line() == many);
        const std::clock_t begun = std::clock();
        (void)w.release(others);
        w.advance(round_trip);
        const std::clock_t served = std::clock();
        CHECK(w.in_line() == 0);
        CHECK(std::ranges::all_of(all, [](const call* c) { return c->held != nullptr; }));
        for (const call* c : all) {
            w.drop(*c->held);
        }
        w.advance(1s);
        CHECK(w.is_idle());
        return static_cast<double>(std::max<std::clock_t>(served - begun, 1));
    };
    // Twelve times as many would take 144 times as long if each looked at all others.
    const double few = spent_on(8'000);
    CHECK(spent_on(96'000) < 60 * few);
}

TEST_CASE("a waiter with a reentrant owner gets the lock as soon as its owner has it",
          "[core][line][owner]")
{
    line_world w;
    reentrant_owner me;
    acquire_options mine = w.patient();
    mine.reentrant_owner = &me;
    SECTION("after another acquire of the owner")
    {
        call& first = w.waiting("r", mine);
        call& second = w.waiting("r", mine);
        w.advance(round_trip);
        REQUIRE(first.held != nullptr);
        REQUIRE(second.held != nullptr);
        CHECK(second.held->within == first.held);
        w.drop(*second.held);
        w.drop(*first.held);
    }
    SECTION("before other waiters once the owner has it as one of several")
    {
        core::lease& held = w.had("r");
        call& waits = w.waiting("r", mine);
        call& group = w.acquire(std::vector<std::string>{"q", "r"}, mine);
        call& stranger = w.waiting("r");
        w.core->operations().detach(w.now, held);
        w.flush_keys();
        while (!group.done() && !waits.done()) {
            w.advance(1ms);
        }
        w.advance(100ms);
        if (group.held != nullptr) {
            REQUIRE(waits.held != nullptr);
            CHECK(waits.held->within == group.held);
            w.drop(*group.held);
        } else {
            w.cancel(group);
        }
        w.drop(*waits.held);
        w.advance(2s);
        REQUIRE(stranger.held != nullptr);
        w.drop(*stranger.held);
    }
    w.advance(2s);
    CHECK(w.is_idle());
}

TEST_CASE("a refused acquire asks again as soon as its own client releases the lock in its way",
          "[core][line]")
{
    line_world w;
    const std::vector<std::string> both{"q", "r"};
    w.give_back([&]() -> call& {
        call& before = w.acquire(both);  // loads the scripts for several resources
        w.advance(10 * round_trip);
        return before;
    }());
    w.advance(10 * round_trip);
    call& group = w.acquire(both, w.patient());
    w.advance(10 * round_trip);
    REQUIRE(group.held != nullptr);
    call& c = w.waiting("r");
    // By now its back-off is long.
    w.advance(2s);
    const auto attempts = w.core->snapshot().attempts;
    while (w.core->snapshot().attempts == attempts) {
        w.advance(1ms);
    }
    w.advance(2 * round_trip);
    const instant given = w.now;
    CHECK(w.core->snapshot().attempts == attempts + 1);
    w.give_back(group);
    CHECK(w.core->snapshot().attempts == attempts + 2);
    w.advance(10 * round_trip);
    CHECK(w.core->snapshot().attempts == attempts + 2);
    REQUIRE(c.held != nullptr);
    CHECK(c.held->t0 == given);
    w.end_all({&c});
}

TEST_CASE("a success that expires before its handler runs lets the next waiter go at once",
          "[core][line]")
{
    line_world w;
    w.manual();
    acquire_options o = w.patient(1s);
    o.fencing = false;
    o.timeout = 1s;
    call& first = w.waiting("r", o);
    call& second = w.waiting("r");
    w.advance(round_trip);
    for (unsigned i = 0; i < 2; ++i) {
        w.core->network().on_bytes(w.now, i, "+OK\r\n");
    }
    REQUIRE(w.core->operations().finished() == 1);
    // The program was suspended at that moment.
    w.now += 1s;
    core::operation* const told = w.core->operations().take_finished(w.now);
    REQUIRE(told == first.op);
    CHECK(told->error == errc::timed_out);
    CHECK(second.op->attempts_made == 1);
    w.core->operations().recycle(*told);
}

TEST_CASE("a client that ends completes all its waiters", "[core][line]")
{
    line_world w;
    core::lease& held = w.had("r");
    std::vector<call*> calls;
    for (int i = 0; i < 3; ++i) {
        calls.push_back(&w.waiting("r"));
    }
    if (GENERATE(false, true)) {
        w.core->close(w.now);
    } else {
        w.core->stop(w.now);
    }
    w.settle();
    for (const call* c : calls) {
        CHECK(c->completions == 1);
        CHECK(c->error == errc::closed);
    }
    w.drop(held);
}
