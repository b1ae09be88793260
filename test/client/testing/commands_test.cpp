#include "client/testing/fixture.hpp"

#include "support/resp_client.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

using namespace redlock;
using namespace redlock::test;
// No name of this namespace is also in one of the other two.
using namespace redlock::testing;

namespace {

/// All texts that the nodes return, in one.
std::string all_that_is_told(const std::vector<scripted_node>& nodes)
{
    std::string all;
    for (const scripted_node& each : nodes) {
        all += each.url() + '\n';
        for (const std::string& line : each.commands()) {
            all += line + '\n';
        }
    }
    return all;
}

}  // namespace

TEST_CASE("a scripted node lists its commands without secrets", "[testing][secrets]")
{
    three_nodes t;
    for (std::string& url : t.settings.nodes) {
        url.insert(url.find("//") + 2, "somebody:hush-hush@");
    }
    t.settings.max_poll_interval = 20ms;
    t.settings.restart_guard = guard_config{.max_ttl = for_ever, .admit_new_nodes = true};
    t.start();
    t.until([&] { return t.locks->stats().nodes_quarantined == 0; });
    // Each kind of command that carries the token, for one resource and for several.
    lock one = t.take("one");
    CHECK(t.extend(one, for_ever) == error_code{});
    const std::string token = std::move(one).detach();
    REQUIRE(token.size() == 40);
    std::optional<error_code> adopted;
    t.locks->async_adopt("one", token, for_ever, [&](error_code ec, lock) { adopted = ec; });
    t.until([&] { return adopted.has_value(); });
    CHECK(*adopted == error_code{});
    std::optional<lock> both;
    t.locks->async_acquire({"a", "b"}, patient(), [&](error_code, lock l) { both = std::move(l); });
    t.until([&] { return both.has_value(); });
    CHECK(t.extend(*both, for_ever) == error_code{});
    const std::string second = std::move(*both).detach();
    REQUIRE(second.size() == 40);
    t.until([&] { return t.nodes[0].count("release", "one") == 1; });
    resp_client raw(t.nodes[0].port());
    for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
             {"AUTH", "hush-hush"},
             {"auth", "somebody", "hush-hush"},
             {"hush-hush", "hush-hush"},
             {"CLIENT", "hush-hush"},
             {"DELIFEQ", "a", token},
             {"DELEX", "a", "IFEQ", token},
             {"EVAL", "return 'hush-hush'", "0", token},
             {"EVAL", "return 1", "99", "a", token},
             {"GETSET", "a", token},
         }) {
        (void)raw.ask(command);
    }

    const std::string told = all_that_is_told(t.nodes);
    CAPTURE(told);
    CHECK(told.find("hush") == told.npos);
    CHECK(told.find(token) == told.npos);
    CHECK(told.find(second) == told.npos);
    const auto lines = t.nodes[0].commands();
    const auto has = [&](const char* line) { return std::ranges::count(lines, line) > 0; };
    for (const char* line :
         {"HELLO", "SCRIPT LOAD", "COMMAND INFO", "INFO", "release redlock:probe", "SET one",
          "extend one", "release one", "take a b a:fencing b:fencing", "extend a b", "AUTH", "?",
          "CLIENT", "DELIFEQ a", "DELEX a", "EVAL"}) {
        CAPTURE(line);
        CHECK(has(line));
    }
}

TEST_CASE("commands are counted by name and by resource", "[testing]")
{
    connected_nodes t;
    (void)t.take("one");
    (void)t.take("one more");
    const scripted_node& node = t.nodes[0];
    // Both releases may share a script, which counts once.
    t.until([&] {
        return node.count("release", "one") == 1 && node.count("release", "one more") == 1;
    });
    CHECK(node.count("SET") == 2);
    CHECK(node.count("SET", "one") == 1);
    CHECK(node.count("set", "one more") == 1);
    CHECK(node.count("SET", "o") == 0);
    CHECK(node.count("Release", "one") == 1);
    CHECK(node.count("count", "one:fencing") == 1);
    CHECK(node.count("INCR", "one:fencing") == 0);
    CHECK(node.count("PING", "one") == 0);
    // Commands are counted by their first words too.
    CHECK(node.count("EVALSHA", "one") > 0);
    CHECK(node.count("SCRIPT LOAD") > 0);
    CHECK(node.count("SCRIPT") >= node.count("SCRIPT LOAD"));
    // The client knows the counter then.
    (void)t.take("one");
    t.until([&] { return node.count("INCR", "one:fencing") == 1; });
    CHECK(node.count("count", "one:fencing") == 1);
}

TEST_CASE("a command of several resources counts for each of them", "[testing]")
{
    const scripted_node node;
    resp_client raw(node.port());
    (void)raw.ask({"DEL", "a", "b c"});
    CHECK(node.count("DEL", "a") == 1);
    CHECK(node.count("DEL", "b c") == 1);
    CHECK(node.count("DEL", "b") == 0);
    CHECK(node.count("DEL", "a b c") == 0);
}

TEST_CASE("a test can clear the list of commands", "[testing]")
{
    scripted_node node;
    resp_client raw(node.port());
    (void)raw.ask({"GET", "a"});
    node.recover();
    CHECK(node.count("GET") == 1);
    node.clear_commands();
    CHECK(node.commands().empty());
    CHECK(node.count("GET") == 0);
    (void)raw.ask({"PTTL", "a"});
    CHECK(node.commands() == std::vector<std::string>{"PTTL a"});
}

TEST_CASE("a scripted node refuses unknown commands by name", "[testing]")
{
    scripted_node node;
    for (const char* name :
         {"SETT", "", "SET one", "CLIENT LOAD", "CLIENT  TRACKING", "LPUSH", "?", "redlock"}) {
        CAPTURE(name);
        CHECK_THROWS_AS(node.answer(name, scripted_node::reply::ok(), 0), std::invalid_argument);
        CHECK_THROWS_AS(node.count(name), std::invalid_argument);
        CHECK_THROWS_AS(node.count(name, "one"), std::invalid_argument);
    }
    using Catch::Matchers::ContainsSubstring;
    CHECK_THROWS_WITH(node.count("SETT"),
                      ContainsSubstring("\"SETT\"") && ContainsSubstring(" SET, ") &&
                          ContainsSubstring(" CLIENT TRACKING, ") &&
                          ContainsSubstring(" release, ") && ContainsSubstring(" admit, "));
    for (const char* name : {"set", "Client Tracking", "EVALSHA", "release", "extend", "inspect",
                             "count", "align", "admit", "take"}) {
        CAPTURE(name);
        CHECK_NOTHROW(node.answer(name, scripted_node::reply::ok(), 1));
        CHECK(node.count(name) == 0);
    }
}

TEST_CASE("a scripted node explains invalid commands and commands that are not for locks",
          "[testing]")
{
    const scripted_node node;
    {
        resp_client raw(node.port());
        for (const std::vector<std::string>& command :
             std::vector<std::vector<std::string>>{{"LPUSH", "a", "b"},
                                                   {"EVAL", "return 1", "0"},
                                                   {"SET", "a"},
                                                   {"SCRIPT", "LOAD", "return 1"},
                                                   {"CLIENT"},
                                                   {"EVALSHA"}}) {
            CHECK(raw.ask(command).type == reply::kind::error);
        }
        CHECK(raw.ask({"ping"}).text == "PONG");
        CHECK(raw.ask({"GET", "a"}).type == reply::kind::null);
        raw.send("*0\r\n");
        CHECK(raw.ask({"PING"}).text == "PONG");
        CHECK(node.connections() == 1);
    }
    CHECK(wait_for([&] { return node.connections() == 0; }));
    for (const std::string_view nonsense :
         {"GET / HTTP/1.1\r\n\r\n", "*x\r\n", "*99999999999999\r\n",
          "*1\r\n$99999999999999999999\r\n", "*1\r\n$1\r\nab\r\n"}) {
        resp_client raw(node.port());
        raw.send(nonsense);
        CHECK_THROWS(raw.read());
        CHECK(node.connections() == 0);
    }
}

TEST_CASE("a client that tracks a key is notified when it expires or changes hands or is dropped",
          "[testing]")
{
    scripted_node node;
    resp_client raw(node.port());
    (void)raw.ask({"HELLO", "3"});
    (void)raw.ask({"CLIENT", "TRACKING", "ON"});
    const auto told_of = [&](auto&& change) {
        (void)raw.ask({"GET", "a"});
        change();
        const auto push = raw.read();
        return push.items.size() == 2 && push.items[1].items.size() == 1 &&
               push.items[1].items[0].text == "a";
    };
    CHECK(told_of([&] { node.hold("a", for_ever); }));
    CHECK(told_of([&] { node.drop("a"); }));
    CHECK(told_of([&] { node.hold("a", 1h); }));
    // On a machine that is held up the key may expire before it is read.
    reply there;
    while (there.type == reply::kind::null) {
        CHECK(told_of([&] { node.hold("a", 100ms); }));
        there = raw.ask({"GET", "a"});
    }
    CHECK(raw.read().type == reply::kind::push);
    CHECK(!node.held("a"));
    // Not while it is frozen.
    (void)raw.ask({"GET", "a"});
    node.freeze();
    node.hold("a", for_ever);
    raw.send("*1\r\n$4\r\nPING\r\n");
    CHECK(wait_for([&] { return node.count("PING") == 1; }));
    node.thaw();
    CHECK(raw.read().items.size() == 2);
    CHECK(raw.read().text == "PONG");
}

TEST_CASE("an idle scripted node notifies at once unless it is frozen", "[testing]")
{
    asio::io_context io;
    scripted_node node(io);
    resp_client raw(node.port());
    const auto begin_tracking = [&] {
        const auto seen = node.count("GET", "a");
        raw.send("*2\r\n$3\r\nGET\r\n$1\r\na\r\n");
        REQUIRE(run_until(io, [&] { return node.count("GET", "a") > seen; }));
        (void)raw.read();
        io.poll();
    };
    raw.send("*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n");
    raw.send("*3\r\n$6\r\nCLIENT\r\n$8\r\nTRACKING\r\n$2\r\nON\r\n");
    REQUIRE(run_until(io, [&] { return node.count("CLIENT TRACKING") == 1; }));
    (void)raw.read();
    (void)raw.read();
    begin_tracking();
    node.hold("a", for_ever);
    io.poll();
    CHECK(raw.read().type == reply::kind::push);
    begin_tracking();
    node.drop("a");
    io.poll();
    CHECK(raw.read().type == reply::kind::push);
    begin_tracking();
    node.freeze();
    node.hold("a", for_ever);
    io.poll();
    node.disconnect();
    CHECK_THROWS(raw.read());
}

TEST_CASE("a scripted node can be moved and ends with its object", "[testing]")
{
    scripted_node node;
    node.hold("a", for_ever);
    const std::string url = node.url();
    resp_client raw(node.port());
    scripted_node moved = std::move(node);
    CHECK(moved.url() == url);
    CHECK(moved.held("a"));
    CHECK(raw.ask({"PTTL", "a"}).integer > 0);
    scripted_node other;
    CHECK(other.url() != url);
    moved = std::move(other);
    CHECK_THROWS(raw.ask({"PING"}));
    CHECK(moved.url() != url);
    CHECK(!moved.held("a"));
}

TEST_CASE("a context runs out of work when its nodes are gone", "[testing]")
{
    asio::io_context io;
    {
        scripted_node node(io);
        io.poll();
        CHECK(!io.stopped());
    }
    CHECK(run_out(io));
}

TEST_CASE("any thread may control scripted nodes", "[testing]")
{
    const auto where = place::the_clients_context;
    three_nodes t(where);
    // The nodes forget their commands, so each acquire below may wait for this.
    t.settings.node_timeout = 250ms;
    t.start();
    constexpr unsigned enough = 100;
    std::atomic<unsigned> rounds{0};
    std::atomic<bool> is_over{false};
    std::vector<std::thread> threads;
    for (scripted_node& each : t.nodes) {
        threads.emplace_back([&] {
            while (!is_over) {
                each.hold("one", 1ms);
                each.freeze();
                each.drop("two");
                each.disconnect();
                each.thaw();
                each.refuse();
                each.answer("SET", scripted_node::reply::null(), 1);
                each.restart(scripted_node::keys::lost);
                each.recover();
                std::this_thread::yield();
                (void)each.count("SET");
                (void)each.held("two");
                ++rounds;
            }
        });
    }
    while (rounds < enough) {
        acquire_options o = at_once();
        o.ttl = 1s;
        (void)t.acquire("two", o);
    }
    is_over = true;
    for (std::thread& each : threads) {
        each.join();
    }
    t.until([&] { return t.acquire("two", at_once()).first == error_code{}; });
}
