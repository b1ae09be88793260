#include "support/locks.hpp"
#include "support/loopback.hpp"
#include "support/masters.hpp"
#include "support/proxy.hpp"

#include <redlock/clock.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <string>

using namespace redlock;
using namespace redlock::test;
using namespace std::chrono_literals;

namespace {

bool is_token(const std::string& text)
{
    return text.size() == 40 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

/// The whole life of a lock, on nodes without faults.
void live_a_lock(masters& nodes)
{
    const auto quorum = nodes.size() / 2 + 1;
    locks mine(nodes.urls());
    locks theirs(nodes.urls());
    REQUIRE(mine.await_ready(nodes.size()));
    REQUIRE(theirs.await_ready(nodes.size()));

    lock held = mine.take("orders/42", {.ttl = 60s});
    CHECK(held.owns());
    CHECK(held.resource() == "orders/42");
    REQUIRE(mine.await_quiet());
    CHECK(held.granted_by() == nodes.size());
    const std::string token(held.owner_token());
    CHECK(is_token(token));
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        CHECK(nodes[i].get("orders/42") == token);
    }

    report told;
    CHECK(theirs.acquire("orders/42", once(&told)).error == errc::contended);
    CHECK(told.attempts == 1);
    CHECK(nodes.size() == static_cast<std::size_t>(std::count_if(
                              told.nodes.begin(), told.nodes.end(), [](const node_report& n) {
                                  return n.outcome == node_outcome::undecided ||
                                         (n.outcome == node_outcome::refused &&
                                          n.holder_ttl.value_or(0ms) > 0ms);
                              })));
    const auto seen = theirs.inspect("orders/42");
    REQUIRE_FALSE(seen.error);
    CHECK(seen.found.state == lock_state::held);
    CHECK(seen.found.owner_known);
    CHECK(seen.found.agreeing >= quorum);
    CHECK(seen.found.remaining.value_or(0ms) > 0ms);
    CHECK(seen.found.remaining.value_or(1h) < 60s);

    REQUIRE_FALSE(mine.extend(held, 150s));
    CHECK(held.remaining() > 90s);
    REQUIRE(mine.await_quiet());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        CHECK(nodes[i].pttl("orders/42") > 90s);
    }

    CHECK(std::move(held).detach() == token);
    auto adopted = theirs.adopt("orders/42", token, 300s);
    REQUIRE_FALSE(adopted.error);
    CHECK(adopted.lock.remaining() > 200s);
    CHECK(mine.acquire("orders/42", once()).error == errc::contended);

    const auto given = theirs.release(std::move(adopted.lock));
    CHECK_FALSE(given.error);
    CHECK(given.result == release_result::released);
    REQUIRE(theirs.await_quiet());
    REQUIRE(mine.await_quiet());
    CHECK(nodes.count("orders/42") == 0);
    CHECK(mine.inspect("orders/42").found.state == lock_state::free);
}

}  // namespace

TEST_CASE("every operation on a lock works over TCP", "[servers]")
{
    const auto kind = each_kind();
    const auto count = GENERATE(as<std::size_t>(), 1, 3, 5);
    masters nodes(count, {.kind = kind});
    live_a_lock(nodes);
}

TEST_CASE("every operation on a lock works over unix sockets", "[servers]")
{
    const auto kind = each_kind();
    const auto count = GENERATE(as<std::size_t>(), 1, 3);
    masters nodes(count, {.kind = kind, .tcp = false});
    live_a_lock(nodes);
}

TEST_CASE("every operation on a lock works over IPv6", "[servers]")
{
    if (!has_ipv6_loopback()) {
        SKIP("this machine has no IPv6 loopback");
    }
    masters nodes(3, {.kind = each_kind(), .address = "::1"});
    REQUIRE(nodes.urls().front().starts_with("redis://[::1]:"));
    live_a_lock(nodes);
}

TEST_CASE("p13: a key lives for the requested ttl after 0 or 1 or 5 contended attempts",
          "[servers][pitfall][p13]")
{
    const auto rounds = GENERATE(as<std::uint64_t>(), 0, 1, 5);
    masters nodes(3);
    ready_locks mine(nodes.urls());
    if (rounds > 0) {
        for (std::size_t i = 0; i < 3; ++i) {
            nodes[i].command({"SET", "r", "somebody", "PX", "60000"});
        }
    }
    const auto begun = mine.begin_acquire("r", {.ttl = 80s, .timeout = never});
    if (rounds > 0) {
        REQUIRE(mine.await([&] { return mine.stats().attempts > rounds; }));
        nodes.flush();
    }
    auto [error, held] = mine.finish(begun);
    REQUIRE_FALSE(error);
    CHECK(mine.stats().attempts > rounds);
    REQUIRE(mine.await_quiet());
    const auto check_between = [&](std::chrono::milliseconds least,
                                   std::chrono::milliseconds most) {
        for (std::size_t i = 0; i < 3; ++i) {
            const auto at_server = nodes[i].pttl("r");
            CHECK(at_server > least);
            CHECK(at_server <= most);
            CHECK(held.remaining() < at_server);
        }
        CHECK(held.remaining() > least - most / 50);
    };
    check_between(20s, 80s);
    REQUIRE_FALSE(mine.extend(held, 160s));
    REQUIRE(mine.await_quiet());
    check_between(100s, 160s);
}

TEST_CASE("p14: an attempt does not meet the keys that the previous attempt set on a minority",
          "[servers][pitfall][p14]")
{
    masters nodes(3);
    ready_locks mine(nodes.urls());
    nodes[1].command({"SET", "r", "somebody"});
    nodes[2].command({"SET", "r", "somebody"});
    const auto begun = mine.begin_acquire("r", {.ttl = 60s, .timeout = never});
    REQUIRE(mine.await([&] { return mine.stats().attempts >= 3; }));
    nodes[1].flush();
    const auto [error, held] = mine.finish(begun);
    REQUIRE_FALSE(error);
    REQUIRE(mine.await_quiet());
    CHECK(held.granted_by() == 2);
    CHECK(nodes[0].get("r") == std::string(held.owner_token()));
    CHECK(nodes[1].get("r") == std::string(held.owner_token()));
    CHECK(nodes[2].get("r") == "somebody");
}

TEST_CASE("p15, p16: one dead node of three does not hinder an acquire or a release",
          "[servers][pitfall][p15][p16]")
{
    const auto dead = GENERATE(as<std::size_t>(), 0, 1, 2);
    masters nodes(3);
    nodes[dead].kill();
    locks mine(nodes.urls());
    report told;
    lock held = mine.take("r", once(&told));
    CHECK(told.nodes[dead].outcome == node_outcome::disconnected);
    CHECK(nodes.count("r") == 2);
    CHECK_FALSE(mine.extend(held, longer_ttl));
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        CHECK((i == dead || nodes[i].pttl("r") > never));
    }
    mine.give_back(std::move(held));
    CHECK(nodes.count("r") == 0);
}

TEST_CASE("p17: a failed acquire leaves no key on any reachable node", "[servers][pitfall][p17]")
{
    masters nodes(5);
    ready_locks mine(nodes.urls());
    for (const std::size_t i : {1U, 2U, 4U}) {
        nodes[i].command({"SET", "r", "somebody"});
    }
    report told;
    CHECK(mine.acquire("r", once(&told)).error == errc::contended);
    REQUIRE(mine.await_quiet());
    CHECK_FALSE(nodes[0].exists("r"));
    CHECK_FALSE(nodes[3].exists("r"));
    for (const std::size_t i : {1U, 2U, 4U}) {
        CHECK(nodes[i].get("r") == "somebody");
    }
    CHECK(mine.stats().background_releases > 0);
}

TEST_CASE("p22: an extend of a key that a majority lost reports lost and sets no key",
          "[servers][pitfall][p22]")
{
    const bool foreign = GENERATE(false, true);
    masters nodes(3);
    ready_locks mine(nodes.urls());
    lock held = mine.take("r");
    REQUIRE(mine.await_quiet());
    for (const std::size_t i : {0U, 2U}) {
        nodes[i].flush();
        if (foreign) {
            nodes[i].command({"SET", "r", "somebody"});
        }
    }
    CHECK(mine.extend(held, longer_ttl) == errc::lost);
    CHECK(mine.extend(held, longer_ttl) == errc::lost);
    CHECK(nodes.count("r") == (foreign ? 3 : 1));
    CHECK(mine.release(std::move(held)).result == release_result::not_held);
    REQUIRE(mine.await_quiet());
    CHECK_FALSE(nodes[1].exists("r"));
    CHECK(nodes[0].exists("r") == foreign);
}

TEST_CASE("p23: an extend after another owner came and went creates no key",
          "[servers][pitfall][p23]")
{
    masters nodes(3);
    locks mine(nodes.urls());
    locks theirs(nodes.urls());
    lock held = mine.take("r");
    REQUIRE(mine.await_quiet());
    nodes.flush();
    theirs.give_back(theirs.take("r"));
    REQUIRE(theirs.await_quiet());
    CHECK(mine.extend(held, longer_ttl) == errc::lost);
    REQUIRE(mine.await_quiet());
    CHECK(nodes.count("r") == 0);
}

TEST_CASE("p10, p23: a lease that expires on the server is lost in the client too",
          "[servers][pitfall][p10][p23]")
{
    masters nodes(3);
    auto c = patient(nodes.urls());
    c.node_timeout = ending_ttl / 4;
    ready_locks mine(std::move(c));
    lock held = mine.take("r", {.ttl = ending_ttl, .timeout = never});
    const auto end = held.valid_until();
    REQUIRE(mine.await([&] { return boot_clock::now() >= end; }));
    CHECK_FALSE(held.owns());
    REQUIRE(mine.await([&] { return nodes.count("r") == 0; }));
    CHECK(mine.extend(held, 90s) == errc::lost);
    CHECK_FALSE(mine.acquire("r").error);
}

TEST_CASE("p33: a release of a key that is gone takes one round trip and reports no error",
          "[servers][pitfall][p33]")
{
    masters nodes(3);
    ready_locks mine(nodes.urls());
    lock held = mine.take("r");
    REQUIRE(mine.await_quiet());
    nodes.flush();
    const auto before = mine.stats();
    const auto given = mine.release(std::move(held));
    CHECK_FALSE(given.error);
    CHECK(given.result == release_result::not_held);
    REQUIRE(mine.await_quiet());
    CHECK(mine.stats().commands == before.commands + 3);
    CHECK(mine.stats().not_held == 1);
}

TEST_CASE("p34: a dropped lock leaves no key and does no harm without its nodes or its client",
          "[servers][pitfall][p34]")
{
    masters nodes(3);
    lock orphan;
    {
        locks mine(nodes.urls());
        {
            const lock dropped = mine.take("r");
        }
        REQUIRE(mine.await_quiet());
        CHECK(nodes.count("r") == 0);
        CHECK(mine.stats().dropped == 1);
        CHECK(mine.stats().leases == 0);

        orphan = mine.take("orphan");
        const lock at_dead_nodes = mine.take("r");
        for (std::size_t i = 0; i < 3; ++i) {
            nodes[i].kill();
        }
    }
    CHECK(orphan.resource() == "orphan");
}

TEST_CASE("a closing client waits for releases that it is still sending", "[servers]")
{
    masters nodes(1);
    proxy slow(nodes[0].port());
    ready_locks mine({slow.url()});
    {
        const lock dropped = mine.take("r");
        slow.delay(direction::up, 100ms);
    }
    CHECK(nodes.count("r") == 1);
    CHECK_FALSE(mine.close());
    CHECK(nodes.count("r") == 0);
    CHECK(mine.acquire("r", once()).error == errc::closed);
}

TEST_CASE("a resource of arbitrary bytes is never read as a command", "[servers]")
{
    masters nodes(1);
    locks mine(nodes.urls());
    const std::string resource =
        GENERATE(as<std::string>(), "a\r\nDEL canary\r\n", std::string("\0nul\0", 5),
                 "\xff\xfe not UTF-8 \x80", "$3\r\nfoo\r\n*1\r\n", "{tag} with spaces\t\"'",
                 std::string(max_resource_size, 'x'));
    nodes[0].command({"SET", "canary", "sings"});
    lock held = mine.take(resource);
    CHECK(nodes[0].get(resource) == std::string(held.owner_token()));
    CHECK(mine.acquire(resource, once()).error == errc::contended);
    CHECK_FALSE(mine.extend(held, longer_ttl));
    CHECK(nodes[0].pttl(resource) > never);
    CHECK(mine.inspect(resource).found.state == lock_state::held);
    mine.give_back(std::move(held));
    CHECK(nodes[0].get("canary") == "sings");
    CHECK_FALSE(nodes[0].exists(resource));
    CHECK(nodes[0].exists(resource + ":fencing"));
    CHECK(nodes[0].command({"DBSIZE"}) == "2");
}

TEST_CASE("prefix and database and user and password of the configuration reach the server",
          "[servers]")
{
    masters nodes(3, {.kind = each_kind(), .password = "the-default-one"});
    for (std::size_t i = 0; i < 3; ++i) {
        nodes[i].command({"ACL", "SETUSER", "locker", "on", ">p@ss:w/rd %", "~*", "+@all"});
    }
    auto c = patient(nodes.urls("locker", "p@ss:w/rd %", 3));
    c.key_prefix = "app:locks:";
    c.client_name = "orders-worker";
    locks mine(std::move(c));
    mine.keep_secret("p@ss:w/rd %");
    REQUIRE(mine.await_ready(3));
    const lock held = mine.take("r");
    REQUIRE(mine.await_quiet());
    for (std::size_t i = 0; i < 3; ++i) {
        const auto direct = nodes[i].connect();
        CHECK(direct->ask({"GET", "app:locks:r"}).str() == "(nil)");
        direct->ask({"SELECT", "3"});
        CHECK(direct->ask({"GET", "app:locks:r"}).str() == held.owner_token());
        const auto clients = direct->ask({"CLIENT", "LIST"}).text;
        CHECK(clients.find("name=orders-worker") != std::string::npos);
        CHECK(clients.find("user=locker") != std::string::npos);
    }
}

TEST_CASE("clients that contend for one resource hold it one after the other", "[servers]")
{
    masters nodes(5);
    constexpr std::size_t workers = 4;
    constexpr unsigned turns_each = 3;
    std::vector<std::unique_ptr<locks>> clients;
    std::vector<pending<taken>> begun;
    for (std::size_t i = 0; i < workers; ++i) {
        clients.push_back(std::make_unique<locks>(nodes.urls()));
        begun.push_back(clients[i]->begin_acquire("r", {.ttl = 60s, .timeout = never}));
    }
    std::vector<unsigned> turns(workers, 0);
    const auto missing = [&] { return turns != std::vector(workers, turns_each); };
    while (missing()) {
        for (std::size_t i = 0; i < workers; ++i) {
            if (turns[i] == turns_each ||
                !clients[i]->await([&] { return begun[i]->has_value(); }, 5ms)) {
                continue;
            }
            auto [error, held] = clients[i]->finish(begun[i]);
            REQUIRE_FALSE(error);
            for (std::size_t other = 0; other < workers; ++other) {
                if (other != i && turns[other] < turns_each) {
                    CHECK_FALSE(
                        clients[other]->await([&] { return begun[other]->has_value(); }, 2ms));
                }
            }
            CHECK(clients[i]->release(std::move(held)).result == release_result::released);
            if (++turns[i] < turns_each) {
                begun[i] = clients[i]->begin_acquire("r", {.ttl = 60s, .timeout = never});
            }
        }
    }
    for (const auto& one : clients) {
        CHECK(one->await_quiet());
    }
    CHECK(nodes.count("r") == 0);
}

TEST_CASE("a client releases the locks that go out of scope together with it", "[servers]")
{
    const server node({.kind = each_kind()});
    {
        locks mine({node.url()});
        const lock first = mine.take("a", {.ttl = 10min});
        const lock second = mine.take("b", {.ttl = 10min});
        CHECK(node.exists("a"));
        CHECK(node.exists("b"));
    }
    locks watching({node.url()});
    CHECK(watching.await([&] { return !node.exists("a") && !node.exists("b"); }));
}
