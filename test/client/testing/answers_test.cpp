#include "client/testing/fixture.hpp"

#include "support/resp_client.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

using namespace redlock;
using namespace redlock::test;

TEST_CASE("a scripted node gives the test's answer the requested number of times", "[testing]")
{
    connected_nodes t;
    t.on_majority([](scripted_node& n) {
        n.answer("set", scripted_node::reply::error("OOM\r\nno room"), 2);
    });
    report said;
    acquire_options o = at_once();
    o.report = &said;
    for (int i = 0; i < 2; ++i) {
        CHECK(t.acquire("one", o).first == errc::unavailable);
        REQUIRE(said.nodes.size() == 3);
        CHECK(said.nodes[0].outcome == node_outcome::failed);
        CHECK(said.nodes[0].error == "OOM  no room");
        CHECK(!t.nodes[0].held("one"));
    }
    CHECK(t.acquire("one", o).first == error_code{});
}

TEST_CASE("several answers for one command are given in turn", "[testing]")
{
    connected_nodes t;
    t.on_majority([](scripted_node& n) {
        n.answer("SET", scripted_node::reply::null(), 1);
        n.answer("SET", scripted_node::reply::error("READONLY a replica"));
        n.answer("SET", scripted_node::reply::error("MISCONF no disk"));
    });
    CHECK(t.acquire("one", at_once()).first == errc::contended);
    report said;
    acquire_options o = at_once();
    o.report = &said;
    for (int i = 0; i < 3; ++i) {
        CHECK(t.acquire("one", o).first == errc::unavailable);
        REQUIRE(said.nodes.size() == 3);
        CHECK(said.nodes[0].error == "MISCONF no disk");
    }
}

TEST_CASE("a new answer for always replaces the earlier one in any letter case", "[testing]")
{
    connected_nodes t;
    t.on_majority([](scripted_node& n) {
        n.answer("set", scripted_node::reply::error("READONLY a replica"));
        n.answer("SET", scripted_node::reply::null(), 1);
        n.answer("SET", scripted_node::reply::error("MISCONF no disk"), 0);
    });
    CHECK(t.acquire("one", at_once()).first == errc::contended);
    CHECK(t.acquire("one", at_once()).first == error_code{});
}

TEST_CASE("answers for a script depend on the purpose of the script", "[testing]")
{
    connected_nodes t;
    lock held = t.take("one");
    lock other = t.take("two");
    t.until([&] { return t.holding("one") == 3 && t.holding("two") == 3; });
    t.on_majority([](scripted_node& n) {
        n.answer("extend", scripted_node::reply::integer(0), 1);
        n.answer("release", scripted_node::reply::integer(0), 1);
    });
    CHECK(t.extend(held, 2 * for_ever) == errc::lost);
    CHECK(t.nodes[0].held("one"));
    CHECK(t.release(std::move(other)).second == release_result::not_held);
    CHECK(t.nodes[0].held("two"));
}

TEST_CASE("answers for a command can depend on its second word too", "[testing]")
{
    three_nodes t;
    t.settings.max_poll_interval = 20ms;
    for (scripted_node& each : t.nodes) {
        each.answer("client tracking", scripted_node::reply::error("NOPERM this user may not"));
        each.answer("SCRIPT", scripted_node::reply::error("NOPERM this user may not"));
    }
    t.start();
    t.on_majority([](scripted_node& n) { n.hold("one", for_ever); });
    std::optional<error_code> got;
    t.locks->async_acquire("one", patient(), [&](error_code ec, lock) { got = ec; });
    t.until([&] { return t.nodes[0].count("SET", "one") + t.nodes[1].count("SET", "one") > 5; });
    CHECK(t.nodes[0].count("SCRIPT LOAD") > 0);
    t.on_majority([](scripted_node& n) { n.drop("one"); });
    t.until([&] { return got.has_value(); });
    CHECK(*got == error_code{});
}

TEST_CASE("a scripted node pretends on request that all went well", "[testing]")
{
    connected_nodes t;
    for (scripted_node& each : t.nodes) {
        each.answer("SET", scripted_node::reply::ok());
        each.answer("count", scripted_node::reply::integer(2'000'000'000'000'000));
    }
    const lock held = t.take("one");
    CHECK(held.fencing_token() == 2'000'000'000'000'000);
    CHECK(t.holding("one") == 0);
}

TEST_CASE("a client survives senseless answers", "[testing]")
{
    connected_nodes t;
    t.on_majority(
        [](scripted_node& n) { n.answer("SET", scripted_node::reply::bytes("!?\r\n"), 1); });
    CHECK(t.acquire("one", at_once()).first == errc::unavailable);
    t.until([&] { return t.nodes[0].count("HELLO") >= 2 && t.nodes[1].count("HELLO") >= 2; });
    t.become_ready(3);
    CHECK(t.acquire("one", patient()).first == error_code{});
}

TEST_CASE("CLIENT CACHING applies to the next command even if the test answers it", "[testing]")
{
    scripted_node node;
    resp_client raw(node.port());
    (void)raw.ask({"HELLO", "3"});
    (void)raw.ask({"CLIENT", "TRACKING", "ON", "OPTIN"});
    node.answer("GET", scripted_node::reply::null(), 1);
    (void)raw.ask({"CLIENT", "CACHING", "YES"});
    (void)raw.ask({"GET", "a"});
    (void)raw.ask({"GET", "b"});
    node.hold("b", for_ever);
    // No push comes before this reply.
    CHECK(raw.ask({"PING"}).text == "PONG");
}

TEST_CASE("a scripted node loses a command or its reply together with the connection", "[testing]")
{
    const bool is_done = GENERATE(false, true);
    scripted_node node;
    node.answer("SET",
                is_done ? scripted_node::reply::reply_lost() : scripted_node::reply::command_lost(),
                1);
    resp_client raw(node.port());
    raw.send(wire::command({"PING"}) + wire::command({"SET", "a", "x"}) +
             wire::command({"SET", "b", "x"}));
    CHECK(raw.read().text == "PONG");
    CHECK_THROWS(raw.read());
    CHECK(node.connections() == 0);
    CHECK(node.held("a") == is_done);
    CHECK(!node.held("b"));
    resp_client again(node.port());
    CHECK(again.ask({"SET", "b", "x"}).text == "OK");
}

TEST_CASE("a client releases a lock whose grant it never received", "[testing]")
{
    const bool is_done = GENERATE(false, true);
    const auto where = GENERATE(place::threads_of_their_own, place::the_clients_context);
    connected_nodes t(where);
    t.on_majority([&](scripted_node& n) {
        n.refuse();
        n.answer("SET", is_done ? scripted_node::reply::reply_lost()
                                : scripted_node::reply::command_lost());
    });
    report said;
    acquire_options o = at_once();
    o.report = &said;
    CHECK(t.acquire("one", o).first == errc::unavailable);
    REQUIRE(said.nodes.size() == 3);
    CHECK(said.nodes[0].outcome == node_outcome::disconnected);
    CHECK(t.nodes[0].held("one") == is_done);
    CHECK(t.nodes[1].held("one") == is_done);
    t.on_majority([](scripted_node& n) { n.recover(); });
    t.until([&] { return t.holding("one") == 0; });
    CHECK(t.acquire("one", patient()).first == error_code{});
}
