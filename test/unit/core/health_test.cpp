#include "harness.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <set>

using namespace redlock;
using namespace redlock::test;

TEST_CASE("a node that leaves a command unanswered gets no new commands", "[core]")
{
    running_world w;
    w.peers[2]->frozen = true;
    core::lease& a = w.lock("a");
    w.advance(49ms);
    (void)w.lock("b");
    CHECK(w.count(2, "SET") == 2);
    w.advance(1ms);
    CHECK(w.core->snapshot().node_timeouts == 1);
    w.with_report = true;
    call& c = w.acquire("c");
    REQUIRE(c.held != nullptr);
    CHECK(c.report.nodes[2].outcome == node_outcome::stalled);
    CHECK(c.report.nodes[2].error == "has left earlier requests unanswered");
    CHECK(w.count(2, "SET") == 2);
    // Releases still go out after their SETs.
    (void)w.release(a);
    CHECK(w.count(2, "EVALSHA") == 1);

    w.thaw(2);
    CHECK(w.peers[2]->master.find(w.now, "a") == nullptr);
    CHECK(w.lock("d").granted == 0b111);
    CHECK(w.count(2, "SET") == 3);
    CHECK(w.peers[2]->connects == 1);
}

TEST_CASE("a client replaces a connection that leaves a command unanswered for too long", "[core]")
{
    running_world w{3, {.stall_timeout = 2s}};
    w.advance(300ms);
    w.peers[2]->frozen = true;
    (void)w.lock("r");
    w.advance(2s - 1ns);
    CHECK(w.peers[2]->closes == 0);
    w.advance(1ns);
    CHECK(w.peers[2]->closes == 1);
    CHECK(w.core->snapshot().disconnects == 1);
    w.thaw(2);
    w.advance(3s);
    CHECK(w.ready() == 3);
    CHECK(w.lock("s").granted == 0b111);
}

TEST_CASE("a client asks the node of an idle connection for its role", "[core]")
{
    running_world w{1, {.stall_timeout = 2s, .ping_interval = 5s}};
    w.advance(5s - 1ns);
    CHECK(w.role_queries(0) == 0);
    w.advance(1ns);
    CHECK(w.role_queries(0) == 1);
    w.advance(50s);
    CHECK(w.role_queries(0) == 11);
    CHECK(w.count(0, "PING") == 0);
    CHECK(w.peers[0]->connects == 1);

    w.peers[0]->frozen = true;
    w.advance(7s);
    CHECK(w.peers[0]->closes == 1);
}

TEST_CASE("an idle connection without a role ends if its ping gets neither PONG nor an error",
          "[core]")
{
    const auto [reply, is_answer] = GENERATE(table<std::string_view, bool>(
        {{"+PONG\r\n", true},
         {"$4\r\nPONG\r\n", true},
         {"-NOPERM User x has no permissions to run the 'ping' command\r\n", true},
         {"*1\r\n$4\r\nPING\r\n", false},
         {"+OK\r\n", false},
         {":1\r\n", false},
         {"_\r\n", false}}));
    CAPTURE(reply);
    bench_world w{1};
    w.peers[0]->master.role.clear();
    w.start();
    w.manual();
    w.advance(5s);
    REQUIRE(w.pending(0) == std::vector<std::string>{"PING"});
    w.answer(0, reply);
    CHECK(w.peers[0]->closes == (is_answer ? 0 : 1));
    CHECK(w.core->snapshot().protocol_errors == (is_answer ? 0 : 1));
}

TEST_CASE("a client without unanswered commands runs no timer", "[core]")
{
    config c;
    c.ping_interval = 0s;
    running_world w{3, c};
    CHECK(w.core->next_deadline() == instant::max());
    core::lease& l = w.lock("r");
    w.advance(c.stall_timeout);
    CHECK(w.core->next_deadline() == instant::max());
    // The timer runs again with the next command.
    w.peers[0]->frozen = true;
    (void)w.release(l);
    w.advance(c.stall_timeout);
    CHECK(w.peers[0]->closes == 1);
}

TEST_CASE("a client does not ping a busy connection", "[core]")
{
    running_world w{1};
    for (int i = 0; i < 20; ++i) {
        w.drop(w.lock("r"));
        w.advance(1s);
    }
    CHECK(w.count(0, "PING") == 0);
}

TEST_CASE("a client with a ping interval of zero sends no pings", "[core]")
{
    running_world w{1, {.ping_interval = 0ms}};
    w.advance(1h);
    CHECK(w.count(0, "PING") == 0);
    CHECK(w.peers[0]->connects == 1);
}

TEST_CASE("reconnects back off at random within their limits", "[core]")
{
    config c;
    c.reconnect_backoff_min = 10ms;
    c.reconnect_backoff_max = 500ms;
    std::set<nanos> first_waits;
    for (std::uint32_t seed = 0; seed < 20; ++seed) {
        bench_world w{1, c, seed};
        w.peers[0]->dial = peer::dialling::refused;
        w.start();
        w.advance(1min);
        const auto& dials = w.peers[0]->dials;
        REQUIRE(dials.size() > 60);
        CHECK(dials.size() < 1200);
        nanos longest{};
        for (std::size_t i = 1; i < dials.size(); ++i) {
            const nanos wait = dials[i] - dials[i - 1];
            REQUIRE(wait >= 10ms);
            REQUIRE(wait <= 500ms);
            longest = std::max(longest, wait);
        }
        CHECK(longest > 250ms);
        first_waits.insert(dials[1] - dials[0]);
        CHECK(dials[1] - dials[0] <= 30ms);
        CHECK(w.log_lines.size() == 1);
    }
    CHECK(first_waits.size() > 15);
}

TEST_CASE("a client replaces a lost idle connection at once only if it lived long", "[core]")
{
    running_world w{1};
    w.advance(3s);
    w.close(0);
    CHECK(w.peers[0]->connects == 2);
    CHECK(w.ready() == 1);
    w.close(0);
    CHECK(w.peers[0]->connects == 2);
    w.advance(30ms);
    CHECK(w.peers[0]->connects == 3);
}

TEST_CASE("a client tries another address of a name at once but only if there is one", "[core]")
{
    bench_world w{1};
    w.peers[0]->master.refusals["EVALSHA"] = w.peers[0]->master.refusals["EVAL"] = "ERR no scripts";
    w.peers[0]->manual_handshake = true;
    w.start();
    CHECK(w.peers[0]->connects == 1);
    w.core->network().note_other_addresses(0, true);
    w.close(0);
    CHECK(w.peers[0]->connects == 2);
    CHECK_FALSE(w.core->network().take_was_useful(0));
    w.close(0);
    CHECK(w.peers[0]->connects == 2);
    w.peers[0]->manual_handshake = false;
    w.peers[0]->master.refusals.clear();
    w.advance(1s);
    REQUIRE(w.ready() == 1);
    w.close(0);
    // A failure before the next connection does not change that.
    w.close(0);
    CHECK(w.core->network().take_was_useful(0));
    CHECK_FALSE(w.core->network().take_was_useful(0));
}

TEST_CASE("a client waits after it has tried eight addresses of a name", "[core]")
{
    bench_world w{1};
    w.peers[0]->manual_handshake = true;
    w.start();
    for (unsigned i = 0; i < 20; ++i) {
        w.core->network().note_other_addresses(0, true);
        w.close(0);
    }
    CHECK(w.peers[0]->connects == 9);
}

TEST_CASE("a client reconnects at once to a server that closes connections after an idle second",
          "[core]")
{
    running_world w{1};
    for (unsigned i = 2; i < 12; ++i) {
        w.advance(900ms);
        w.close(0);
        CHECK(w.peers[0]->connects == i);
        CHECK(w.ready() == 1);
    }
}

TEST_CASE("a client waits before it replaces a connection that failed in use", "[core]")
{
    const std::string_view how = GENERATE("stalled", "framing", "unasked", "closed when asked");
    CAPTURE(how);
    std::set<nanos> waits;
    for (std::uint32_t seed = 0; seed < 20; ++seed) {
        running_world w{1, {}, seed};
        w.advance(1min);
        w.manual();
        if (how == "framing" || how == "unasked") {
            w.send(0, how == "framing" ? "?\r\n" : ok);
        } else {
            (void)w.acquire("r", {.timeout = 0ms});
            w.advance(how == "stalled" ? w.settings.stall_timeout : nanos{1ms});
            if (how != "stalled") {
                w.close(0);
            }
        }
        REQUIRE(w.peers[0]->closes == (how == "closed when asked" ? 0 : 1));
        const instant ended = w.now;
        REQUIRE(w.peers[0]->dials.size() == 1);
        // The connection had lived well, so waits begin at the minimum.
        w.advance(30ms);
        REQUIRE(w.peers[0]->dials.size() == 2);
        waits.insert(w.peers[0]->dials.back() - ended);
    }
    CHECK(*waits.begin() >= 10ms);
    CHECK(waits.size() > 15);
}

TEST_CASE("a client gives up an attempt to connect that does not end", "[core]")
{
    bench_world w{1};
    w.peers[0]->dial = peer::dialling::silent;
    w.start();
    w.advance(w.settings.connect_timeout);
    CHECK(w.peers[0]->closes == 1);
    w.advance(30ms);
    CHECK(w.peers[0]->dials.size() == 2);
}

TEST_CASE("an attempt that ends in the TLS handshake is reported as a port without TLS", "[core]")
{
    bench_world w{1};
    w.peers[0]->dial = peer::dialling::silent;
    w.start();
    w.core->network().on_tls_handshake(0);
    w.advance(w.settings.connect_timeout);
    REQUIRE(w.log_lines.size() == 1);
    CHECK(w.log_lines[0].ends_with(": the server does not seem to speak TLS on this port"));
    // The next attempt does not reach the TLS handshake.
    w.advance(30ms + w.settings.connect_timeout);
    REQUIRE(w.log_lines.size() == 2);
    CHECK(w.log_lines[1].ends_with(": no connection within connect_timeout"));
}

TEST_CASE("a reply without a command or outside the protocol ends the connection", "[core]")
{
    for (const std::string_view bytes :
         {"+OK\r\n", "?\r\n", ":1\r\n", "$18446744073709551615\r\n", "*2147483647\r\n"}) {
        CAPTURE(bytes);
        running_world w{1};
        w.send(0, bytes);
        CHECK(w.peers[0]->closes == 1);
        CHECK(w.core->snapshot().protocol_errors == 1);
        CHECK(w.ready() == 0);
        w.advance(1s);
        CHECK(w.ready() == 1);
    }
}

TEST_CASE("a second reply to one command ends the connection", "[core]")
{
    manual_world w{3};
    call& c = w.acquire("r", {.timeout = 0ms});
    w.answer(0, "+OK\r\n+OK\r\n");
    CHECK(w.peers[0]->closes == 1);
    // A vote before the error counts.
    w.answer(1, ok);
    CHECK(c.held != nullptr);
}

TEST_CASE("a client closes a connection that answers a SET with another type", "[core]")
{
    for (const std::string_view reply : {"+NO\r\n", ":1\r\n", "$2\r\nOK\r\n", "*0\r\n"}) {
        manual_world w{3};
        w.with_report = true;
        call& c = w.acquire("r", {.timeout = 0ms});
        w.answer(0, reply);
        w.answer(1, reply);
        REQUIRE(c.error == errc::unavailable);
        CHECK(c.report.nodes[0].outcome == node_outcome::disconnected);
        CHECK_FALSE(c.report.nodes[0].error.empty());
        CHECK(w.core->snapshot().pending_releases == 2);
    }
}

TEST_CASE("a refusal counts although the holder's ttl does not come", "[core]")
{
    manual_world w{1};
    w.with_report = true;
    call& c = w.acquire("r", {.timeout = 0ms});
    w.answer(0, nil);
    CHECK_FALSE(c.done());
    SECTION("another reply comes")
    {
        w.answer(0, "+what?\r\n");
    }
    SECTION("no reply comes until the deadline")
    {
        w.advance(w.settings.node_timeout);
    }
    CHECK(c.error == errc::contended);
    CHECK(c.report.nodes[0].outcome == node_outcome::refused);
}

TEST_CASE("an extend with an answer of another type is decided at once", "[core]")
{
    running_world w{1};
    core::lease& l = w.lock("r");
    w.manual();
    call& e = w.extend(l, 10s);
    w.answer(0, "+OK\r\n");
    CHECK(e.error == errc::unavailable);
}

TEST_CASE("a client takes no push for a reply", "[core]")
{
    manual_world w{1};
    call& c = w.acquire("r");
    w.send(0, ">2\r\n+invalidate\r\n*1\r\n+r\r\n");
    CHECK_FALSE(c.done());
    w.answer(0, ok);
    CHECK(c.held != nullptr);
    CHECK(w.peers[0]->closes == 0);
}

TEST_CASE("a client reads replies that arrive byte by byte", "[core]")
{
    manual_world w{1};
    call& c = w.acquire("r");
    w.peers[0]->asked.clear();
    w.send(0, "+");
    w.send(0, "O");
    w.send(0, "K");
    w.send(0, "\r");
    CHECK_FALSE(c.done());
    w.send(0, "\n");
    CHECK(c.held != nullptr);
}

TEST_CASE("a lost connection fails each command in flight once", "[core]")
{
    running_world w{1};
    core::lease& l = w.lock("held");
    w.manual();
    call& a = w.acquire("a", {.timeout = 0ms});
    call& b = w.extend(l, 10s);
    call& c = w.inspect("c");
    w.close(0);
    CHECK(a.completions == 1);
    CHECK(a.error == errc::unavailable);
    CHECK(b.completions == 1);
    CHECK(b.error == errc::unavailable);
    CHECK(c.completions == 1);
    CHECK(c.found.state == lock_state::unknown);
}

TEST_CASE("a command for a connecting node goes out when the node is ready", "[core]")
{
    bench_world w{1};
    w.peers[0]->way_there = w.peers[0]->way_back = 5ms;
    w.start();
    call& c = w.acquire("r", {.timeout = 0ms});
    w.advance(19ms);
    CHECK(w.count(0, "SET") == 0);
    w.advance(1ms);
    CHECK(w.count(0, "SET") == 1);
    w.advance(10ms);
    REQUIRE(c.held != nullptr);
    CHECK(c.ended - c.begun == 30ms);
    CHECK(c.held->valid_until() == w.settings.validity_end(c.begun, 10s));
}

TEST_CASE("a command for a connecting node fails at its deadline if the node is not ready",
          "[core]")
{
    bench_world w{1};
    w.peers[0]->dial = peer::dialling::silent;
    w.start();
    w.with_report = true;
    call& c = w.acquire("r", {.timeout = 0ms});
    w.advance(50ms - 1ns);
    CHECK_FALSE(c.done());
    w.advance(1ns);
    CHECK(c.error == errc::unavailable);
    CHECK(c.report.nodes[0].outcome == node_outcome::disconnected);
    CHECK(c.report.nodes[0].error == "no connection yet");
}

TEST_CASE("an acquire without an attempt reports a reason for each node", "[core]")
{
    bench_world w{5};
    w.peers[0]->dial = peer::dialling::refused;
    for (const unsigned silent : {1u, 2u, 4u}) {
        w.peers[silent]->dial = peer::dialling::silent;
    }
    w.start();
    w.with_report = true;
    call& c = w.acquire("r", {.timeout = 1s});
    w.advance(1s);
    REQUIRE(c.error == errc::timed_out);
    CHECK(c.report.attempts == 0);
    const auto& nodes = c.report.nodes;
    REQUIRE(nodes.size() == 5);
    for (const unsigned gone : {0u, 1u, 2u, 4u}) {
        CHECK(nodes[gone].node == w.settings.nodes[gone].display);
        CHECK(nodes[gone].outcome == node_outcome::disconnected);
    }
    CHECK(nodes[0].error == "connection refused");
    CHECK(nodes[1].error == "no connection yet");
    CHECK(nodes[3].outcome == node_outcome::not_asked);
    CHECK(nodes[3].error.empty());
}

TEST_CASE("an acquire of a client that never runs says so for each node", "[core]")
{
    bench_world w{3};
    w.with_report = true;
    call& c = w.acquire("r", {.timeout = 1s});
    w.advance(1s);
    REQUIRE(c.error == errc::timed_out);
    CHECK(c.report.attempts == 0);
    REQUIRE(c.report.nodes.size() == 3);
    for (const auto& n : c.report.nodes) {
        CHECK(n.outcome == node_outcome::disconnected);
        CHECK(n.error == "no connection yet");
    }
}

TEST_CASE("a command for a connecting node fails at once if the attempt to connect fails", "[core]")
{
    bench_world w{1};
    w.peers[0]->dial = peer::dialling::silent;
    w.start();
    w.with_report = true;
    call& c = w.acquire("r", {.timeout = 0ms});
    w.advance(10ms);
    w.close(0, "connection refused");
    CHECK(c.error == errc::unavailable);
    CHECK(c.report.nodes[0].error == "connection refused");
}

TEST_CASE("a client sends nothing after the deadline even if the timer is late", "[core]")
{
    bench_world w{1};
    w.peers[0]->manual_handshake = true;
    w.start();
    call& c = w.acquire("r", {.timeout = 0ms});
    w.now += 60ms;
    w.peers[0]->manual_handshake = false;
    w.answer(0, "%1\r\n+proto\r\n:3\r\n");
    CHECK(w.ready() == 1);
    CHECK(w.count(0, "SET") == 0);
    w.advance(0ms);
    CHECK(c.error == errc::unavailable);
}

TEST_CASE("the first acquire waits for the first connections", "[core]")
{
    bench_world w;
    w.set_ways(50ms, 50ms);
    w.peers[2]->dial = peer::dialling::silent;
    w.start();
    call& c = w.acquire("r", {.timeout = 1s});
    w.advance(400ms);
    w.set_ways(0ms, 0ms);
    w.advance(10ms);
    CHECK(w.core->snapshot().attempts >= 1);
    w.advance(1s);
    REQUIRE(c.held != nullptr);
    CHECK(c.begun + 190ms < c.ended);
}

TEST_CASE("the first acquire makes one attempt as soon as a majority is connected", "[core]")
{
    bench_world w;
    w.peers[2]->dial = peer::dialling::silent;
    for (unsigned i = 0; i < 2; ++i) {
        w.peers[i]->way_there = w.peers[i]->way_back = 20ms;
    }
    w.start();
    call& c = w.acquire("r", {.timeout = 1s});
    w.advance(1s);
    REQUIRE(c.held != nullptr);
    CHECK(c.ended - c.begun == 120ms);
    CHECK(w.core->snapshot().attempts == 1);
}

TEST_CASE("the first acquire does not wait for nodes that refuse the connection", "[core]")
{
    bench_world w;
    w.set_dialling(peer::dialling::refused);
    w.start();
    call& c = w.acquire("r", {.timeout = 1s, .max_attempts = 1});
    CHECK(c.error == errc::unavailable);
    CHECK(c.ended == c.begun);
}

TEST_CASE("a node whose buffer is full counts as stalled", "[core]")
{
    running_world w{1, {.max_buffered_bytes = 1024 * 1024}};
    // Sixteen names fill the buffer, since the test takes no output.
    std::deque<call> calls;
    for (unsigned i = 0; i < 20; ++i) {
        std::string name(max_resource_size - 2, 'x');
        name += std::to_string(10 + i);
        core::operation& op = w.core->operations().acquire(w.now, name, {.timeout = 0ms});
        op.user = &calls.emplace_back();
    }
    CHECK(w.core->snapshot().buffered_bytes < 1024 * 1024 + 2 * max_resource_size);
    w.settle();
    unsigned held = 0;
    for (call& c : calls) {
        REQUIRE(c.done());
        CHECK((c.held != nullptr || c.error == errc::unavailable));
        held += c.held != nullptr ? 1u : 0u;
    }
    CHECK(held == 16);
    for (call& c : calls) {
        if (c.held != nullptr) {
            w.core->operations().drop(w.now, *c.held);
        }
    }
    w.settle();
    w.advance(3s);
    CHECK(w.keys() == 0);
    CHECK(w.is_idle());
}

TEST_CASE("stop ends every operation and every connection", "[core]")
{
    running_world w;
    core::lease& l = w.lock("held");
    w.manual();
    call& a = w.acquire("a");
    call& b = w.extend(l, 10s);
    call& c = w.inspect("c");
    call& d = w.release(l);
    w.peers[2]->dial = peer::dialling::silent;
    w.stop();
    for (const call* each : {&a, &b, &c, &d}) {
        CHECK(each->completions == 1);
        CHECK(each->error == errc::closed);
    }
    CHECK(w.core->next_deadline() == instant::max());
    CHECK(w.is_idle());
    CHECK(w.core->network().is_quiet());
    for (auto& p : w.peers) {
        CHECK_FALSE(p->connected);
        CHECK(p->dials.size() == 1);
    }
    w.advance(10s);
    CHECK(w.peers[0]->dials.size() == 1);
    w.stop();
}

TEST_CASE("stop ends operations while nodes are away or connecting or have pending releases",
          "[core]")
{
    running_world w{4};
    core::lease& l = w.lock("r");
    w.peers[0]->dial = peer::dialling::refused;
    w.peers[1]->dial = peer::dialling::silent;
    w.advance(3s);
    w.close(0);
    w.close(1);
    w.drop(l);
    CHECK(w.core->snapshot().pending_releases == 2);
    call& c = w.acquire("s");
    w.stop();
    CHECK(c.error == errc::closed);
    CHECK(w.is_idle());
    CHECK(w.core->next_deadline() == instant::max());
}

TEST_CASE("a core can be destroyed at any moment", "[core]")
{
    manual_world w;
    core::lease* held = nullptr;
    {
        call& c = w.acquire("r");
        w.answer(0, ok);
        w.answer(1, ok);
        held = c.held;
    }
    REQUIRE(held != nullptr);
    (void)w.extend(*held, 10s);
    (void)w.acquire("r");
    (void)w.inspect("r");
    w.answer(0, yes);
    w.close(0);
    (void)w.acquire("s");
    w.core.reset();
    CHECK(w.calls.back().completions == 0);
}

TEST_CASE("p48: an answer from a wrong server or one in a wrong state ends the connection",
          "[core][pitfall][p48]")
{
    const std::string code = GENERATE("READONLY", "MASTERDOWN", "MOVED", "ASK", "CLUSTERDOWN",
                                      "LOADING", "NOREPLICAS", "NOAUTH");
    const std::string front =
        GENERATE("", "ERR Error running script (call to f_0123): @user_script:1: -");
    const std::string command = GENERATE("SET", "EVALSHA");
    CAPTURE(code, front, command);
    running_world w{1};
    core::lease& l = w.lock("r");
    w.peers[0]->master.refusals[command] = front + code + " some words";
    if (command == "SET") {
        w.with_report = true;
        const call& c = w.acquire("s", {.timeout = 0ms});
        CHECK(c.error == errc::unavailable);
        CHECK(c.report.nodes.at(0).outcome == node_outcome::failed);
    } else {
        CHECK(w.extend(l, 20s).error);
    }
    CHECK(w.peers[0]->closes == 1);
    CHECK(w.ready() == 0);
    CHECK(w.lines_with('(' + code + ')') == 1);
    CHECK(w.log_levels.at(0) == log_level::warning);

    // The new connection is no better. The client logs this once and retries at long intervals.
    for (int i = 0; i < 100; ++i) {
        w.advance(500ms);
        if (command == "SET") {
            (void)w.acquire("s", {.timeout = 0ms});
        }
    }
    CHECK(w.lines_with("out of use") <= (command == "SET" ? 1 : 2));
    CHECK(w.peers[0]->dials.size() < 100);

    w.peers[0]->master.refusals.clear();
    w.advance(5s);
    w.drop(w.lock("s"));
    CHECK(w.ready() == 1);
    CHECK(w.log_levels.back() == log_level::info);
    CHECK(w.lines_with("is usable again") == 1);
}

TEST_CASE("an unknown word in an error does not end the connection", "[core]")
{
    running_world w{1};
    w.peers[0]->master.refusals["SET"] =
        GENERATE("ERR unknown command 'SET', with args beginning with: 'a READONLY lock'",
                 "MISCONF Errors writing to the AOF file", "OOM command not allowed",
                 "ERR READONLYISH state", "BUSY Redis is busy running a script");
    CHECK(w.acquire("r", {.timeout = 0ms}).error == errc::unavailable);
    CHECK(w.peers[0]->closes == 0);
}

TEST_CASE("p48: a node that has become a replica has no vote although it accepts writes",
          "[core][pitfall][p48]")
{
    const std::string told_by = GENERATE("HELLO", "INFO", "ROLE");
    const std::string role = GENERATE("replica", "slave", "active-replica");
    CAPTURE(told_by, role);
    bench_world w{3};
    for (auto& p : w.peers) {
        p->master.knows_hello = told_by == "HELLO";
        if (told_by != "INFO") {
            p->master.refusals["INFO"] = "NOPERM no permissions to run it";
        }
    }
    w.start();
    w.drop(w.lock("r"));
    for (unsigned i : {0U, 1U}) {
        w.peers[i]->master.role = role;
    }
    SECTION("when the client asks for its next vote a second after its role")
    {
        w.advance(1s);
        CHECK(w.acquire("r", {.timeout = 0ms}).error == errc::unavailable);
    }
    SECTION("while the client extends a lock")
    {
        core::lease& l = w.lock("r", {.ttl = 1h});
        w.advance(1s);
        CHECK(w.extend(l, 2h).error);
    }
    SECTION("after ping_interval without commands")
    {
        w.advance(w.settings.ping_interval);
    }
    w.advance(1ms);
    CHECK(w.ready() == 1);
    CHECK(w.lines_with("master") == 2);
    CHECK(w.log_levels.at(0) == log_level::error);
    for (auto& p : w.peers) {
        p->master.role = "master";
    }
    w.advance(5s);
    CHECK(w.ready() == 3);
}

TEST_CASE("a client closes the connection of a node that no longer gives its role", "[core]")
{
    const bool knows_hello = GENERATE(true, false);
    const auto error = GENERATE(as<std::string>{}, "NOPERM no permissions to run it",
                                "BUSY a script runs", "ERR proxy: no upstream", "LOADING data");
    CAPTURE(knows_hello, error);
    bench_world w{1};
    w.peers[0]->master.knows_hello = knows_hello;
    w.start();
    w.peers[0]->master.refusals["INFO"] = error;
    w.advance(5s);
    CHECK(w.peers[0]->closes == 1);
    CHECK(w.ready() == 0);
    REQUIRE(w.log_lines.size() == 1);
    CHECK(w.log_lines[0].find(error.substr(0, error.find(' '))) != std::string::npos);
}

TEST_CASE("a node that refuses to give its role for a while has one line in the log", "[core]")
{
    const std::string code = GENERATE("BUSY", "TRYAGAIN", "LOADING", "MASTERDOWN", "CLUSTERDOWN");
    const std::string source = GENERATE("HELLO", "INFO");
    // The next connections are refused at this command of the handshake.
    const std::string at = GENERATE_COPY(source, "SCRIPT LOAD", "EVALSHA");
    CAPTURE(code, source, at);
    bench_world w{1};
    auto& refusals = w.peers[0]->master.refusals;
    refusals[source == "HELLO" ? "INFO" : "HELLO"] = "NOPERM no permissions to run it";
    w.start();
    refusals[source] = code + " in the words of the server";
    w.advance(w.settings.ping_interval);
    CHECK(w.peers[0]->closes == 1);
    refusals.erase(source);
    refusals[at] = code + " in other words";
    for (int i = 0; i < 20; ++i) {
        w.advance(500ms);
    }
    CHECK(w.peers[0]->dials.size() > 3);
    REQUIRE(w.log_lines.size() == 1);
    CHECK(w.log_lines[0].ends_with('(' + code + ')'));
    CHECK(w.log_levels[0] == log_level::warning);

    refusals.clear();
    w.advance(5s);
    w.drop(w.lock("r"));
    CHECK(w.ready() == 1);
    CHECK(w.lines_with("is usable again") == 1);
}

TEST_CASE("a client closes the connection of a node that answers without its role", "[core]")
{
    running_world w{1};
    w.peers[0]->master.role.clear();
    w.advance(5s);
    CHECK(w.peers[0]->closes == 1);
    CHECK(w.lines_with("no longer gives its role") == 1);
}

TEST_CASE("a client asks a busy node for its role once a second", "[core]")
{
    running_world w{1};
    for (int i = 0; i < 1000; ++i) {
        w.drop(w.lock("r"));
        w.advance(10ms);
    }
    CHECK(w.role_queries(0) >= 9);
    CHECK(w.role_queries(0) <= 10);
}
