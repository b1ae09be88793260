#include "client/testing/fixture.hpp"

#include "support/no_more_files.hpp"
#include "support/resp_client.hpp"
#include "support/sanitizers.hpp"

#include <boost/asio/ip/address_v4.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/system_error.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>

using namespace redlock;
using namespace redlock::test;

TEST_CASE("one frozen node of three has no effect and two leave no majority", "[testing]")
{
    const auto where = GENERATE(place::threads_of_their_own, place::the_clients_context);
    three_nodes t(where);
    // The last acquire waits for two frozen nodes as long as this. If a busy machine makes an
    // attempt of the first acquire too slow, there is another one.
    t.settings.node_timeout = 2s;
    t.start();
    t.nodes[2].freeze();
    const lock held = t.take("one");
    CHECK(t.nodes[0].held("one"));
    CHECK(t.nodes[1].held("one"));
    t.until([&] { return t.nodes[2].count("SET", "one") == 1; });
    CHECK(!t.nodes[2].held("one"));
    t.nodes[1].freeze();
    report said;
    acquire_options o = at_once();
    o.report = &said;
    CHECK(t.acquire("two", o).first == errc::unavailable);
    REQUIRE(said.nodes.size() == 3);
    CHECK(said.nodes[1].outcome == node_outcome::timed_out);
}

TEST_CASE("a node that thaws executes the commands it has received", "[testing]")
{
    connected_nodes t;
    t.nodes[2].freeze();
    lock held = t.take("one");
    t.until([&] { return t.nodes[2].count("SET", "one") == 1; });
    t.nodes[2].thaw();
    t.until([&] { return t.nodes[2].held("one"); });
    held = {};
    t.until([&] { return t.holding("one") == 0; });
}

TEST_CASE("a frozen node executes its commands after the changes that the test made meanwhile",
          "[testing]")
{
    scripted_node node;
    resp_client raw(node.port());
    node.freeze();
    raw.send(wire::command({"SET", "a", "b", "NX", "PX", "100000"}));
    CHECK(wait_for([&] { return node.count("SET", "a") == 1; }));
    node.hold("a", for_ever);
    node.thaw();
    CHECK(raw.read().type == reply::kind::null);
}

TEST_CASE("a node that thaws executes the commands of connections that have closed", "[testing]")
{
    connected_nodes t;
    t.nodes[2].freeze();
    CHECK(!std::move(t.take("one")).detach().empty());
    t.until([&] { return t.nodes[2].count("SET", "one") == 1; });
    t.locks.reset();
    t.until([&] { return t.nodes[0].connections() == 0; });
    CHECK(t.nodes[2].connections() == 1);
    CHECK(!t.nodes[2].held("one"));
    t.nodes[2].thaw();
    t.until([&] { return t.nodes[2].held("one") && t.nodes[2].connections() == 0; });
}

TEST_CASE("nodes without memory grant no lock but extend and release earlier ones", "[testing]")
{
    connected_nodes t;
    lock held = t.take("one");
    t.until([&] { return t.holding("one") == 3; });
    t.on_majority([](scripted_node& n) { n.set_out_of_memory(true); });
    report said;
    acquire_options o = at_once();
    o.report = &said;
    CHECK(t.acquire("two", o).first == errc::unavailable);
    REQUIRE(said.nodes.size() == 3);
    CHECK(said.nodes[0].outcome == node_outcome::failed);
    CHECK(said.nodes[0].error.starts_with("OOM"));
    CHECK(t.extend(held, 2 * for_ever) == error_code{});
    CHECK(t.release(std::move(held)).second == release_result::released);
    // The test's own calls work without memory.
    t.nodes[0].hold("three", for_ever);
    CHECK(t.nodes[0].held("three"));
    t.on_majority([](scripted_node& n) { n.set_out_of_memory(false); });
    CHECK(t.acquire("two", at_once()).first == error_code{});
}

TEST_CASE("a delayed node answers after its delay", "[testing]")
{
    constexpr auto span = 150ms;
    connected_nodes t;
    t.on_majority([&](scripted_node& n) { n.delay(span); });
    const auto begun = std::chrono::steady_clock::now();
    acquire_options o = at_once();
    o.fencing = false;
    CHECK(t.acquire("one", o).first == error_code{});
    CHECK(std::chrono::steady_clock::now() - begun >= span);
    t.on_majority([](scripted_node& n) { n.delay(1h); });
    t.on_majority([](scripted_node& n) { n.delay(0ms); });
    CHECK(t.acquire("two", o).first == error_code{});
}

TEST_CASE("a node accepts delays of any length and refuses invalid ones", "[testing]")
{
    constexpr auto longest = std::chrono::milliseconds::max();
    asio::io_context io;
    scripted_node node(io);
    resp_client raw(node.port());
    node.hold("a", longest);
    io.poll();
    CHECK(node.held("a"));
    node.delay(longest);
    raw.send(wire::command({"PING"}));
    REQUIRE(run_until(io, [&] { return node.count("PING") == 1; }));
    io.poll();
    node.disconnect();
    CHECK_THROWS(raw.read());
    for (const auto span : {std::chrono::milliseconds::min(), -1ms, 0ms}) {
        CHECK_THROWS_AS(node.hold("b", span), std::invalid_argument);
    }
    CHECK(!node.held("b"));
    CHECK_THROWS_AS(node.delay(-1ms), std::invalid_argument);
}

TEST_CASE("a node that is too slow has no vote", "[testing]")
{
    three_nodes t;
    // The first two nodes answer later than this, and the third alone is no majority.
    t.settings.node_timeout = 100ms;
    t.start();
    t.on_majority([](scripted_node& n) { n.delay(10s); });
    CHECK(t.acquire("one", at_once()).first == errc::unavailable);
}

TEST_CASE("a client reconnects to nodes that cut its connections", "[testing]")
{
    const auto where = GENERATE(place::threads_of_their_own, place::the_clients_context);
    connected_nodes t(where);
    lock held = t.take("one");
    for (scripted_node& each : t.nodes) {
        CHECK(each.connections() == 1);
        each.disconnect();
        CHECK(each.connections() == 0);
    }
    t.until([&] {
        return t.nodes[0].count("HELLO") >= 2 && t.nodes[1].count("HELLO") >= 2 &&
               t.nodes[2].count("HELLO") >= 2;
    });
    t.become_ready(3);
    CHECK(t.extend(held, 2 * for_ever) == error_code{});
}

TEST_CASE("a node does not execute commands from a connection that is cut", "[testing]")
{
    connected_nodes t;
    t.nodes[2].freeze();
    acquire_options o = patient();
    o.fencing = false;
    const lock held = t.take("one", o);
    t.until([&] { return t.nodes[2].count("SET", "one") == 1; });
    t.nodes[2].disconnect();
    t.nodes[2].thaw();
    t.become_ready(3);
    CHECK(!t.nodes[2].held("one"));
}

TEST_CASE("nodes that refuse connections are down until they accept again", "[testing]")
{
    const auto where = GENERATE(place::threads_of_their_own, place::the_clients_context);
    connected_nodes t(where);
    const std::string url = t.nodes[0].url();
    // Connections that exist remain.
    t.on_majority([](scripted_node& n) { n.refuse(); });
    CHECK(t.acquire("one", at_once()).first == error_code{});
    t.on_majority([](scripted_node& n) { n.disconnect(); });
    t.become_ready(1);
    CHECK(t.acquire("two", at_once()).first == errc::unavailable);
    CHECK_THROWS(resp_client(t.nodes[0].port()));
    // No other program takes the port meanwhile.
    asio::ip::tcp::acceptor somebody(t.io, asio::ip::tcp::v4());
    CHECK_THROWS(somebody.bind({asio::ip::address_v4::loopback(), t.nodes[0].port()}));
    t.on_majority([](scripted_node& n) {
        n.refuse();
        n.accept();
        n.accept();
    });
    CHECK(t.nodes[0].url() == url);
    t.become_ready(3);
    CHECK(t.acquire("two", at_once()).first == error_code{});
}

TEST_CASE("a node that cannot listen reports it and keeps its state", "[testing]")
{
    scripted_node node;
    node.refuse();
    node.set_out_of_memory(true);
    asio::io_context io;
    asio::ip::tcp::acceptor somebody(io, asio::ip::tcp::v4());
    somebody.set_option(asio::ip::tcp::acceptor::reuse_address(true));
    somebody.bind({asio::ip::address_v4::loopback(), node.port()});
    somebody.listen();
    for (int i = 0; i < 2; ++i) {
        CHECK_THROWS_AS(node.accept(), boost::system::system_error);
        CHECK_THROWS_AS(node.recover(), boost::system::system_error);
    }
    somebody.close();
    CHECK_THROWS(resp_client(node.port()));
    node.accept();
    resp_client raw(node.port());
    CHECK(raw.ask({"SET", "a", "b"}).is_error());
    node.recover();
    CHECK(raw.ask({"SET", "a", "b"}).text == "OK");
}

#if !REDLOCK_TEST_ADDRESS_SANITIZER
TEST_CASE("a node without a descriptor for a connection waits for one and does not spin",
          "[testing]")
{
    asio::io_context io;
    scripted_node node(io);
    resp_client raw(node.port());
    {
        const no_more_files limit;
        // Each try to accept is a handler, and so is the wait after it. A node that waits for 10 ms
        // takes 100 ms for twenty handlers, and a node that spins less than one.
        const auto begun = std::chrono::steady_clock::now();
        for (int handlers = 0; handlers < 20; ++handlers) {
            REQUIRE(io.run_one_for(patience) == 1);
        }
        CHECK(std::chrono::steady_clock::now() - begun >= 50ms);
        CHECK(node.connections() == 0);
    }
    REQUIRE(run_until(io, [&] { return node.connections() == 1; }));
    raw.send(wire::command({"PING"}));
    REQUIRE(run_until(io, [&] { return node.count("PING") == 1; }));
    CHECK(raw.read().text == "PONG");
}

TEST_CASE("a node that waits for a descriptor may refuse and can be destroyed", "[testing]")
{
    asio::io_context io;
    {
        scripted_node node(io);
        const resp_client raw(node.port());
        {
            const no_more_files limit;
            io.poll();
        }
        node.refuse();
        io.poll();
        node.accept();
        const resp_client second(node.port());
        REQUIRE(run_until(io, [&] { return node.connections() == 1; }));
        const resp_client third(node.port());
        const no_more_files limit;
        io.poll();
    }
    io.poll();
    CHECK(io.stopped());
}
#endif

TEST_CASE("a restarted node has its keys or has lost them as the test says", "[testing]")
{
    connected_nodes t;
    lock held = t.take("one");
    t.until([&] { return t.holding("one") == 3; });
    t.on_majority([](scripted_node& n) { n.restart(scripted_node::keys::kept); });
    t.until([&] { return t.nodes[0].count("HELLO") >= 2 && t.nodes[1].count("HELLO") >= 2; });
    t.become_ready(3);
    CHECK(t.extend(held, 2 * for_ever) == error_code{});
    t.on_majority([](scripted_node& n) { n.restart(scripted_node::keys::lost); });
    CHECK(t.holding("one") == 1);
    t.until([&] { return t.nodes[0].count("HELLO") >= 3 && t.nodes[1].count("HELLO") >= 3; });
    t.become_ready(3);
    CHECK(t.extend(held, 2 * for_ever) == errc::lost);
}

TEST_CASE("the restart guard keeps a restarted node out", "[testing]")
{
    three_nodes t;
    t.settings.restart_guard = guard_config{.max_ttl = for_ever, .admit_new_nodes = true};
    t.start();
    CHECK(t.acquire("one", patient()).first == error_code{});
    // A new node that loses its connection before it is admitted must wait like a restarted one.
    t.until([&] { return t.locks->stats().nodes_quarantined == 0; });
    t.nodes[0].disconnect();
    t.until([&] { return t.nodes[0].count("HELLO") >= 2; });
    t.become_ready(3);
    t.until([&] { return t.locks->stats().nodes_quarantined == 0; });
    // The client can't know which keys the node still has.
    t.nodes[0].restart(scripted_node::keys::kept);
    t.until([&] { return t.locks->stats().nodes_quarantined == 1; });
    CHECK(t.acquire("one", patient()).first == error_code{});
}

TEST_CASE("a recovered node executes the commands that were delayed", "[testing]")
{
    connected_nodes t;
    for (scripted_node& each : t.nodes) {
        each.delay(1h);
    }
    std::optional<error_code> ended;
    t.locks->async_acquire("one", patient(), [&](error_code ec, const lock&) { ended = ec; });
    t.until([&] { return t.nodes[0].count("SET", "one") > 0; });
    for (scripted_node& each : t.nodes) {
        each.recover();
    }
    t.until([&] { return ended.has_value(); });
    CHECK(*ended == error_code{});
}

TEST_CASE("a recovered node is as before except for its keys", "[testing]")
{
    connected_nodes t;
    for (scripted_node& each : t.nodes) {
        each.hold("held", for_ever);
        each.answer("SET", scripted_node::reply::error("LOADING not yet"));
        each.set_out_of_memory(true);
        each.delay(1h);
        each.freeze();
        each.refuse();
        each.disconnect();
    }
    t.become_ready(0);
    for (scripted_node& each : t.nodes) {
        each.recover();
    }
    t.become_ready(3);
    CHECK(t.acquire("one", at_once()).first == error_code{});
    CHECK(t.acquire("held", at_once()).first == errc::contended);
}
