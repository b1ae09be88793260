#include "support/locks.hpp"
#include "support/masters.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;
using namespace std::chrono_literals;

namespace {

using names = std::vector<std::string>;

config with_fencing(config c, bool on = true)
{
    c.fencing = on;
    return c;
}

}  // namespace

TEST_CASE("one lock covers several resources on real nodes", "[servers][group]")
{
    const bool fencing = GENERATE(true, false);
    masters nodes(3, {.kind = each_kind()});
    ready_locks mine(with_fencing(patient(nodes.urls()), fencing));
    const names three{"b", "a", std::string("c\r\n\0:", 5)};
    lock held = mine.take(three, {.ttl = 60s});
    REQUIRE(mine.await([&] { return held.granted_by() == 3; }));
    CHECK(held.resource() == "b");
    CHECK(std::ranges::equal(held.resources(), three));
    CHECK((held.fencing_token() > 0) == fencing);
    for (const std::string& name : three) {
        CHECK(nodes.count(name) == 3);
        CHECK(nodes.count(name + ":fencing") == (fencing ? 3 : 0));
        CHECK(nodes[0].ask({"GET", name}).text == held.owner_token());
        CHECK(mine.acquire(name, once()).error == errc::contended);
    }

    // Resources in another order, and together with others.
    report told;
    CHECK(mine.acquire(names{"x", "a", "b"}, once(&told)).error == errc::contended);
    CHECK(std::ranges::any_of(told.nodes,
                              [](const node_report& n) { return n.refused_resource == "a"; }));
    CHECK(std::ranges::all_of(told.nodes, [](const node_report& n) {
        return n.refused_resource == (n.outcome == node_outcome::refused ? "a" : "");
    }));
    CHECK(nodes.count("x") == 0);

    CHECK_FALSE(mine.extend(held, 120s));
    CHECK(mine.await([&] { return nodes[0].ask({"PTTL", "a"}).integer > 60'000; }));

    // Another program adopts the lock and releases it.
    ready_locks other(with_fencing(patient(nodes.urls()), fencing));
    const std::string token = std::move(held).detach();
    CHECK(other.adopt(names{"a", "b", "y"}, token, 60s).error == errc::lost);
    auto adopted = other.adopt(three, token, 60s);
    REQUIRE_FALSE(adopted.error);
    other.give_back(std::move(adopted.lock));
    for (const std::string& name : three) {
        CHECK(nodes.count(name) == 0);
    }
}

TEST_CASE("a lock of several resources has a token greater than all earlier ones of each",
          "[servers][group][fencing]")
{
    masters nodes(3, {.kind = each_kind()});
    ready_locks mine(with_fencing(patient(nodes.urls())));
    std::uint64_t last = 0;
    for (const names& some : {names{"a"}, names{"a", "b"}, names{"b"}, names{"c", "b", "a"},
                              names{"c"}, names{"c", "a"}, names{"a"}}) {
        for (int i = 0; i < 5; ++i) {
            lock held = mine.take(some, {.ttl = 60s});
            const auto token = held.fencing_token();
            CHECK(token > last);
            for (const std::string& name : some) {
                CHECK(held.fencing_token(name) == token);
                // The nodes have counted up to this number for the resource, or farther after one
                // alignment more.
                std::size_t that_far = 0;
                for (std::size_t n = 0; n < 3; ++n) {
                    const auto at = nodes[n].get(name + ":fencing");
                    that_far += at && std::stoull(*at) >= token ? 1U : 0U;
                }
                CHECK(that_far >= 2);
            }
            CHECK(held.fencing_token("d") == 0);
            last = token;
            mine.give_back(std::move(held));
        }
    }
}

TEST_CASE("a lock of several resources does not spread a counter that ran ahead",
          "[servers][group][fencing]")
{
    masters nodes(3, {.kind = each_kind()});
    const reply time = nodes[0].ask({"TIME"});
    const std::int64_t ahead = (std::stoll(time.items.at(0).text) + 3600) * 1'000'000;
    REQUIRE(nodes[0].command({"SET", "a:fencing", std::to_string(ahead), "PX", "100000"}) == "OK");
    ready_locks mine(with_fencing(patient(nodes.urls())));
    std::uint64_t last = 0;
    for (const names& some : {names{"a", "b"}, names{"b"}, names{"c", "b", "a"}, names{"b", "c"}}) {
        lock held = mine.take(some, {.ttl = 60s});
        // The client may not ask a slow node to count for a lock that is already released. So wait
        // for all nodes.
        REQUIRE(mine.await_quiet());
        CHECK(held.fencing_token() > last);
        CHECK(held.fencing_token() < static_cast<std::uint64_t>(ahead));
        last = held.fencing_token();
        mine.give_back(std::move(held));
    }
    // A lock needs only a majority, so the first node may have missed the last one.
    REQUIRE(wait_for([&] {
        mine.give_back(mine.take(names{"b", "c"}, {.ttl = 60s}));
        REQUIRE(mine.await_quiet());
        return nodes[0].get("c:fencing").has_value();
    }));
    for (const char* other : {"b:fencing", "c:fencing"}) {
        CHECK(std::stoll(nodes[0].get(other).value()) < ahead);
    }

    // While the first node is needed, `a` is not available, alone or with others. `b` and `c`
    // are.
    nodes[2].kill();
    CHECK(mine.acquire(names{"a", "b"}, once()).error == errc::unavailable);
    mine.give_back(mine.take(names{"b", "c"}, {.ttl = 60s}));
    mine.give_back(mine.take("b", {.ttl = 60s}));
}

TEST_CASE("a client locks several resources while a node is down and after its return",
          "[servers][group]")
{
    masters nodes(3);
    ready_locks mine(patient(nodes.urls()));
    nodes[1].kill();
    lock held = mine.take(names{"a", "b"}, {.ttl = 60s, .timeout = never});
    CHECK(held.granted_by() == 2);
    nodes[1].start();
    REQUIRE(mine.await_ready(3));
    mine.give_back(std::move(held));
    lock again = mine.take(names{"b", "a"}, {.ttl = 60s});
    REQUIRE(mine.await([&] { return again.granted_by() == 3; }));
    mine.give_back(std::move(again));
    CHECK(nodes.count("a") + nodes.count("b") == 0);
}

TEST_CASE("a client loads its scripts again on servers that forgot them", "[servers][group]")
{
    masters nodes(3, {.kind = each_kind()});
    ready_locks mine(with_fencing(patient(nodes.urls()), false));
    for (int i = 0; i < 3; ++i) {
        for (std::size_t n = 0; n < 3; ++n) {
            (void)nodes[n].ask({"SCRIPT", "FLUSH"});
        }
        lock held = mine.take(names{"a", "b"}, {.ttl = 60s});
        CHECK_FALSE(mine.extend(held, 90s));
        mine.give_back(std::move(held));
    }
}

TEST_CASE("a client refuses an invalid list of resources before it sends anything",
          "[servers][group]")
{
    const server node;
    locks mine(patient({node.url()}));
    const auto error_of = [&](names some) { return mine.acquire(std::move(some), once()).error; };
    CHECK(error_of({}) == errc::invalid_resource);
    CHECK(error_of({"a", ""}) == errc::invalid_resource);
    CHECK(error_of({"a", "b:fencing"}) == errc::invalid_resource);
    CHECK(error_of({"a", "b", "a"}) == errc::duplicate_resource);
    CHECK(error_of({"a", "b", "a"}) == condition::invalid_argument);
    CHECK(error_of({std::string(40'000, 'a'), std::string(40'000, 'b')}) == errc::invalid_resource);
    names many;
    for (std::size_t i = 0; i <= max_resources; ++i) {
        many.push_back("r" + std::to_string(i));
    }
    CHECK(error_of(many) == errc::invalid_resource);
    CHECK(mine.adopt(names{"a", "a"}, std::string(40, 'a'), 60s).error == errc::duplicate_resource);
    REQUIRE(mine.await_ready(1));
    many.pop_back();
    mine.give_back(mine.take(many, {.ttl = 60s}));

    // A lock of one resource in a list is the plain lock of that resource, as all other clients
    // know it.
    lock single = mine.take(names{"a"}, {.ttl = 60s});
    CHECK(single.resource() == "a");
    CHECK(single.resources().size() == 1);
    CHECK(node.ask({"GET", "a"}).text == single.owner_token());
    mine.give_back(std::move(single));
}

TEST_CASE("a foreign lock on one resource keeps a client from locking several",
          "[servers][group][interop]")
{
    masters nodes(3, {.kind = each_kind()});
    ready_locks mine(patient(nodes.urls()));
    for (std::size_t i = 0; i < 3; ++i) {
        REQUIRE(nodes[i].ask({"HSET", "b", "f", "v"}).integer == 1);
    }
    report told;
    CHECK(mine.acquire(names{"a", "b"}, once(&told)).error == errc::contended);
    CHECK(std::ranges::any_of(told.nodes,
                              [](const node_report& n) { return n.refused_resource == "b"; }));
    CHECK(nodes.count("a") == 0);

    // If a foreign key replaces one key of a held lock, the client leaves it alone and releases the
    // other keys.
    for (std::size_t i = 0; i < 3; ++i) {
        REQUIRE(nodes[i].ask({"DEL", "b"}).integer == 1);
    }
    lock held = mine.take(names{"a", "b"}, {.ttl = 60s});
    REQUIRE(mine.await([&] { return held.granted_by() == 3; }));
    for (std::size_t i = 0; i < 3; ++i) {
        REQUIRE(nodes[i].ask({"DEL", "b"}).integer == 1);
        REQUIRE(nodes[i].ask({"HSET", "b", "f", "v"}).integer == 1);
    }
    CHECK(mine.extend(held, 90s) == errc::lost);
    CHECK(mine.release(std::move(held)).result == release_result::not_held);
    CHECK(nodes.count("a") == 0);
    CHECK(nodes.count("b") == 3);
}
