#include "locker.hpp"
#include "support/locks.hpp"
#include "support/masters.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::test;
using namespace std::chrono_literals;

namespace {

void check_works(locks& client, const std::string& resource = "r")
{
    lock held = client.take(resource);
    CHECK_FALSE(client.extend(held, longer_ttl));
    client.give_back(std::move(held));
}

/// The client uses no node. The log says why, once, as a finding to put right, and so does the
/// report.
void check_unusable(locks& client, std::string_view word)
{
    REQUIRE(client.await([&] { return !client.lines().empty(); }));
    report told;
    CHECK(client.acquire("r", once(&told)).error == errc::unavailable);
    CHECK(client.logged(log_level::error, word));
    const auto& node = told.nodes.at(0);
    CHECK(node.outcome == node_outcome::disconnected);
    CHECK(node.error.find(word) != std::string::npos);
    CHECK(client.stats().connects == 0);
    CHECK(client.lines().size() == 1);
}

/// A server answers a greeting it does not know with all its arguments, the password among them.
server_options without_hello()
{
    return {.kind = each_kind(),
            .password = "hush-in-clear",
            .arguments = {"--rename-command", "HELLO", ""}};
}

}  // namespace

TEST_CASE("a client without the server's password reports that the node wants one", "[servers]")
{
    const server node({.kind = each_kind(), .password = "hush-hush"});
    locks mine({node.url()});
    check_unusable(mine, "NOAUTH");
}

TEST_CASE("a client with a wrong user or password reports it without the password", "[servers]")
{
    const auto kind = each_kind();
    const std::string user = GENERATE(as<std::string>(), "", "nobody");
    const server node({.kind = kind, .password = "hush-hush"});
    locks mine({node.url(user, "wrong-and-secret")});
    check_unusable(mine, "WRONGPASS");
}

TEST_CASE("a client uses a node again as soon as the node permits it", "[servers]")
{
    const server node({.password = "hush-hush"});
    locks mine({node.url("late", "soon-here")});
    check_unusable(mine, "WRONGPASS");
    node.command({"ACL", "SETUSER", "late", "on", ">soon-here", "~*", "+@all"});
    REQUIRE(mine.await_ready(1));
    CHECK(mine.logged(log_level::info, "usable again"));
    check_works(mine);
}

TEST_CASE("a user without permission to count gets locks without fencing tokens",
          "[servers][fencing]")
{
    const server node({.kind = each_kind()});
    const std::string missing = GENERATE("incr", "time");
    CAPTURE(missing);
    add_locker(node, {"-" + missing});
    ready_locks mine(as_locker(node));
    // The first command needs the date, the second an increment.
    report told;
    auto first = mine.acquire("r", once(&told));
    if (!first.error) {
        mine.give_back(std::move(first.lock));
        first.error = mine.acquire("r", once(&told)).error;
    }
    CHECK(first.error == errc::unavailable);
    CHECK(told.nodes.at(0).outcome == node_outcome::failed);
    CHECK_FALSE(told.nodes.at(0).error.empty());
    REQUIRE(mine.await_quiet());
    CHECK_FALSE(node.exists("app:r"));
    mine.give_back(mine.take("r", {.ttl = 60s, .fencing = false}));
}

TEST_CASE("a user with the fewest permissions locks inside its prefix", "[servers]")
{
    const server node({.kind = each_kind()});
    add_locker(node);
    locks mine(as_locker(node));
    check_works(mine);

    node.command({"SCRIPT", "FLUSH"});
    check_works(mine);

    const std::vector<std::string> both{"r", "s"};
    lock group = mine.take(both);
    CHECK_FALSE(mine.extend(group, longer_ttl));
    mine.give_back(std::move(group));

    report told;
    lock held = mine.take("r", {.ttl = 60s, .report = &told});
    CHECK(mine.acquire(both, once(&told)).error == errc::contended);
    CHECK(told.nodes.at(0).refused_resource == "r");
    CHECK(mine.acquire("r", once(&told)).error == errc::contended);
    CHECK(told.nodes.at(0).holder_ttl.value_or(0ms) > 0ms);
    CHECK(mine.inspect("r").found.state == lock_state::held);
}

TEST_CASE("a user with the fewest permissions ends several locks in one turn", "[servers]")
{
    const server node({.kind = each_kind()});
    const bool may_read_several = GENERATE(false, true);
    CAPTURE(may_read_several);
    add_locker(node, {may_read_several ? "+mget" : "-mget"});
    ready_locks mine(as_locker(node));
    const std::vector<std::string> names{"r", "s", "t"};
    std::vector<lock> held;
    for (const std::string& name : names) {
        held.push_back(mine.take(name));
    }
    std::vector<pending<error_code>> extends;
    for (lock& each : held) {
        extends.push_back(mine.begin_extend(each, longer_ttl));
    }
    for (const auto& each : extends) {
        CHECK_FALSE(mine.finish(each));
    }
    for (const std::string& name : names) {
        CHECK(node.pttl("app:" + name) > never);
    }
    std::vector<pending<released>> releases;
    for (lock& each : held) {
        releases.push_back(mine.begin_release(std::move(each)));
    }
    for (const auto& each : releases) {
        const released told = mine.finish(each);
        CHECK_FALSE(told.error);
        CHECK(told.result == release_result::released);
    }
    for (const std::string& name : names) {
        CHECK_FALSE(node.exists("app:" + name));
    }
    // One batch of extends, and one of releases.
    const std::string stats = node.ask({"INFO", "commandstats"}).text;
    CHECK((stats.find("cmdstat_mget:calls=2,") != stats.npos) == may_read_several);
    CHECK(mine.logged(log_level::info, "refuses the script for several locks") != may_read_several);
}

TEST_CASE("a user who may not ask for a ttl can lock but neither extend nor inspect", "[servers]")
{
    const server node({.kind = each_kind()});
    add_locker(node, {"-pttl"});
    locks mine(as_locker(node));
    report told;
    lock held = mine.take("r", {.ttl = 60s, .report = &told});
    CHECK(mine.acquire("r", once(&told)).error == errc::contended);
    CHECK(told.nodes.at(0).outcome == node_outcome::refused);
    CHECK_FALSE(told.nodes.at(0).holder_ttl);
    CHECK(mine.inspect("r", &told).found.state == lock_state::unknown);
    CHECK(told.nodes.at(0).outcome == node_outcome::failed);
    CHECK(mine.extend(held, 90s, &told) == errc::unavailable);
    CHECK(told.nodes.at(0).outcome == node_outcome::failed);
    CHECK(held.owns());
    mine.give_back(std::move(held));
}

TEST_CASE("a node that forbids a key gives a node error and no contention", "[servers]")
{
    const server node;
    add_locker(node);
    auto c = as_locker(node);
    c.key_prefix = "other:";
    ready_locks mine(std::move(c));
    report told;
    CHECK(mine.acquire("r", once(&told)).error == errc::unavailable);
    CHECK(told.nodes.at(0).outcome == node_outcome::failed);
    CHECK(told.nodes.at(0).error.starts_with("NOPERM"));
}

TEST_CASE("a user who may not call scripts by digest sends their text", "[servers]")
{
    const server node({.kind = each_kind()});
    add_locker(node, {"-evalsha"});
    locks mine(as_locker(node));
    lock held = mine.take("r");
    CHECK_FALSE(mine.extend(held, longer_ttl));
    CHECK(mine.inspect("r").found.state == lock_state::held);
    CHECK(node.pttl("app:r") > never);
    mine.give_back(std::move(held));
    CHECK_FALSE(node.exists("app:r"));
    CHECK(mine.stats().node_errors == 0);
    CHECK(mine.lines().empty());
}

TEST_CASE("p42: a client does not use a node that permits no compare-and-delete",
          "[servers][pitfall][p42]")
{
    const server node({.kind = each_kind()});
    add_locker(node, {"-eval", "-evalsha"});
    locks mine(as_locker(node));
    check_unusable(mine, "NOPERM");
    CHECK(node.command({"DBSIZE"}) == "0");
}

TEST_CASE("a client of a server without HELLO logs in by AUTH and SELECT and CLIENT SETNAME",
          "[servers]")
{
    const server node(without_hello());
    auto c = patient({node.url("", "hush-in-clear", 5)});
    c.client_name = "oldtimer";
    locks mine(std::move(c));
    check_works(mine);
    lock held = mine.take("r");
    CHECK(mine.inspect("r").found.state == lock_state::held);
    const auto direct = node.connect();
    CHECK(direct->ask({"CLIENT", "LIST"}).text.find("name=oldtimer") != std::string::npos);
    CHECK(direct->ask({"EXISTS", "r"}).integer == 0);
    direct->ask({"SELECT", "5"});
    CHECK(direct->ask({"EXISTS", "r"}).integer == 1);
}

TEST_CASE("a client of a server without HELLO reports a wrong password without the password",
          "[servers]")
{
    const server node(without_hello());
    SECTION("a wrong password")
    {
        locks mine({node.url("", "wrong-and-secret")});
        check_unusable(mine, "WRONGPASS");
    }
    SECTION("no password")
    {
        locks mine({node.url()});
        check_unusable(mine, "NOAUTH");
    }
}

TEST_CASE("a client reports a database that does not exist as the node's error", "[servers]")
{
    const server node;
    locks mine({node.url("", "", 16)});
    check_unusable(mine, "database");
}

TEST_CASE("a client backs off between two connections to a node that refuses it", "[servers]")
{
    const server node({.password = "hush-hush"});
    auto c = patient({node.url()});
    c.reconnect_backoff_min = 100ms;
    c.reconnect_backoff_max = 200ms;
    locks mine(std::move(c));
    const auto greetings = [&] {
        const auto text = node.ask({"INFO", "commandstats"}).text;
        const auto at = text.find("cmdstat_hello:calls=");
        return at == std::string::npos ? 0 : std::stoi(text.substr(at + 20));
    };
    const auto started = std::chrono::steady_clock::now();
    REQUIRE(mine.await([&] { return greetings() >= 4; }));
    // Three back-offs of at least 100 ms; the first greeting may have come some moments earlier.
    CHECK(std::chrono::steady_clock::now() - started >= 250ms);
}
