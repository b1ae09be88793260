#include "harness.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cerrno>
#include <string>
#include <string_view>
#include <vector>

using namespace redlock;
using namespace redlock::test;

namespace {

constexpr std::string_view foreign_kind =
    "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n";

}  // namespace

TEST_CASE("an extend renews a lease on a majority", "[core]")
{
    running_world w;
    core::lease& l = w.lock("r", {.ttl = 10s});
    w.advance(5s);
    call& e = w.extend(l, 10s);
    REQUIRE(e.done());
    CHECK_FALSE(e.error);
    CHECK(l.valid_until() == w.settings.validity_end(w.now, 10s));
    w.advance(6s);
    CHECK(w.keys() == 3);
    CHECK(w.core->snapshot().extended == 1);
}

TEST_CASE("a short extend does not shorten a long lease", "[core]")
{
    running_world w;
    core::lease& l = w.lock("r", {.ttl = 10s});
    const instant before = l.valid_until();
    CHECK_FALSE(w.extend(l, 1s).error);
    CHECK(l.valid_until() >= before);
    w.advance(5s);
    CHECK(w.keys() == 3);
}

TEST_CASE("an extend from a lost connection does not shorten a later one", "[core]")
{
    running_world w{3, {.reconnect_backoff_max = 20ms}};
    core::lease& l = w.lock("r", {.ttl = 10s});
    w.peers[0]->frozen = w.peers[1]->frozen = true;
    (void)w.extend(l, 10s);
    for (const unsigned i : {0u, 1u}) {
        w.go_astray(i, 1, 3s);
        w.close(i);
        w.thaw(i);
    }
    w.advance(1s);
    REQUIRE(w.ready() == 3);
    call& longer = w.extend(l, 60s);
    REQUIRE(longer.done());
    REQUIRE_FALSE(longer.error);
    // Both nodes execute the first extend only now.
    w.advance(50s);
    CHECK(w.peers[0]->strays.empty());
    CHECK(w.now < l.valid_until());
    CHECK(w.keys() == 3);
}

TEST_CASE("an adopt for less than the rest of a lease keeps the rest", "[core]")
{
    running_world w;
    core::lease& l = w.lock("r", {.ttl = 60s});
    call& a = w.adopt("r", l.token, 1s);
    REQUIRE(a.done());
    REQUIRE_FALSE(a.error);
    CHECK(a.held->valid_until() == w.settings.validity_end(w.now, 1s));
    w.advance(50s);
    CHECK(w.now < l.valid_until());
    CHECK(w.keys() == 3);
}

TEST_CASE("p10: a lease is lost after a pause beyond its validity", "[core][pitfall][p10]")
{
    manual_world w;
    call& c = w.acquire("r", {.ttl = 1s});
    w.answer(0, ok);
    w.answer(1, ok);
    w.answer(2, ok);
    REQUIRE(c.held != nullptr);
    SECTION("an extend then asks no node")
    {
        w.now = c.held->valid_until();
        CHECK(w.extend(*c.held, 1s).error == errc::lost);
        CHECK(w.pending(0).empty());
    }
    SECTION("an extend whose answers come too late does not save it")
    {
        call& e = w.extend(*c.held, 1s);
        w.now += 2s;
        w.answer(0, yes);
        w.answer(1, yes);
        CHECK(e.error == errc::lost);
        CHECK(c.held->valid_until() < w.now);
    }
    CHECK(w.extend(*c.held, 1s).error == errc::lost);
}

namespace {

/// All three nodes have answered, and no handler has run yet.
void everybody_answers(bench_world& w, std::string_view bytes)
{
    for (unsigned i = 0; i < 3; ++i) {
        w.core->network().on_bytes(w.now, i, bytes);
    }
    REQUIRE(w.core->operations().finished() == 1);
}

}  // namespace

TEST_CASE("p10: a lock that ends before its handler runs is not reported as acquired",
          "[core][pitfall][p10]")
{
    manual_world w;
    std::vector<std::string> asked{"SET", "EVALSHA"};
    const auto had_before_a_pause = [&](const acquire_options& o, nanos pause) -> call& {
        call& c = w.acquire("r", o);
        everybody_answers(w, ok);
        w.now += pause;
        w.settle();
        return c;
    };
    SECTION("the last attempt won too late")
    {
        call& c = had_before_a_pause({.ttl = 10s, .timeout = 1h, .max_attempts = 1}, 10s);
        CHECK(c.error == errc::expired);
        CHECK(w.core->snapshot().expired == 1);
    }
    SECTION("the deadline has passed too")
    {
        call& c = had_before_a_pause({.ttl = 10s, .timeout = 5s}, 10s);
        CHECK(c.error == errc::timed_out);
        CHECK(w.core->snapshot().timed_out == 1);
    }
    SECTION("less than min_validity is left")
    {
        call& c = had_before_a_pause(
            {.ttl = 10s, .timeout = 1h, .max_attempts = 1, .min_validity = 5s}, 5s);
        CHECK(c.error == errc::expired);
    }
    SECTION("the client is closed")
    {
        call& c = w.acquire("r", {.ttl = 10s, .timeout = 1h});
        everybody_answers(w, ok);
        w.core->close(w.now);
        w.now += 10s;
        w.settle();
        CHECK(c.error == errc::closed);
    }
    SECTION("the caller has cancelled it")
    {
        w.with_report = true;
        call& c = w.acquire("r", {.ttl = 10s, .timeout = 1h});
        everybody_answers(w, ok);
        w.core->operations().cancel(w.now, *c.op);
        w.now += 10s;
        w.settle();
        CHECK(c.error.value() == ECANCELED);
        asked = {"SET", "PTTL", "EVALSHA"};
        CHECK(c.report.nodes.empty());
        CHECK(w.core->snapshot().cancelled == 1);
    }
    SECTION("one nanosecond is left")
    {
        const nanos left = w.settings.validity_end(w.now, 10s) - w.now;
        call& c = had_before_a_pause({.ttl = 10s, .max_attempts = 1}, left - nanos{1});
        REQUIRE_FALSE(c.error);
        CHECK(c.held->valid_until() == w.now + nanos{1});
        return;
    }
    CHECK(w.core->snapshot().acquired == 0);
    for (unsigned i = 0; i < 3; ++i) {
        CHECK(w.pending(i) == asked);
    }
}

TEST_CASE("an acquire that is decided succeeds although it is cancelled before its handler runs",
          "[core]")
{
    manual_world w;
    call& c = w.acquire("r", {.ttl = 10s, .timeout = 1h});
    everybody_answers(w, ok);
    w.core->operations().cancel(w.now, *c.op);
    w.settle();
    CHECK_FALSE(c.error);
    CHECK(c.held != nullptr);
    CHECK(w.core->snapshot().cancelled == 0);
    CHECK(w.core->snapshot().acquired == 1);
}

TEST_CASE("an acquire whose lock ends before its handler runs continues until its deadline",
          "[core]")
{
    manual_world w;
    call& c = w.acquire("r", {.ttl = 10s, .timeout = 1h});
    const std::string first(c.op->subject->token.view());
    everybody_answers(w, ok);
    w.now += 20s;
    w.settle();
    REQUIRE_FALSE(c.done());
    for (unsigned i = 0; i < 3; ++i) {
        CHECK(w.pending(i) == std::vector<std::string>{"SET", "EVALSHA", "SET", "PTTL"});
        w.core->network().on_bytes(w.now, i, is_master);
        w.core->network().on_bytes(w.now, i, yes);
        w.core->network().on_bytes(w.now, i, ok);
    }
    w.settle();
    REQUIRE(c.done());
    REQUIRE_FALSE(c.error);
    CHECK(c.held->token.view() != first);
    CHECK(c.held->valid_until() == w.settings.validity_end(w.now, 10s));
    CHECK(w.core->snapshot().acquired == 1);
    CHECK(w.core->snapshot().attempts == 2);
}

TEST_CASE("p10: an extend whose lease ends before its handler runs is lost", "[core][pitfall][p10]")
{
    running_world w;
    core::lease& l = w.lock("r", {.ttl = 10s});
    w.manual();
    SECTION("the lease of a held lock")
    {
        call& c = w.extend(l, 10s);
        everybody_answers(w, yes);
        w.now += 10s;
        w.settle();
        CHECK(c.error == errc::lost);
        CHECK(l.valid_until() <= w.now);
        w.manual(false);
        CHECK(w.extend(l, 10s).error == errc::lost);
    }
    SECTION("the lease of an adopted lock")
    {
        call& c = w.adopt("r", l.token, 10s);
        everybody_answers(w, yes);
        w.now += 10s;
        w.settle();
        CHECK(c.error == errc::lost);
        CHECK(c.held == nullptr);
    }
    SECTION("a lease that was released in the meantime")
    {
        call& c = w.extend(l, 10s);
        everybody_answers(w, yes);
        core::operation& released = w.core->operations().release(w.now, l, nullptr);
        call& r = w.calls.emplace_back();
        released.user = &r;
        w.settle();
        CHECK(c.error == errc::not_held);
    }
    CHECK(w.core->snapshot().extended == 0);
}

TEST_CASE("p22: an extend without the key on a majority is lost", "[core][pitfall][p22]")
{
    for (const bool missing : {false, true}) {
        running_world w;
        core::lease& l = w.lock("r");
        if (missing) {
            w.peers[0]->master.flush_keys();
            w.peers[1]->master.flush_keys();
        } else {
            w.occupy("r", {0, 1});
        }
        CHECK(w.extend(l, 10s).error == errc::lost);
        CHECK(w.core->snapshot().lost == 1);
        // The loss is final, whatever the nodes answer later.
        for (auto& p : w.peers) {
            p->master.put("r", {.value = std::string(l.token.view()), .end = w.now + 1h});
        }
        CHECK(w.extend(l, 10s).error == errc::lost);
    }
}

TEST_CASE("p23: an extend creates no key", "[core][pitfall][p23]")
{
    running_world w;
    core::lease& a = w.lock("r", {.ttl = 1s});
    w.flush_keys();
    core::lease& b = w.lock("r", {.ttl = 1s, .max_attempts = 1});
    (void)w.release(b);
    CHECK(w.extend(a, 1s).error == errc::lost);
    CHECK(w.keys() == 0);
    w.advance(2s);
    CHECK(w.extend(a, 1s).error == errc::lost);
    CHECK(w.keys() == 0);
}

TEST_CASE("p24: a client takes each reply of a script for what it means", "[core][pitfall][p24]")
{
    manual_world w{1};
    call& c = w.acquire("r");
    w.answer(0, ok);
    REQUIRE(c.held != nullptr);
    const auto extended = [&](std::string_view reply) {
        call& e = w.extend(*c.held, 10s);
        w.answer(0, reply);
        return e.error;
    };
    CHECK_FALSE(extended(":1\r\n"));
    CHECK(extended("-OOM something\r\n") == errc::unavailable);
    CHECK_FALSE(extended(":1\r\n"));
    for (const std::string_view refusal : {no, foreign_kind}) {
        CAPTURE(refusal);
        const base::instant before = c.held->valid_until();
        CHECK(extended(refusal) == errc::lost);
        CHECK(c.held->valid_until() == base::instant{});
        c.held->lost = false;
        c.held->set_valid_until(before);
    }
}

TEST_CASE("p24: a reply that no script gives is no vote and ends the connection",
          "[core][pitfall][p24]")
{
    for (const std::string_view reply :
         {":2\r\n", ":-1\r\n", ":9223372036854775807\r\n", "_\r\n", "$-1\r\n", "*-1\r\n", "+OK\r\n",
          "*0\r\n", "$1\r\n1\r\n", "#t\r\n", "#f\r\n", ",1\r\n"}) {
        for (const bool releases : {true, false}) {
            CAPTURE(reply, releases);
            running_world w{1};
            core::lease& l = w.lock("r");
            const base::instant until = l.valid_until();
            w.manual();
            call& c = releases ? w.release(l) : w.extend(l, 20s);
            w.answer(0, reply);
            CHECK(w.peers[0]->closes == 1);
            CHECK(w.core->snapshot().protocol_errors == 1);
            w.advance(50ms);
            CHECK(c.error == errc::unavailable);
            CHECK((releases || l.valid_until() == until));
            // The pending release goes out on the next connection.
            w.manual(false);
            w.advance(5s);
            CHECK(w.keys() == (releases ? 0 : 1));
        }
    }
}

TEST_CASE("p24: a client checks the reply of a native compare-and-delete in the same way",
          "[core][pitfall][p24]")
{
    for (const std::string_view reply : {":2\r\n", ":-1\r\n", "_\r\n"}) {
        CAPTURE(reply);
        bench_world w{1};
        w.peers[0]->master.has_delifeq = true;
        w.start();
        core::lease& l = w.lock("r");
        w.manual();
        call& r = w.release(l);
        CHECK(w.pending(0) == std::vector<std::string>{"DELIFEQ"});
        w.answer(0, reply);
        CHECK(w.peers[0]->closes == 1);
        w.manual(false);
        w.advance(5s);
        CHECK_FALSE(r.error);
        CHECK(r.released == release_result::released);
        CHECK(w.keys() == 0);
        CHECK(w.is_idle());
    }
}

TEST_CASE("p25: a node without memory fails an acquire but extends and releases",
          "[core][pitfall][p25]")
{
    running_world w;
    core::lease& l = w.lock("r");
    w.refuse("SET", "OOM command not allowed when used memory > 'maxmemory'.");
    w.with_report = true;
    call& full = w.acquire("other", {.timeout = 0ms});
    CHECK(full.error == errc::unavailable);
    CHECK(full.report.nodes[0].outcome == node_outcome::failed);
    CHECK(full.report.nodes[0].error.starts_with("OOM"));
    CHECK_FALSE(w.extend(l, 10s).error);
    CHECK(w.release(l).released == release_result::released);
    CHECK(w.keys() == 0);
}

TEST_CASE("p26: a failed extend can be repeated while the lease is valid", "[core][pitfall][p26]")
{
    running_world w;
    core::lease& l = w.lock("r", {.ttl = 10s});
    const instant end = l.valid_until();
    w.refuse("EVALSHA", "LOADING Redis is loading the dataset in memory");
    CHECK(w.extend(l, 10s).error == errc::unavailable);
    CHECK(l.valid_until() == end);
    w.refuse_nothing();
    w.advance(1s);
    CHECK_FALSE(w.extend(l, 10s).error);
    CHECK(l.valid_until() == w.settings.validity_end(w.now, 10s));
    CHECK(w.keys() == 3);
}

TEST_CASE("p27: an extend on a minority neither lengthens nor shortens the lease",
          "[core][pitfall][p27]")
{
    manual_world w{5};
    call& c = w.acquire("r", {.ttl = 10s});
    for (unsigned i = 0; i < 5; ++i) {
        w.answer(i, ok);
    }
    const instant end = c.held->valid_until();
    w.now += 1s;
    call& e = w.extend(*c.held, 20s);
    w.answer(0, yes);
    w.answer(1, yes);
    w.answer(2, broken);
    CHECK_FALSE(e.done());
    w.advance(50ms);
    CHECK(e.error == errc::unavailable);
    CHECK(c.held->valid_until() == end);
    // A cancelled extend changes nothing either.
    call& gone = w.extend(*c.held, 30s);
    w.cancel(gone);
    CHECK(gone.error.value() == ECANCELED);
    CHECK(c.held->valid_until() == end);
}

TEST_CASE("p29: an extend that ends after the release revives nothing", "[core][pitfall][p29]")
{
    running_world w;
    for (const bool dropped : {false, true}) {
        CAPTURE(dropped);
        core::lease& l = w.lock("r");
        w.manual();
        call& e = w.extend(l, 10s);
        // The lease is read while its release is pending.
        if (dropped) {
            w.drop(l);
        } else {
            (void)w.release(l);
        }
        CHECK(l.valid_until() <= w.now);
        for (unsigned i = 0; i < 3; ++i) {
            w.answer(i, yes);
        }
        CHECK(e.done());
        CHECK(e.error);
        CHECK(l.valid_until() <= w.now);
        for (unsigned i = 0; i < 3; ++i) {
            w.answer(i, yes);
        }
        w.manual(false);
        CHECK(w.is_idle());
        w.flush_keys();
    }
}

TEST_CASE("p33: a release of an expired lock takes one round trip", "[core][pitfall][p33]")
{
    running_world w;
    core::lease& l = w.lock("r", {.ttl = 1s});
    w.advance(2s);
    w.set_ways(1ms, 0ms);
    call& r = w.release(l);
    w.advance(10ms);
    CHECK_FALSE(r.error);
    CHECK(r.released == release_result::not_held);
    CHECK(r.ended - r.begun == 1ms);
    CHECK(w.count(0, "EVALSHA") == 1);
    CHECK(w.is_idle());
}

TEST_CASE("p35: a key that is missing after an ambiguous release counts as released",
          "[core][pitfall][p35]")
{
    running_world w{1, {.reconnect_backoff_max = 10ms}};
    core::lease& l = w.lock("r");
    w.peers[0]->way_back = 5ms;
    call& r = w.release(l);
    CHECK(w.keys() == 0);  // executed, but the answer is lost
    w.close(0);
    CHECK_FALSE(r.done());
    w.peers[0]->way_back = {};
    w.advance(50ms);
    REQUIRE(r.done());
    CHECK_FALSE(r.error);
    CHECK(r.released == release_result::released);
    w.advance(1s);
    CHECK(w.is_idle());
}

TEST_CASE("a release waits for a node that comes back in time but no longer", "[core]")
{
    running_world w{1, {.reconnect_backoff_max = 10ms}};
    core::lease& l = w.lock("r");
    w.peers[0]->dial = peer::dialling::silent;
    w.close(0);
    w.advance(10ms);  // connecting
    call& r = w.release(l);
    CHECK_FALSE(r.done());
    w.advance(49ms);
    CHECK_FALSE(r.done());
    w.advance(1ms);
    CHECK(r.error == errc::unavailable);
    CHECK(w.core->snapshot().pending_releases == 1);
    w.peers[0]->dial = peer::dialling::at_once;
    w.advance(3s);
    CHECK(w.keys() == 0);
    CHECK(w.is_idle());
}

TEST_CASE("p38: two locks of one client are independent", "[core][pitfall][p38]")
{
    running_world w;
    core::lease& a = w.lock("a", {.ttl = 2s});
    core::lease& b = w.lock("b", {.ttl = 2s});
    for (int i = 0; i < 5; ++i) {
        w.advance(1s);
        CHECK_FALSE(w.extend(a, 2s).error);
        if (i == 2) {
            (void)w.release(b);
        } else if (i < 2) {
            CHECK_FALSE(w.extend(b, 2s).error);
        }
    }
    CHECK(w.keys() == 3);
    CHECK(w.peers[0]->master.value(w.now, "a") == a.token.view());
    (void)w.release(a);
    CHECK(w.is_idle());
}

TEST_CASE("a client adopts a lock by its owner token", "[core]")
{
    running_world w;
    core::lease& l = w.lock("r", {.ttl = 2s});
    const base::owner_token token = l.token;
    w.core->operations().detach(w.now, l);
    CHECK(w.is_idle());
    call& c = w.adopt("r", token, 5s);
    REQUIRE(c.held != nullptr);
    CHECK(c.held->valid_until() == w.settings.validity_end(w.now, 5s));
    CHECK(w.release(*c.held).released == release_result::released);
    CHECK(w.keys() == 0);

    CHECK(w.adopt("r", token, 5s).error == errc::lost);
    CHECK(w.keys() == 0);
    CHECK(w.is_idle());
}

TEST_CASE("one release leaves the resource alone that another client holds by now", "[core]")
{
    running_world w;
    core::lease& l = w.lock("r");
    w.occupy("r");
    call& r = w.release(l);
    CHECK(r.released == release_result::not_held);
    CHECK(w.keys() == 3);
}
