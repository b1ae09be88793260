#include "support/bad_network.hpp"
#include "support/locks.hpp"
#include "support/masters.hpp"
#include "support/proxy.hpp"
#include "support/resp_client.hpp"
#include "support/run.hpp"
#include "support/scripted_server.hpp"

#include <redlock/testing/scripted_node.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;
using namespace std::chrono_literals;
using redlock::testing::scripted_node;

namespace asio = boost::asio;

namespace {

/// Takes a lock with the votes of all nodes and releases it, and checks that no key is left.
void cycle_on_all(locks& client, masters& nodes, const std::string& resource)
{
    REQUIRE(client.await_ready(nodes.size()));
    lock held = client.take(resource, {.ttl = 60s});
    REQUIRE(client.await_quiet());
    CHECK(held.granted_by() == nodes.size());
    client.give_back(std::move(held));
    REQUIRE(client.await_quiet());
    CHECK(nodes.count(resource) == 0);
}

/// The nodes' answers to one attempt. If a busy machine makes the answers late, there is another
/// attempt.
error_code answer_to(locks& client, const std::string& resource)
{
    error_code result;
    REQUIRE(wait_for([&] {
        result = client.acquire(resource, once()).error;
        return result != errc::unavailable;
    }));
    return result;
}

bool is(const arguments& command, std::string_view name)
{
    return !command.empty() && command.front() == name;
}

/// A connection that the server has accepted. A connection that was closed may still count as a
/// client.
std::unique_ptr<resp_client> enter(const server& node)
{
    std::unique_ptr<resp_client> result;
    REQUIRE(wait_for([&] {
        try {
            result = node.connect();
            return !result->ask({"PING"}).is_error();
        } catch (const std::exception&) {
            return false;  // the server had too many clients
        }
    }));
    return result;
}

/// A node that answers the SET of "slow" in two parts, the second on request, and refuses "taken".
scripted_server::script in_two_parts(const std::shared_ptr<std::atomic<bool>>& go_on)
{
    return [go_on](scripted_connection& peer) -> asio::awaitable<void> {
        // Named outside of co_await, where GCC 12 destroys some temporaries twice.
        const std::function<bool()> may_go_on = [go_on] { return go_on->load(); };
        for (;;) {
            const auto command = co_await peer.read_command();
            if (is(command, "SET") && command.at(1) == "slow") {
                co_await peer.send("+O");
                co_await peer.until(may_go_on);
                co_await peer.send("K\r\n");
            } else if (is(command, "SET") && command.at(1) == "taken") {
                co_await peer.send(wire::null3());
            } else {
                std::string answer = obedient(command);
                co_await peer.send(std::move(answer));
            }
        }
    };
}

}  // namespace

TEST_CASE("p21: each node that restarts without its memory takes part again",
          "[servers][pitfall][p21]")
{
    masters nodes(3, {.kind = each_kind()});
    locks mine(nodes.urls());
    cycle_on_all(mine, nodes, "before");
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        nodes[i].restart(memory::lost);
        mine.give_back(mine.take("at once"));
        REQUIRE(mine.await([&] { return mine.stats().disconnects == i + 1; }));
        cycle_on_all(mine, nodes, "after");
    }
}

TEST_CASE("p21: a client works again after all nodes restart at once without keys and scripts",
          "[servers][pitfall][p21]")
{
    masters nodes(3);
    ready_locks mine(nodes.urls());
    lock held = mine.take("r");
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        nodes[i].restart(memory::lost);
    }
    REQUIRE(mine.await([&] { return mine.stats().disconnects == 3; }));
    cycle_on_all(mine, nodes, "other");
    CHECK(mine.extend(held, longer_ttl) == errc::lost);
}

TEST_CASE("a restart that kept the memory kept the lock as well", "[servers]")
{
    masters nodes(3, {.files = persistence::append_only});
    ready_locks mine(nodes.urls());
    lock held = mine.take("r", {.ttl = 60s});
    REQUIRE(mine.await_quiet());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        nodes[i].restart(memory::kept);
    }
    REQUIRE(mine.await([&] { return mine.stats().disconnects == 3; }));
    REQUIRE(mine.await_ready(3));
    CHECK(mine.acquire("r", once()).error == errc::contended);
    CHECK_FALSE(mine.extend(held, 90s));
    mine.give_back(std::move(held));
    REQUIRE(mine.await_quiet());
    CHECK(nodes.count("r") == 0);
}

TEST_CASE("a client locks while two of five nodes are dead but not while three are", "[servers]")
{
    masters nodes(5);
    locks mine(nodes.urls());
    cycle_on_all(mine, nodes, "all five");
    nodes[0].kill();
    nodes[3].kill();
    for (int i = 0; i < 20; ++i) {
        mine.give_back(mine.take("three of five"));
    }
    nodes[1].kill();
    REQUIRE(mine.await_ready(2));
    report told;
    CHECK(mine.acquire("two of five", once(&told)).error == errc::unavailable);
    CHECK(told.nodes[1].outcome == node_outcome::disconnected);
    CHECK_FALSE(told.nodes[1].error.empty());

    // `longer` gives the machine a quarter of `patience` to end the other acquire. If the acquire
    // ignored its own deadline of 100 ms, it would end later.
    asio::cancellation_signal stop;
    const auto longer =
        mine.begin_acquire("two of five", {.ttl = 60s, .timeout = patience / 4}, stop.slot());
    CHECK(mine.acquire("other", {.ttl = 60s, .timeout = 100ms}).error == errc::timed_out);
    CHECK_FALSE(longer->has_value());
    stop.emit(asio::cancellation_type::terminal);
    CHECK(mine.finish(longer).error == asio::error::operation_aborted);
    for (const std::size_t i : {0U, 1U, 3U}) {
        nodes[i].start(memory::lost);
    }
    cycle_on_all(mine, nodes, "all five");
    CHECK(mine.await_quiet());
    CHECK(nodes.count("two of five") + nodes.count("other") == 0);
}

TEST_CASE("p21: a client reconnects after a connection ends by FIN or RST",
          "[servers][pitfall][p21]")
{
    const auto how = GENERATE(ending::fin, ending::rst);
    bad_network net(3);
    locks mine(net.urls());
    cycle_on_all(mine, net.nodes, "before");
    for (const auto& path : net.paths) {
        const auto before = mine.stats().disconnects;
        path->cut(how);
        REQUIRE(mine.await([&] { return mine.stats().disconnects > before; }));
        cycle_on_all(mine, net.nodes, "after");
    }
}

TEST_CASE("a client reads answers that arrive byte by byte", "[servers]")
{
    bad_network net(3);
    for (const auto& path : net.paths) {
        path->split(direction::down, 1);
        path->split(direction::up, 3);
    }
    locks mine(net.urls());
    cycle_on_all(mine, net.nodes, "r");
    CHECK(mine.stats().protocol_errors == 0);
    CHECK(mine.stats().disconnects == 0);
}

TEST_CASE("p20: a client releases a SET that a node executed before its connection died",
          "[servers][pitfall][p20]")
{
    masters nodes(1);
    proxy path(nodes[0].port());
    ready_locks mine({path.url()});
    path.hold(direction::down);
    const auto begun = mine.begin_acquire("r", {.ttl = 60s, .timeout = 0s});
    REQUIRE(mine.await([&] { return nodes[0].exists("r"); }));
    path.refuse();
    path.cut(ending::rst);
    path.release(direction::down);
    CHECK(mine.finish(begun).error == errc::unavailable);
    CHECK(nodes[0].exists("r"));
    path.accept();
    REQUIRE(mine.await([&] { return !nodes[0].exists("r"); }));
    CHECK(mine.await_quiet());
}

TEST_CASE("p18, p20: a client releases a SET that a node executes long after its deadline",
          "[servers][pitfall][p18][p20]")
{
    masters nodes(1);
    proxy path(nodes[0].port());
    locks mine(brisk({path.url()}, patience));
    REQUIRE(mine.await_ready(1));
    path.hold(direction::up);
    report told;
    CHECK(mine.acquire("r", {.ttl = 60s, .timeout = 0s, .report = &told}).error ==
          errc::unavailable);
    CHECK(told.nodes[0].outcome == node_outcome::timed_out);
    CHECK_FALSE(nodes[0].exists("r"));
    path.release(direction::up);
    REQUIRE(mine.await_quiet());
    CHECK_FALSE(nodes[0].exists("r"));
    CHECK(mine.stats().late_grants == 1);
    CHECK(nodes[0].ask({"INFO", "commandstats"}).text.find("cmdstat_del:calls=1") !=
          std::string::npos);
}

TEST_CASE("p21: a client never takes a late answer for the answer to its next request",
          "[servers][pitfall][p21]")
{
    masters nodes(1);
    proxy path(nodes[0].port());
    locks mine(brisk({path.url()}, patience));
    REQUIRE(mine.await_ready(1));
    nodes[0].command({"SET", "taken", "somebody"});
    path.hold(direction::down);
    CHECK(mine.acquire("free", once()).error == errc::unavailable);
    report told;
    CHECK(mine.acquire("taken", once(&told)).error == errc::unavailable);
    CHECK(told.nodes[0].outcome == node_outcome::stalled);
    path.release(direction::down);
    REQUIRE(mine.await_quiet());
    CHECK(answer_to(mine, "taken") == errc::contended);
    CHECK_FALSE(nodes[0].exists("free"));
    CHECK(mine.stats().late_replies >= 1);
    CHECK(mine.stats().disconnects == 0);
}

TEST_CASE("p21: a timeout in the middle of an answer leaves the connection in step",
          "[servers][pitfall][p21]")
{
    const auto go_on = std::make_shared<std::atomic<bool>>(false);
    const scripted_server node(in_two_parts(go_on));
    locks mine(brisk({node.url()}, patience));
    REQUIRE(mine.await_ready(1));
    CHECK(mine.acquire("slow", once()).error == errc::unavailable);
    *go_on = true;
    REQUIRE(mine.await_quiet());
    CHECK(answer_to(mine, "taken") == errc::contended);
    CHECK(mine.stats().late_grants == 1);
    CHECK(mine.stats().disconnects == 0);
    CHECK(node.failures().empty());
}

TEST_CASE("p21: a timeout within an answer of any one of three nodes does not disturb the others",
          "[servers][pitfall][p21]")
{
    const auto slow = GENERATE(0U, 1U, 2U);
    CAPTURE(slow);
    const auto go_on = std::make_shared<std::atomic<bool>>(false);
    // One more node refuses "taken", so the slow node's vote decides.
    const auto at_once = std::make_shared<std::atomic<bool>>(true);
    std::vector<std::unique_ptr<scripted_server>> nodes;
    std::vector<std::string> urls;
    for (unsigned i = 0; i < 3; ++i) {
        nodes.push_back(std::make_unique<scripted_server>(
            i == slow             ? in_two_parts(go_on)
            : i == (slow + 1) % 3 ? in_two_parts(at_once)
                                  : [](scripted_connection& peer) -> asio::awaitable<void> {
                co_await peer.serve();
            }));
        urls.push_back(nodes.back()->url());
    }
    locks mine(brisk(urls, patience));
    REQUIRE(mine.await_ready(3));
    lock held = mine.take("slow", {.ttl = 60s});
    REQUIRE(mine.await([&] { return mine.stats().node_timeouts >= 1; }));
    CHECK(held.granted_by() == 2);
    report told;
    lock next = mine.take("next", {.ttl = 60s, .report = &told});
    CHECK(told.nodes.at(slow).outcome == node_outcome::stalled);
    *go_on = true;
    REQUIRE(mine.await_quiet());
    CHECK(held.granted_by() == 3);
    CHECK(next.granted_by() == 2);
    CHECK(answer_to(mine, "taken") == errc::contended);
    REQUIRE(mine.await_quiet());
    CHECK(mine.stats().disconnects == 0);
    CHECK(mine.stats().protocol_errors == 0);
    for (const auto& node : nodes) {
        CHECK(node->failures().empty());
    }
}

TEST_CASE("a node that sends garbage or unrequested answers costs only its own vote", "[servers]")
{
    const std::string garbage =
        GENERATE("HTTP/1.1 400 Bad Request\r\n\r\n", "*2147483647\r\n", "$18446744073709551615\r\n",
                 "+OK\r\n+OK\r\n+OK\r\n", ":1\r\n", "*1x\r\n");
    scripted_node mad;
    mad.answer("SET", scripted_node::reply::bytes(garbage));
    masters nodes(2);
    auto urls = nodes.urls();
    urls.insert(urls.begin(), mad.url());
    locks mine(urls);
    REQUIRE(mine.await_ready(3));
    lock held = mine.take("r");
    REQUIRE(mine.await([&] { return mine.stats().protocol_errors >= 1; }));
    mine.give_back(std::move(held));
    CHECK(nodes.count("r") == 0);
}

TEST_CASE("one silent node of three makes no acquire slow", "[servers]")
{
    const bool from_the_start = GENERATE(true, false);
    bad_network net(3);
    if (from_the_start) {
        net.paths[2]->hold(direction::down);
    }
    const auto c = patient(net.urls());
    locks mine(c);
    REQUIRE(mine.await_ready(from_the_start ? 2 : 3));
    net.paths[2]->hold(direction::up);
    net.paths[2]->hold(direction::down);
    // Each wait for the silent node takes the node timeout. No machine delays a cycle that much.
    slow_steps cycles(c.node_timeout);
    for (int i = 0; i < 20; ++i) {
        cycles.time([&] { mine.give_back(mine.take("r", {.ttl = 60s})); });
    }
    CHECK(cycles.count() == 0);
    net.paths[2]->release(direction::up);
    net.paths[2]->release(direction::down);
    cycle_on_all(mine, net.nodes, "r");
}

TEST_CASE("a client closes and replaces a stalled connection after the stall timeout", "[servers]")
{
    masters nodes(1);
    proxy path(nodes[0].port());
    locks mine(brisk({path.url()}));
    REQUIRE(mine.await_ready(1));
    path.hold(direction::up);
    CHECK(mine.acquire("r", once()).error == errc::unavailable);
    REQUIRE(mine.await([&] { return mine.stats().disconnects == 1; }));
    CHECK(mine.logged(log_level::warning, "stall_timeout"));
    path.cut(ending::rst);
    path.release(direction::up);
    cycle_on_all(mine, nodes, "r");
    CHECK(path.connections() >= 2);
}

TEST_CASE("a client finds a dead idle connection by a ping", "[servers]")
{
    masters nodes(1);
    proxy path(nodes[0].port());
    auto c = brisk({path.url()});
    c.ping_interval = 100ms;
    ready_locks mine(std::move(c));
    path.hold(direction::down);
    REQUIRE(mine.await([&] { return mine.stats().disconnects == 1; }));
    path.cut(ending::rst);
    path.release(direction::down);
    cycle_on_all(mine, nodes, "r");
}

TEST_CASE("a client reconnects after the server kills its connections", "[servers]")
{
    masters nodes(3, {.kind = each_kind()});
    ready_locks mine(nodes.urls());
    for (std::size_t i = 0; i < 3; ++i) {
        nodes[i].command({"CLIENT", "KILL", "TYPE", "normal"});
    }
    REQUIRE(mine.await([&] { return mine.stats().disconnects >= 3; }));
    mine.give_back(mine.take("r"));
    CHECK(mine.stats().unavailable + mine.stats().timed_out == 0);
}

TEST_CASE("a client reconnects after the server closes idle connections before it needs them",
          "[servers]")
{
    masters nodes(3, {.kind = each_kind()});
    config c = patient(nodes.urls());
    c.reconnect_backoff_min = c.reconnect_backoff_max =
        1min;  // a connection that isn't made again at once stays away
    ready_locks mine(c);
    for (std::size_t i = 0; i < 3; ++i) {
        nodes[i].command({"CONFIG", "SET", "timeout", "1"});
    }
    for (std::uint64_t lost = 3; lost <= 6; lost += 3) {
        REQUIRE(mine.await([&] { return mine.stats().disconnects >= lost; }));
        mine.give_back(mine.take("r", {.ttl = 60s, .timeout = 0s}));
    }
}

TEST_CASE("a client reports a server with too many clients and uses it when there is room",
          "[servers]")
{
    masters nodes(1, {.arguments = {"--maxclients", "2"}});
    const auto first = enter(nodes[0]);
    auto second = enter(nodes[0]);
    locks mine(nodes.urls());
    REQUIRE(mine.await([&] { return !mine.lines().empty(); }));
    report told;
    CHECK(mine.acquire("r", once(&told)).error == errc::unavailable);
    CHECK(told.nodes[0].outcome == node_outcome::disconnected);
    CHECK(mine.stats().connects == 0);
    CHECK(mine.logged(log_level::warning, "too many clients"));
    second.reset();
    REQUIRE(mine.await_ready(1));
    CHECK_FALSE(mine.acquire("r").error);
}
