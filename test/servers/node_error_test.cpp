#include "support/locks.hpp"
#include "support/masters.hpp"
#include "support/port.hpp"
#include "support/run.hpp"
#include "support/temp_dir.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::test;
using namespace std::chrono_literals;

namespace {

/// A way to bring a healthy node into a state in which it answers writes with an error.
struct ailment {
    const char* word;
    std::function<void(server&)> begin;
    std::function<void(server&)> end;
    bool ends_connection = false;
};

void set(const server& node, const std::string& name, const std::string& value)
{
    REQUIRE(node.command({"CONFIG", "SET", name, value}) == "OK");
}

/// No server listens there, so the node believes that it is a replica whose master is away.
void follow_nobody(const server& node)
{
    REQUIRE(node.command({"REPLICAOF", "127.0.0.1", "1"}) == "OK");
}

void lead_again(const server& node)
{
    REQUIRE(node.command({"REPLICAOF", "NO", "ONE"}) == "OK");
}

/// The server can't save a snapshot over a folder.
void fail_to_save(server& node)
{
    std::filesystem::create_directories(node.data() / "dump.rdb" / "in the way");
    set(node, "save", "3600 1");
    node.command({"BGSAVE"});
    REQUIRE(wait_for([&] {
        return node.ask({"INFO", "persistence"}).text.find("rdb_last_bgsave_status:err") !=
               std::string::npos;
    }));
}

void save_well(server& node)
{
    set(node, "stop-writes-on-bgsave-error", "no");
}

void run_endless_script(server& node)
{
    set(node, "busy-reply-threshold", "10");
    // The connection is lost at once, and the script continues.
    node.connect()->send(wire::command({"EVAL", "while true do end", "0"}));
    REQUIRE(wait_for([&] { return node.ask({"PING"}).text.starts_with("BUSY"); }));
}

void kill_script(server& node)
{
    REQUIRE(node.command({"SCRIPT", "KILL"}) == "OK");
    REQUIRE(wait_for([&] { return !node.ask({"PING"}).is_error(); }));
}

const std::vector<ailment>& ailments()
{
    static const std::vector<ailment> all{
        {"OOM", [](server& n) { set(n, "maxmemory", "1"); },
         [](server& n) { set(n, "maxmemory", "0"); }},
        {"READONLY", follow_nobody, lead_again, true},
        {"MASTERDOWN",
         [](server& n) {
             set(n, "replica-serve-stale-data", "no");
             set(n, "replica-read-only", "no");
             follow_nobody(n);
         },
         lead_again, true},
        {"NOREPLICAS", [](server& n) { set(n, "min-replicas-to-write", "1"); },
         [](server& n) { set(n, "min-replicas-to-write", "0"); }, true},
        {"MISCONF", fail_to_save, save_well},
        {"BUSY", run_endless_script, kill_script},
    };
    return all;
}

}  // namespace

TEST_CASE("a server's error gives a node error with its text and neither a vote nor contention",
          "[servers]")
{
    const auto kind = each_kind();
    const auto which = GENERATE(range(std::size_t{0}, ailments().size()));
    const auto& ill = ailments().at(which);
    CAPTURE(ill.word);
    masters nodes(3, {.kind = kind});
    ready_locks mine(nodes.urls());

    ill.begin(nodes[0]);
    report told;
    lock held = mine.take("r", {.ttl = 60s, .report = &told});
    REQUIRE(mine.await_quiet());
    CHECK(held.granted_by() == 2);
    mine.give_back(std::move(held));

    ill.begin(nodes[1]);
    CHECK(mine.acquire("r", once(&told)).error == errc::unavailable);
    for (const std::size_t i : {0U, 1U}) {
        // Some errors end the connection at the first one.
        CHECK((told.nodes[i].outcome == node_outcome::failed ||
               told.nodes[i].outcome == node_outcome::disconnected));
        CHECK((told.nodes[i].error.find(ill.word) != std::string::npos ||
               told.nodes[i].error == "is a replica, not a master"));
    }
    CHECK(mine.stats().node_errors >= 2);
    // The client asks for the role once a second. That question gets BUSY too, and ends the
    // connection.
    if (std::string_view(ill.word) != "BUSY") {
        CHECK((mine.stats().disconnects > 0) == ill.ends_connection);
    }

    ill.end(nodes[0]);
    ill.end(nodes[1]);
    REQUIRE(mine.await_ready(3));
    REQUIRE(mine.await_quiet());
    lock after = mine.take("r");
    REQUIRE(mine.await_quiet());
    CHECK(after.granted_by() == 3);
    mine.give_back(std::move(after));
    REQUIRE(mine.await_quiet());
    CHECK(nodes.count("r") == 0);
}

TEST_CASE("p25: a server without free memory still extends and releases", "[servers][pitfall][p25]")
{
    masters nodes(3, {.kind = each_kind(), .arguments = {"--maxmemory-policy", "noeviction"}});
    ready_locks mine(nodes.urls());
    lock held = mine.take("r", {.ttl = 60s});
    REQUIRE(mine.await_quiet());
    const bool scripts_known = GENERATE(true, false);
    for (std::size_t i = 0; i < 3; ++i) {
        set(nodes[i], "maxmemory", "1");
        if (!scripts_known) {
            nodes[i].command({"SCRIPT", "FLUSH"});
        }
    }
    CHECK_FALSE(mine.extend(held, 120s));
    REQUIRE(mine.await_quiet());
    std::size_t extended = 0;
    for (std::size_t i = 0; i < 3; ++i) {
        extended += nodes[i].pttl("r") > 60s ? 1U : 0U;
    }
    // A node that forgot the script may hear of the decision of the others first.
    CHECK(extended >= (scripts_known ? 3 : 2));
    report told;
    CHECK(mine.acquire("other", once(&told)).error == errc::unavailable);
    CHECK(2 <= std::count_if(told.nodes.begin(), told.nodes.end(), [](const node_report& n) {
              return n.outcome == node_outcome::failed && n.error.starts_with("OOM");
          }));
    mine.give_back(std::move(held));
    REQUIRE(mine.await_quiet());
    CHECK(nodes.count("r") == 0);
}

TEST_CASE("a server that is loading is connected and becomes usable when it has loaded",
          "[servers]")
{
    server node({.kind = each_kind(),
                 .files = persistence::snapshot,
                 .arguments = {"--loading-process-events-interval-bytes", "1024"}});
    node.command({"DEBUG", "POPULATE", "20000"});
    node.command({"SAVE"});
    const auto stop_loading = [&] {
        set(node, "key-load-delay", "0");
        REQUIRE(wait_for([&] { return !node.ask({"PING"}).is_error(); }));
    };
    SECTION("from its start")
    {
        node.options().arguments.insert(node.options().arguments.end(),
                                        {"--key-load-delay", "1000"});
        node.restart(memory::kept, readiness::answering);
        locks mine({node.url()});
        REQUIRE(mine.await([&] { return !mine.lines().empty(); }));
        report told;
        CHECK(mine.acquire("r", once(&told)).error == errc::unavailable);
        CHECK(told.nodes.at(0).error.find("LOADING") != std::string::npos);
        CHECK(mine.stats().connects == 0);
        stop_loading();
        REQUIRE(mine.await_ready(1));
        CHECK_FALSE(mine.acquire("r").error);
    }
    SECTION("while it is connected")
    {
        ready_locks mine({node.url()});
        set(node, "key-load-delay", "1000");
        const auto reloading = node.connect();
        reloading->send(wire::command({"DEBUG", "RELOAD", "NOSAVE"}));
        REQUIRE(wait_for([&] { return node.ask({"PING"}).text.starts_with("LOADING"); }));
        report told;
        CHECK(mine.acquire("r", once(&told)).error == errc::unavailable);
        CHECK(told.nodes.at(0).outcome == node_outcome::failed);
        CHECK(told.nodes.at(0).error.starts_with("LOADING"));
        stop_loading();
        CHECK_FALSE(mine.acquire("r").error);
    }
}

TEST_CASE("a client identifies a replica and gives it no vote until the replica is promoted",
          "[servers]")
{
    masters nodes(3, {.kind = each_kind()});
    std::string user;
    SECTION("that refuses writes") {}
    SECTION("that accepts writes and keeps them until it has its master's keys")
    {
        set(nodes[1], "replica-read-only", "no");
    }
    SECTION("that does not say so in its greeting")
    {
        set(nodes[1], "replica-read-only", "no");
        user = "locker";
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            nodes[i].command({"ACL", "SETUSER", user, "on", ">hush", "~*", "+@all", "-hello"});
        }
    }
    follow_nobody(nodes[1]);
    std::vector<std::string> urls;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        urls.push_back(user.empty() ? nodes[i].url() : nodes[i].url(user, "hush"));
    }
    locks mine(urls);
    REQUIRE(mine.await_ready(2));
    REQUIRE(
        mine.await([&] { return mine.logged(log_level::error, "is a replica, not a master"); }));
    report told;
    CHECK_FALSE(mine.acquire("r", once(&told)).error);
    // The client may be about to connect again.
    const node_outcome outcome = told.nodes.at(1).outcome;
    CHECK((outcome == node_outcome::disconnected || outcome == node_outcome::undecided));
    CHECK_FALSE(nodes[1].exists("r"));
    lead_again(nodes[1]);
    REQUIRE(mine.await_ready(3));
    // It is needed.
    nodes[0].kill();
    CHECK_FALSE(mine.acquire("s").error);
}

TEST_CASE("p48: a replica without HELLO and INFO is identified by ROLE and has no vote",
          "[servers][pitfall][p48]")
{
    // The tests' own support does without both commands.
    server node({.kind = each_kind(),
                 .arguments = {"--rename-command", "HELLO", "", "--rename-command", "INFO", ""}});
    const bool from_the_start = GENERATE(true, false);
    set(node, "replica-read-only", "no");
    if (from_the_start) {
        follow_nobody(node);
    }
    auto c = patient({node.url()});
    c.ping_interval = 100ms;
    locks mine(std::move(c));
    if (!from_the_start) {
        REQUIRE(mine.await_ready(1));
        follow_nobody(node);
    }
    REQUIRE(
        mine.await([&] { return mine.logged(log_level::error, "is a replica, not a master"); }));
    lead_again(node);
    REQUIRE(mine.await_ready(1));
    mine.give_back(mine.take("r"));
}

TEST_CASE("p48: a node that becomes a replica loses its vote although it accepts writes",
          "[servers][pitfall][p48]")
{
    masters nodes(3, {.kind = each_kind()});
    ready_locks mine(nodes.urls());
    for (const std::size_t i : {0U, 1U}) {
        set(nodes[i], "replica-read-only", "no");
        follow_nobody(nodes[i]);
    }
    // Any client finds out within a second.
    REQUIRE(wait_for([&] {
        return mine.acquire("r", once()).error == errc::unavailable &&
               mine.stats().nodes_ready == 1;
    }));
    CHECK(mine.logged(log_level::error, "is a replica, not a master"));
    lead_again(nodes[0]);
    lead_again(nodes[1]);
    REQUIRE(mine.await_ready(3));
    mine.give_back(mine.take("s"));
}

TEST_CASE("a client identifies a cluster node and refuses it", "[servers]")
{
    // The default port of the cluster bus, 10000 above the server's, may be in use.
    const reserved_port bus;
    server node({.kind = each_kind(),
                 .arguments = {"--cluster-enabled", "yes", "--cluster-port",
                               std::to_string(bus.number())}});
    std::string user;
    SECTION("that serves no key") {}
    SECTION("that serves every key and so would grant locks")
    {
        REQUIRE(node.command({"CLUSTER", "ADDSLOTSRANGE", "0", "16383"}) == "OK");
        REQUIRE(wait_for([&] { return node.command({"SET", "r", "x", "PX", "1"}) == "OK"; }));
    }
    SECTION("that does not say so in its greeting")
    {
        REQUIRE(node.command({"CLUSTER", "ADDSLOTSRANGE", "0", "16383"}) == "OK");
        REQUIRE(wait_for([&] { return node.command({"SET", "r", "x", "PX", "1"}) == "OK"; }));
        user = "locker";
        REQUIRE(node.command({"ACL", "SETUSER", user, "on", ">hush", "~*", "+@all", "-hello"}) ==
                "OK");
    }
    locks mine({user.empty() ? node.url() : node.url(user, "hush")});
    REQUIRE(mine.await([&] { return !mine.lines().empty(); }));
    report told;
    CHECK(mine.acquire("r", once(&told)).error == errc::unavailable);
    CHECK(told.nodes.at(0).error == "is a node of a cluster, not an independent master");
    CHECK(mine.logged(log_level::error, "is a node of a cluster, not an independent master"));
    CHECK(mine.stats().connects == 0);
}

TEST_CASE("a client identifies a sentinel and refuses it", "[servers]")
{
    const temp_dir folder;
    const auto file = folder / "sentinel.conf";
    std::ofstream(file) << "sentinel monitor some 127.0.0.1 1 1\n";
    const server node({.kind = each_kind(), .configuration = file, .arguments = {"--sentinel"}});
    locks mine({node.url()});
    REQUIRE(mine.await([&] { return !mine.lines().empty(); }));
    report told;
    CHECK(mine.acquire("r", once(&told)).error == errc::unavailable);
    CHECK(told.nodes.at(0).error == "is a sentinel, not a master");
    CHECK(mine.logged(log_level::error, "is a sentinel, not a master"));
}

TEST_CASE("a client survives a script flush while many commands are in flight", "[servers]")
{
    server_options with{.kind = each_kind()};
    if (with.kind == flavour::valkey9) {
        // Otherwise the client releases locks without a script.
        with.arguments = {"--rename-command", "DELIFEQ", ""};
    }
    masters nodes(3, with);
    ready_locks mine(nodes.urls());
    std::jthread flushing([&](const std::stop_token& stop) {
        const auto admin = nodes[0].connect();
        while (!stop.stop_requested()) {
            admin->ask({"SCRIPT", "FLUSH"});
        }
    });
    // Repeat until the flush has hit enough commands. Most of them are batches of many locks.
    for (unsigned round = 0; round < 1000 && mine.stats().script_reloads < 100; ++round) {
        std::vector<pending<taken>> asked;
        for (unsigned i = 0; i < 64; ++i) {
            asked.push_back(
                mine.begin_acquire("r" + std::to_string(i), {.ttl = 60s, .timeout = never}));
        }
        std::vector<lock> held;
        for (const auto& each : asked) {
            taken got = mine.finish(each);
            REQUIRE_FALSE(got.error);
            held.push_back(std::move(got.lock));
        }
        std::vector<pending<released>> given;
        for (auto& each : held) {
            given.push_back(mine.begin_release(std::move(each)));
        }
        for (const auto& each : given) {
            const released told = mine.finish(each);
            CHECK_FALSE(told.error);
            CHECK(told.result == release_result::released);
        }
    }
    flushing.request_stop();
    REQUIRE(mine.await_quiet());
    for (unsigned i = 0; i < 64; ++i) {
        CHECK(nodes.count("r" + std::to_string(i)) == 0);
    }
    CHECK(mine.stats().script_reloads >= 100);
}

TEST_CASE("a client survives script flushes between and during commands", "[servers]")
{
    masters nodes(3, {.kind = each_kind()});
    ready_locks mine(nodes.urls());
    for (std::size_t i = 0; i < 30; ++i) {
        lock held = mine.take("r", {.ttl = 60s, .timeout = never});
        nodes[i % 3].command({"SCRIPT", "FLUSH"});
        const auto extended = mine.begin_extend(held, 90s);
        nodes[(i + 1) % 3].command({"SCRIPT", "FLUSH", "ASYNC"});
        CHECK_FALSE(mine.finish(extended));
        nodes[(i + 2) % 3].command({"SCRIPT", "FLUSH", "SYNC"});
        if (i % 2 == 0) {
            mine.give_back(std::move(held));
        }
    }
    REQUIRE(mine.await_quiet());
    CHECK(nodes.count("r") == 0);
    CHECK(mine.stats().script_reloads > 30);
    CHECK(mine.stats().node_errors == mine.stats().script_reloads);
}
