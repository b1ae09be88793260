#include "harness.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <cerrno>
#include <utility>

using namespace redlock;
using namespace redlock::test;

namespace {

/// Takes a lock. One node gets the SET, loses its connection before it answers, and never executes
/// the SET.
core::lease& lock_without_answer(bench_world& w, unsigned node, std::string_view resource,
                                 const acquire_options& o)
{
    w.peers[node]->frozen = true;
    core::lease& l = w.lock(resource, o);
    w.close(node);
    w.peers[node]->arriving.clear();
    w.thaw(node);
    return l;
}

}  // namespace

TEST_CASE("p18: a client releases the key that a slow node sets too late", "[core][pitfall][p18]")
{
    running_world w{3, {.stall_timeout = 10s}};
    w.peers[2]->frozen = true;
    core::lease& l = w.lock("r", {.ttl = 500ms});
    (void)w.release(l);
    CHECK(w.keys() == 0);
    w.advance(600ms);
    w.thaw(2);
    CHECK(w.peers[2]->master.sets == 1);
    CHECK(w.keys() == 0);
    CHECK(w.is_idle());
    CHECK(w.core->snapshot().late_grants == 1);
}

TEST_CASE("p20: the compensating release follows the SET on its connection", "[core][pitfall][p20]")
{
    running_world w;
    w.peers[0]->way_there = w.peers[1]->way_there = w.peers[2]->way_there = 60ms;
    call& c = w.acquire("r", {.timeout = 0ms});
    w.advance(50ms);
    REQUIRE(c.error == errc::unavailable);
    for (unsigned i = 0; i < 3; ++i) {
        CHECK(w.peers[i]->connects == 1);
        REQUIRE(w.peers[i]->log.size() == 2);
        CHECK(w.peers[i]->log[0][0] == "SET");
        CHECK(w.peers[i]->log[1][0] == "EVALSHA");
        CHECK(w.peers[i]->log[1][4] == w.peers[i]->log[0][2]);
    }
    w.advance(10ms);
    CHECK(w.peers[0]->master.sets == 1);
    w.advance(50ms);
    CHECK(w.keys() == 0);
    CHECK(w.is_idle());
    CHECK(w.core->snapshot().late_grants == 3);
}

TEST_CASE("p20: a client sends a SET once but repeats its release after a lost connection",
          "[core][pitfall][p20]")
{
    running_world w{3, {.reconnect_backoff_max = 20ms}};
    w.peers[2]->frozen = true;  // the node has the bytes and executes nothing
    core::lease& l = w.lock("r", {.ttl = 5s});
    const std::string token{l.token.view()};
    w.close(2);
    // The node serves the new connection before it reads the bytes of the old one.
    w.peers[2]->arriving.clear();
    w.thaw(2);
    w.advance(100ms);
    REQUIRE(w.ready() == 3);
    (void)w.release(l);
    CHECK(w.count(2, "EVALSHA") == 1);
    CHECK(w.core->snapshot().pending_releases == 1);

    SECTION("until the key cannot be alive")
    {
        // At growing intervals: after 1 s, 2 s and 4 s.
        w.advance(4s);
        CHECK(w.count(2, "EVALSHA") == 3);
        w.advance(4s);
        CHECK(w.count(2, "EVALSHA") == 4);
        CHECK(w.core->snapshot().pending_releases == 0);
        CHECK(w.is_idle());
    }
    SECTION("at once on a new connection")
    {
        w.close(2);
        w.advance(30ms);
        CHECK(w.count(2, "EVALSHA") == 2);
    }
    SECTION("and so undoes a SET that is executed late")
    {
        w.advance(1500ms);
        w.peers[2]->master.put("r", {.value = token, .end = w.now + 5s});
        w.advance(2s);
        CHECK(w.keys() == 0);
        CHECK(w.is_idle());
    }
    CHECK(w.count(2, "SET") == 1);
}

TEST_CASE("p20: a client repeats a release that is lost with its SET", "[core][pitfall][p20]")
{
    running_world w{3, {.reconnect_backoff_max = 20ms}};
    w.peers[2]->frozen = true;
    core::lease& l = w.lock("r", {.ttl = 5s});
    const std::string token{l.token.view()};
    (void)w.release(l);
    CHECK(w.pending(2).empty());
    w.peers[2]->arriving.clear();
    w.close(2);
    w.thaw(2);
    w.advance(100ms);
    CHECK(w.count(2, "EVALSHA") >= 2);
    // The node executes the SET of the lost connection only after the repeated release.
    w.peers[2]->master.put("r", {.value = token, .end = w.now + 5s});
    w.advance(1100ms);
    CHECK(w.keys() == 0);
    CHECK(w.count(2, "SET") == 1);
    w.advance(6s);
    CHECK(w.is_idle());
}

TEST_CASE("a node that comes back gets its pending release first", "[core]")
{
    running_world w;
    core::lease& l = w.lock("r");
    w.lose(1);
    (void)w.release(l);
    CHECK(w.peers[1]->master.keys(w.now) == 1);
    CHECK(w.core->snapshot().pending_releases == 1);
    CHECK_FALSE(w.core->network().is_quiet());
    w.bring_back(1);
    w.advance(2s);
    CHECK(w.keys() == 0);
    CHECK(w.is_idle());
    CHECK(w.core->network().is_quiet());
}

TEST_CASE("a client forgets the pending release of an absent node once the key has expired",
          "[core]")
{
    running_world w;
    core::lease& l = w.lock("r", {.ttl = 3s});
    w.lose(1);
    (void)w.release(l);
    CHECK(w.core->snapshot().pending_releases == 1);
    w.advance(8s);
    CHECK(w.core->snapshot().pending_releases == 0);
    CHECK(w.core->snapshot().leases == 0);
    CHECK(w.core->network().is_quiet());
}

TEST_CASE("a client sends no release to a node that never got the SET", "[core]")
{
    bench_world w;
    w.peers[2]->dial = peer::dialling::refused;
    w.start();
    w.with_report = true;
    core::lease& l = w.lock("r");
    w.bring_back(2);
    w.advance(2s);
    call& r = w.release(l);
    CHECK(r.released == release_result::released);
    CHECK(w.count(2, "EVALSHA") == 0);
    REQUIRE(r.report.nodes.size() == 3);
    CHECK(r.report.nodes[2].outcome == node_outcome::not_asked);
}

TEST_CASE("a client repeats a release that a node answers with an error", "[core]")
{
    running_world w;
    core::lease& l = w.lock("r");
    w.peers[1]->master.refusals["EVALSHA"] = "BUSY Redis is busy running a script.";
    call& r = w.release(l);
    REQUIRE(r.done());
    CHECK(r.released == release_result::released);
    CHECK(w.keys() == 1);
    w.peers[1]->master.refusals.clear();
    w.advance(1100ms);
    CHECK(w.keys() == 0);
    CHECK(w.is_idle());
}

TEST_CASE("a node that refuses releases gets one try a second and then all of them", "[core]")
{
    running_world w{1};
    std::vector<core::lease*> held;
    for (unsigned i = 0; i < 100; ++i) {
        held.push_back(&w.lock("r" + std::to_string(i), {.ttl = 10min}));
    }
    auto& refusals = w.peers[0]->master.refusals;
    refusals["EVALSHA"] = "BUSY Redis is busy running a script";
    for (core::lease* l : held) {
        w.drop(*l);
    }
    const std::size_t sent = w.count(0, "EVALSHA");
    w.advance(100s);
    CHECK(w.count(0, "EVALSHA") - sent <= 101);
    CHECK(w.count(0, "EVALSHA") - sent >= 99);
    CHECK(w.core->snapshot().pending_releases == 100);
    refusals.clear();
    w.advance(1s);
    CHECK(w.keys() == 0);
    CHECK(w.is_idle());
}

TEST_CASE("a pending release of an adopted key outlasts the ttl of the adopt", "[core]")
{
    running_world w;
    core::lease& first = w.lock("r", {.ttl = 1h});
    const base::owner_token token = first.token;
    w.core->operations().detach(w.now, first);
    call& adopted = w.adopt("r", token, 1s);
    REQUIRE(adopted.held != nullptr);
    w.lose(2);
    SECTION("after a release")
    {
        CHECK(w.release(*adopted.held).error == error_code{});
    }
    SECTION("after a lock that is dropped when its validity has ended")
    {
        w.advance(5s);
        w.drop(*adopted.held);
    }
    w.advance(1min);
    CHECK(w.keys() == 1);
    w.bring_back(2);
    w.advance(w.settings.reconnect_backoff_max);
    CHECK(w.keys() == 0);
    CHECK(w.is_idle());
}

TEST_CASE("a client that reaches max_pending_releases drops the oldest release", "[core]")
{
    config c;
    c.max_pending_releases = 3;
    running_world w{1, c};
    std::vector<core::lease*> held;
    for (const char* name : {"a", "b", "c", "d", "e"}) {
        held.push_back(&w.lock(name));
    }
    w.lose(0);
    for (core::lease* l : held) {
        w.drop(*l);
    }
    CHECK(w.core->snapshot().pending_releases == 3);
    CHECK(w.core->snapshot().pending_releases_dropped == 2);
    CHECK(w.core->snapshot().dropped == 5);
    w.bring_back(0);
    w.advance(2s);
    CHECK(w.peers[0]->master.find(w.now, "b") != nullptr);
    CHECK(w.peers[0]->master.find(w.now, "c") == nullptr);
    CHECK(w.is_idle());
}

TEST_CASE("an unsent release displaces one that waits for its repetition", "[core]")
{
    config c;
    c.max_pending_releases = 2;
    running_world w{1, c};
    std::vector<core::lease*> held;
    for (const char* name : {"a", "b", "c", "d"}) {
        held.push_back(&w.lock(name));
    }
    w.peers[0]->master.refusals["EVALSHA"] = "BUSY Redis is busy running a script.";
    w.drop(*held[0]);
    w.drop(*held[1]);
    CHECK(w.core->snapshot().pending_releases == 2);
    w.peers[0]->master.refusals.clear();
    w.lose(0);
    w.drop(*held[2]);
    w.drop(*held[3]);
    CHECK(w.core->snapshot().pending_releases == 2);
    w.bring_back(0);
    w.advance(2s);
    CHECK(w.peers[0]->master.find(w.now, "c") == nullptr);
    CHECK(w.peers[0]->master.find(w.now, "d") == nullptr);
}

TEST_CASE("a node that answered the SET with an error gets no pending release", "[core]")
{
    running_world w{1};
    w.peers[0]->master.refusals["SET"] = "MISCONF Errors writing to the AOF file";
    w.peers[0]->master.refusals["EVALSHA"] = "MISCONF Errors writing to the AOF file";
    CHECK(w.acquire("r", {.timeout = 0ms}).error == errc::unavailable);
    CHECK(w.core->snapshot().pending_releases == 0);
    CHECK(w.is_idle());
}

TEST_CASE("a client with max_pending_releases 0 keeps no pending release", "[core]")
{
    running_world w{1, {.max_pending_releases = 0}};
    core::lease& l = w.lock("a");
    w.lose(0);
    call& r = w.release(l);
    w.advance(1s);
    CHECK(r.error == errc::unavailable);
    CHECK(w.is_idle());
}

TEST_CASE("a release of a key that has expired waits for no node", "[core]")
{
    const auto dial = GENERATE(peer::dialling::refused, peer::dialling::silent);
    running_world w{1};
    core::lease& l = w.lock("a", {.ttl = 1s});
    w.peers[0]->dial = dial;
    w.close(0);
    // The last bytes may be executed for as long as a connection without an answer lives.
    w.advance(1s + w.settings.stall_timeout + 100ms);
    call& r = w.release(l);
    CHECK_FALSE(r.error);
    CHECK(r.released == release_result::not_held);
    CHECK(w.core->snapshot().pending_releases == 0);
    CHECK(w.is_idle());
}

TEST_CASE("a release that cannot become pending ends at once", "[core]")
{
    running_world w{1, {.max_pending_releases = 0}};
    core::lease& l = w.lock("a");
    w.with_report = true;
    call* r = nullptr;
    SECTION("while the client connects to the node")
    {
        w.peers[0]->dial = peer::dialling::silent;
        w.close(0);
        w.advance(30ms);
        r = &w.release(l);
    }
    SECTION("when its connection is lost")
    {
        w.manual();
        r = &w.release(l);
        CHECK_FALSE(r->done());
        w.close(0);
    }
    REQUIRE(r->done());
    CHECK(r->error == errc::unavailable);
    CHECK(r->report.nodes.at(0).outcome == node_outcome::disconnected);
    CHECK(w.core->snapshot().pending_releases_dropped == 1);
}

TEST_CASE("a release that another one displaces ends at once", "[core]")
{
    running_world w{1, {.max_pending_releases = 1}};
    core::lease& a = w.lock("a");
    core::lease& b = w.lock("b");
    w.peers[0]->dial = peer::dialling::silent;
    w.close(0);
    w.advance(30ms);
    call& first = w.release(a);
    CHECK_FALSE(first.done());
    call& second = w.release(b);
    CHECK(first.error == errc::unavailable);
    CHECK_FALSE(second.done());
}

TEST_CASE("a client sends all pending releases even if one write cannot carry them", "[core]")
{
    running_world w{1};
    std::vector<core::lease*> held;
    for (unsigned i = 0; i < 3000; ++i) {
        held.push_back(&w.lock("r" + std::to_string(i)));
    }
    w.lose(0);
    for (core::lease* l : held) {
        w.drop(*l);
    }
    CHECK(w.core->snapshot().pending_releases == 3000);
    w.bring_back(0);
    w.advance(2s);
    CHECK(w.keys() == 0);
    CHECK(w.is_idle());
}

TEST_CASE("p19: an acquire that is cancelled at any step leaves no key", "[core][pitfall][p19]")
{
    // Steps of a contended acquire on slow nodes. Each is a point to cancel at.
    for (unsigned steps = 0; steps < 60; ++steps) {
        for (const bool late_start : {false, true}) {
            CAPTURE(steps, late_start);
            bench_world w{3, {}, steps};
            for (auto& p : w.peers) {
                p->way_there = 3ms;
                p->way_back = 4ms;
            }
            w.peers[2]->way_there = 80ms;
            w.start();
            if (!late_start) {
                w.advance(1s);
            }
            w.occupy("r", {0u}, 40ms);
            call& c = w.acquire("r", {.timeout = 10s});
            for (unsigned i = 0; i < steps && !c.done(); ++i) {
                w.advance(1ms);
            }
            const bool had = c.done();
            w.cancel(c);
            REQUIRE(c.completions == 1);
            if (had) {
                REQUIRE(c.held != nullptr);
                (void)w.release(*c.held);
            } else {
                CHECK(c.ended == w.now);
            }
            w.advance(3s);
            CHECK(w.keys() == 0);
            CHECK(w.is_idle());
        }
    }
}

TEST_CASE("p19: a cancelled acquire leaves no key on a node that disconnects and returns",
          "[core][pitfall][p19]")
{
    // The node is lost before the SET arrives, before its answer arrives, before the release
    // arrives, and before that answer arrives.
    for (unsigned lost = 0; lost < 3; ++lost) {
        for (const auto when : {5ms, 15ms, 25ms, 35ms}) {
            CAPTURE(lost, when.count());
            running_world w;
            w.set_ways(10ms, 10ms);
            call& c = w.acquire("r");
            w.advance(4ms);
            w.cancel(c);
            REQUIRE(c.completions == 1);
            REQUIRE(c.error.value() == ECANCELED);
            w.advance(when - 4ms);
            w.lose(lost);
            w.advance(500ms);
            w.bring_back(lost);
            w.advance(3s);
            CHECK(w.keys() == 0);
            w.advance(12s);
            CHECK(w.is_idle());
        }
    }
}

TEST_CASE("p18: a SET that a node executes after its ttl is undone when the node runs again",
          "[core][pitfall][p18]")
{
    running_world w;
    w.peers[2]->frozen = true;
    core::lease& l = w.lock("r", {.ttl = 1s});
    (void)w.release(l);
    // The client closes the connection, but the node still has its bytes.
    w.go_astray(2, 1, 0s);
    w.advance(20s);
    CHECK(w.peers[2]->connects > 1);
    CHECK(w.core->snapshot().pending_releases == 1);
    w.thaw(2);
    w.advance(3s);
    CHECK(w.peers[2]->master.sets == 1);
    CHECK(w.count(2, "SET") == 1);
    CHECK(w.keys() == 0);
    w.advance(5s);
    CHECK(w.is_idle());
}

TEST_CASE("a client repeats a release whose key may still come at growing intervals and then stops",
          "[core]")
{
    running_world w;
    core::lease& l = lock_without_answer(w, 2, "r", {.ttl = 10min});
    w.advance(2s);
    (void)w.release(l);
    w.advance(2min);
    // At 1, 3, 7, 15, 31 and 63 s, then every 64 s.
    CHECK(w.count(2, "EVALSHA") == 7);
    w.advance(8min);
    CHECK(w.count(2, "EVALSHA") == 15);
    w.advance(2min);
    CHECK(w.count(2, "EVALSHA") <= 16);
    CHECK(w.is_idle());
}

TEST_CASE("a release with a long pause delays no release that is due", "[core]")
{
    running_world w;
    core::lease& first = lock_without_answer(w, 2, "first", {.ttl = 10min});
    w.advance(2s);
    (void)w.release(first);
    w.advance(10s);  // its next repetition is seconds away
    core::lease& second = w.lock("second");
    w.peers[2]->master.refusals["EVALSHA"] = "BUSY Redis is busy running a script.";
    (void)w.release(second);
    CHECK(w.keys() == 1);
    w.peers[2]->master.refusals.clear();
    w.advance(1s);
    CHECK(w.keys() == 0);
}

TEST_CASE("a close sends the releases that found no room in the buffer before", "[core]")
{
    running_world w{1, {.max_buffered_bytes = 1024 * 1024}};
    const std::string name(60'000, 'x');
    std::vector<core::lease*> held;
    for (int i = 0; i < 40; ++i) {
        held.push_back(&w.lock(name + std::to_string(i)));
    }
    for (core::lease* l : held) {
        w.core->operations().drop(w.now, *l);  // without a write in between
    }
    CHECK(w.core->snapshot().pending_releases > 0);
    CHECK(w.core->snapshot().buffered_bytes < 1024 * 1024 + 2 * name.size());
    w.core->close(w.now);
    CHECK_FALSE(w.core->network().is_quiet());
    w.settle();
    CHECK(w.keys() == 0);
    CHECK(w.core->network().is_quiet());
}

TEST_CASE("bytes of an unfinished write count as buffered", "[core]")
{
    config c;
    c.max_buffered_bytes = 1024 * 1024;
    core::client_core* core = nullptr;
    bench_world w{1, c};
    core = w.core.get();
    w.start();
    const std::string name(60'000, 'x');
    std::vector<core::operation*> begun;
    std::size_t stalled = 0;
    std::size_t taken = 0;
    for (int i = 0; i < 60; ++i) {
        begun.push_back(
            &core->operations().acquire(w.now, name + std::to_string(i), {.timeout = 0ms}));
        begun.back()->user = nullptr;
        stalled += core->operations().finished() > 0 ? 1u : 0u;
        if (core->network().has_output(0) && i == 5) {
            // on their way but not yet written
            taken = std::exchange(core->network().take_output(0), {}).size();
        }
    }
    // A full buffer counts as stalled.
    CHECK(stalled > 40);
    const std::size_t buffered = core->snapshot().buffered_bytes;
    CHECK(buffered < 1024 * 1024 + 2 * name.size());
    core->network().on_written(0);
    CHECK(core->snapshot().buffered_bytes == buffered - taken);
    while (core::operation* op = core->operations().take_finished(w.now)) {
        core->operations().recycle(*op);
    }
}

TEST_CASE("a command that a node did not execute is sent again or becomes a pending release",
          "[core]")
{
    running_world w{1, {.max_buffered_bytes = 1024 * 1024}};
    core::client_core& core = *w.core;
    const std::string name(60'000, 'x');
    std::vector<core::lease*> held;
    for (int i = 0; i < 40; ++i) {
        held.push_back(&w.lock(name + std::to_string(i)));
    }
    core::lease& kept = w.lock("kept");
    w.manual();
    core::lease& last = *held.back();
    held.pop_back();
    for (core::lease* l : held) {
        w.drop(*l);  // each is written at once
    }
    call& awaited = w.release(last);
    call& prolonged = w.extend(kept, 60s);
    REQUIRE(core.snapshot().unanswered == 41);
    REQUIRE(core.snapshot().buffered_bytes == 0);
    for (int i = 0; i < 41; ++i) {
        core.network().on_bytes(w.now, 0, "-NOSCRIPT No matching script.\r\n");
    }
    CHECK(core.snapshot().buffered_bytes < 1024 * 1024 + 2 * name.size());
    CHECK(core.snapshot().pending_releases > 20);
    CHECK(core.snapshot().pending_releases + core.snapshot().unanswered == 40);
    w.settle();
    CHECK(prolonged.error == errc::unavailable);
    for (int i = 0; i < 39; ++i) {
        w.answer(0, ":1\r\n");
    }
    REQUIRE(core.snapshot().unanswered == 1);
    CHECK_FALSE(awaited.done());
    w.answer(0, ":0\r\n");  // not held, as the node had executed it before
    CHECK(core.snapshot().pending_releases == 0);
    CHECK(awaited.done());
    CHECK(awaited.released == release_result::not_held);
    CHECK(core.snapshot().leases == 1);
}

TEST_CASE("a pending release goes out after all answers although a write is unfinished", "[core]")
{
    running_world w{1, {.ping_interval = 0ms}};
    core::client_core& core = *w.core;
    w.settings.max_buffered_bytes = 50'000;  // less than one write may have
    call dummy;
    core::operation& begun =
        core.operations().acquire(w.now, std::string(60'000, 'x'), {.max_attempts = 1});
    begun.user = &dummy;
    core.network().take_output(0).clear();
    core.operations().cancel(w.now, begun);  // the buffer has no room for the release
    REQUIRE(core.snapshot().pending_releases == 1);
    CHECK_FALSE(core.network().has_output(0));
    core.network().on_bytes(w.now, 0, ok);
    CHECK(core.snapshot().pending_releases == 0);
    CHECK(core.network().has_output(0));
    while (core::operation* op = core.operations().take_finished(w.now)) {
        core.operations().recycle(*op);
    }
}

TEST_CASE("an acquire that is cancelled before it asks a node leaves no trace", "[core]")
{
    bench_world w;
    w.set_dialling(peer::dialling::silent);
    w.start();
    call& c = w.acquire("r");
    CHECK_FALSE(c.done());
    w.cancel(c);
    CHECK(c.completions == 1);
    CHECK(w.is_idle());
    for (unsigned i = 0; i < 3; ++i) {
        CHECK(w.peers[i]->log.empty());
    }
}

TEST_CASE("an acquire that is cancelled between two attempts sends nothing more", "[core]")
{
    running_world w{1, {.backoff_min = 1s, .backoff_max = 1s, .fair_queue = false}};
    w.occupy("r", {0u}, 1h);
    call& waiting = w.acquire("r");
    REQUIRE_FALSE(waiting.done());
    const std::size_t before = w.peers[0]->log.size();
    w.cancel(waiting);
    CHECK(waiting.completions == 1);
    CHECK(w.peers[0]->log.size() == before);
    CHECK(w.is_idle());
}

TEST_CASE("a cancelled release still deletes the key", "[core]")
{
    running_world w;
    core::lease& l = w.lock("r");
    w.set_ways(5ms, 0ms);
    call& r = w.release(l);
    w.cancel(r);
    CHECK(r.completions == 1);
    CHECK(r.error.value() == ECANCELED);
    w.advance(10ms);
    CHECK(w.keys() == 0);
    CHECK(w.is_idle());
}

TEST_CASE("p21: after any loss the next acquire succeeds once the client has reconnected",
          "[core][pitfall][p21]")
{
    enum class loss { closed, half_a_reply, timeout, nonsense };
    for (const loss how : {loss::closed, loss::half_a_reply, loss::timeout, loss::nonsense}) {
        for (unsigned first = 0; first < 3; ++first) {
            CAPTURE(static_cast<int>(how), first);
            manual_world w;
            call& c = w.acquire("r", {.timeout = 0ms});
            for (const unsigned i : {first, (first + 1) % 3}) {
                switch (how) {
                    case loss::closed: w.close(i); break;
                    case loss::half_a_reply:
                        w.answer(i, "+O");
                        w.close(i);
                        break;
                    case loss::timeout: break;
                    case loss::nonsense: w.answer(i, "*1\r\n:1\r\n"); break;
                }
            }
            w.advance(w.settings.node_timeout);
            REQUIRE(c.error == errc::unavailable);
            w.manual(false);
            w.advance(w.settings.stall_timeout + w.settings.reconnect_backoff_max);
            REQUIRE(w.ready() == 3);
            CHECK(w.lock("r").granted == 0b111);
        }
    }
}

TEST_CASE("p21: a reply that arrives in two parts around the deadline is still one reply",
          "[core][pitfall][p21]")
{
    manual_world w{1};
    call& first = w.acquire("a", {.timeout = 0ms});
    w.send(0, "+O");
    w.advance(50ms);
    REQUIRE(first.error == errc::unavailable);
    w.answer(0, "K\r\n");
    CHECK(w.core->snapshot().late_grants == 1);
    call& second = w.acquire("b", {.timeout = 0ms});
    w.answer(0, yes);  // the release of "a"
    CHECK_FALSE(second.done());
    w.answer(0, ok);
    CHECK(second.held != nullptr);
    CHECK(w.peers[0]->connects == 1);
}

TEST_CASE("p21: a client never takes a late reply for the answer to another command",
          "[core][pitfall][p21]")
{
    manual_world w{1};
    call& first = w.acquire("a", {.timeout = 0ms});
    w.advance(50ms);
    REQUIRE(first.error == errc::unavailable);
    CHECK(w.pending(0) == std::vector<std::string>{"SET", "EVALSHA"});
    w.answer(0, ok);  // late: the grant of "a", which gives a lock to no caller
    call& second = w.acquire("b", {.timeout = 0ms});
    CHECK_FALSE(second.done());
    w.answer(0, yes);  // the release of "a"
    CHECK_FALSE(second.done());
    w.answer(0, nil);
    CHECK(second.error == errc::contended);
    CHECK(w.core->snapshot().late_replies == 1);
    CHECK(w.core->snapshot().late_grants == 1);
}

TEST_CASE("a key that a client could not release does not count as another holder's", "[core]")
{
    constexpr std::string_view forbidden =
        "-NOPERM No permissions to access a key script: 8f3a, on @user_script:1.\r\n";
    running_world w{1, {.ping_interval = 0ms, .fencing = false}};
    // The node refuses, and has no key to release.
    const auto refused = [&](std::string_view resource) {
        const call& attempt = w.acquire(resource, {.timeout = 0ms});
        w.answer(0, nil);
        w.answer(0, ":0\r\n");
        return attempt.error;
    };
    core::lease& held = w.lock("r");
    w.manual();
    SECTION("while the key may be there")
    {
        w.drop(held);
        w.answer(0, forbidden);
        CHECK(refused("r") == errc::unavailable);
        CHECK(refused("other") == errc::contended);
        CHECK(refused("r") == errc::unavailable);

        w.with_report = true;
        const call& told = w.acquire("r", {.timeout = 0ms});
        w.answer(0, nil);
        w.answer(0, ":5000\r\n");
        CHECK(told.report.nodes.at(0).outcome == node_outcome::failed);
        CHECK(told.report.nodes.at(0).error.starts_with(
            "may still have a key of this client, as it refused a release: NOPERM"));
        CHECK_FALSE(told.report.nodes.at(0).holder_ttl);
        w.answer(0, ":0\r\n");
        w.with_report = false;
    }
    SECTION("until a further release deletes it")
    {
        w.drop(held);
        w.answer(0, forbidden);
        w.advance(1s);
        REQUIRE(w.pending(0) == std::vector<std::string>{"EVALSHA"});
        w.answer(0, ":1\r\n");
        CHECK(refused("r") == errc::contended);
    }
    SECTION("until its ttl has ended")
    {
        w.drop(held);
        for (int i = 0; i < 30; ++i) {
            while (!w.pending(0).empty()) {
                w.answer(0, forbidden);
            }
            w.advance(1s);
        }
        CHECK(refused("r") == errc::contended);
    }
    SECTION("unless the client had no key there")
    {
        call& attempt = w.acquire("other", {.timeout = 0ms});
        w.answer(0, nil);
        w.answer(0, forbidden);
        CHECK(attempt.error == errc::contended);
        CHECK(refused("other") == errc::contended);
    }
    SECTION("of several resources one is enough")
    {
        w.drop(held);
        w.answer(0, forbidden);
        const call& attempt = w.acquire(std::vector<std::string>{"other", "r"}, {.timeout = 0ms});
        w.answer(0, "*2\r\n:2\r\n:5000\r\n");
        CHECK(attempt.error == errc::unavailable);
        w.answer(0, ":0\r\n");
    }
    w.manual(false);
}
