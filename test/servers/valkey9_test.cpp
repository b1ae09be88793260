#include "locker.hpp"
#include "support/locks.hpp"
#include "support/masters.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;
using namespace std::chrono_literals;

// Tests of what a client asks a server with a compare-and-delete of its own. The tests for all
// kinds of servers run on it too, and model_test.cpp compares it with the simulation's node.
namespace {

using words = std::vector<std::string>;

/// How often the server executed the command, for any user.
std::size_t calls(const server& node, const std::string& command)
{
    const std::string all = node.command({"INFO", "commandstats"});
    const std::string before = "cmdstat_" + command + ":calls=";
    const auto at = all.find(before);
    return at == all.npos ? 0 : std::stoul(all.substr(at + before.size()));
}

/// How often the server ran a script.
std::size_t scripts(const server& node)
{
    return calls(node, "eval") + calls(node, "evalsha");
}

/// Counts from here on, without the greeting.
void count_anew(const masters& nodes)
{
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        REQUIRE(nodes[i].command({"CONFIG", "RESETSTAT"}) == "OK");
    }
}

/// Three nodes, and a client that has connected to each.
struct three_masters {
    masters nodes{3, {.kind = flavour::valkey9}};
    ready_locks mine{nodes.urls()};
};

/// Takes a lock and releases it, and counts each way of release.
struct ways_gone {
    std::size_t native;
    std::size_t by_script;
};
ways_gone give_one_back(const server& node)
{
    locks mine(as_locker(node));
    REQUIRE(mine.await_ready(1));
    lock held = mine.take("r", {.ttl = 60s, .fencing = false});
    REQUIRE(node.exists("app:r"));
    REQUIRE(node.command({"CONFIG", "RESETSTAT"}) == "OK");
    mine.give_back(std::move(held));
    CHECK_FALSE(node.exists("app:r"));
    return {calls(node, "delifeq"), scripts(node)};
}

}  // namespace

TEST_CASE("on Valkey 9 the server's own command releases a lock without any script",
          "[servers][valkey9]")
{
    need(flavour::valkey9);
    three_masters world;
    auto& [nodes, mine] = world;
    count_anew(nodes);
    constexpr std::size_t cycles = 5;
    for (std::size_t i = 0; i < cycles; ++i) {
        mine.give_back(mine.take("r", {.ttl = 60s, .fencing = false}));
        REQUIRE(mine.await_quiet());
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        CHECK(calls(nodes[i], "set") == cycles);
        CHECK(calls(nodes[i], "delifeq") == cycles);
        CHECK(scripts(nodes[i]) == 0);
        CHECK_FALSE(nodes[i].exists("r"));
    }
}

TEST_CASE("on Valkey 9 scripts extend a lock and release several resources", "[servers][valkey9]")
{
    need(flavour::valkey9);
    three_masters world;
    auto& [nodes, mine] = world;
    lock held = mine.take("r", {.ttl = 60s, .fencing = false});
    REQUIRE(mine.await_quiet());
    count_anew(nodes);
    CHECK_FALSE(mine.extend(held, 90s));
    REQUIRE(mine.await_quiet());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        CHECK(scripts(nodes[i]) == 1);
        CHECK(nodes[i].pttl("r") > 60s);
    }
    mine.give_back(std::move(held));
    lock group = mine.take(words{"a", "b"}, {.ttl = 60s, .fencing = false});
    REQUIRE(mine.await_quiet());
    count_anew(nodes);
    mine.give_back(std::move(group));
    REQUIRE(mine.await_quiet());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        // Once by its digest, and again with its text if the server did not know the digest yet.
        CHECK(scripts(nodes[i]) >= 1);
        CHECK(calls(nodes[i], "delifeq") == 0);
        CHECK(nodes[i].command({"DBSIZE"}) == "0");
    }
}

TEST_CASE("on Valkey 9 a release does not delete the key of another owner", "[servers][valkey9]")
{
    need(flavour::valkey9);
    three_masters world;
    auto& [nodes, mine] = world;
    lock held = mine.take("r", {.ttl = 60s, .fencing = false});
    REQUIRE(mine.await_quiet());
    // A value with the same beginning is a different value.
    const std::string ours = nodes[0].get("r").value();
    mine.keep_secret(ours);
    const words theirs{"theirs", ours + "0", ours.substr(1)};
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        REQUIRE(nodes[i].command({"SET", "r", theirs[i], "PX", "60000"}) == "OK");
    }
    count_anew(nodes);
    const auto told = mine.release(std::move(held));
    CHECK_FALSE(told.error);
    CHECK(told.result != release_result::released);
    REQUIRE(mine.await_quiet());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        CHECK(calls(nodes[i], "delifeq") == 1);
        CHECK(scripts(nodes[i]) == 0);
        CHECK(nodes[i].get("r") == theirs[i]);
    }
}

TEST_CASE("on Valkey 9 the server's own command releases a failed attempt", "[servers][valkey9]")
{
    need(flavour::valkey9);
    three_masters world;
    auto& [nodes, mine] = world;
    for (const std::size_t i : {1U, 2U}) {
        REQUIRE(nodes[i].command({"SET", "r", "theirs", "PX", "60000"}) == "OK");
    }
    count_anew(nodes);
    acquire_options options = once();
    options.fencing = false;
    CHECK(mine.acquire("r", options).error == errc::contended);
    REQUIRE(mine.await_quiet());
    CHECK(calls(nodes[0], "delifeq") == 1);
    CHECK(scripts(nodes[0]) == 0);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        CHECK(nodes[i].exists("r") == (i != 0));
    }
}

TEST_CASE("on Valkey 9 a client asks a node that returns for its commands again",
          "[servers][valkey9]")
{
    need(flavour::valkey9);
    server node({.kind = flavour::valkey9});
    ready_locks mine({node.url()});
    node.kill();
    REQUIRE(mine.await([&] { return mine.stats().nodes_ready == 0; }));
    // Now the server looks like an older version that replaced it.
    node.options().arguments = {"--rename-command", "DELIFEQ", ""};
    node.start();
    REQUIRE(mine.await_ready(1));
    REQUIRE(node.command({"CONFIG", "RESETSTAT"}) == "OK");
    mine.give_back(mine.take("r", {.ttl = 60s, .fencing = false}));
    CHECK(scripts(node) == 1);
}

TEST_CASE("on Valkey 9 a user's permissions decide how a lock is released", "[servers][valkey9]")
{
    need(flavour::valkey9);
    const server node({.kind = flavour::valkey9});
    SECTION("the minimal permissions release by script as on other servers")
    {
        add_locker(node);
        const auto gone = give_one_back(node);
        CHECK(gone.native == 0);
        CHECK(gone.by_script == 1);
    }
    SECTION("the recommended permissions release by the server's own command")
    {
        add_locker(node, {"+command|info", "+delifeq"});
        const auto gone = give_one_back(node);
        CHECK(gone.native == 1);
        CHECK(gone.by_script == 0);
    }
    SECTION("a client does without a command that exists but is not permitted")
    {
        add_locker(node, {"+command|info"});
        const auto gone = give_one_back(node);
        CHECK(gone.native == 0);
        CHECK(gone.by_script == 1);
    }
    SECTION("a user who may run no script can still lock")
    {
        add_locker(node, {"+command|info", "+delifeq", "-eval", "-evalsha"});
        const auto gone = give_one_back(node);
        CHECK(gone.native == 1);
        CHECK(gone.by_script == 0);
    }
}
