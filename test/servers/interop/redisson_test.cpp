#include "support/locks.hpp"
#include "support/masters.hpp"

#include <catch2/catch_test_macros.hpp>

#include <string>

using namespace redlock;
using namespace redlock::test;
using namespace std::chrono_literals;

namespace {

const std::string field = "8743c9c0-0795-4907-87fd-6c719a6b4586:1";

/// The hash of a Redisson lock: one field, for the thread that holds it, with the number of its
/// holds.
void take_as_redisson(const server& node, const std::string& resource)
{
    REQUIRE(node.ask({"HINCRBY", resource, field, "1"}).integer == 1);
    REQUIRE(node.ask({"PEXPIRE", resource, "30000"}).integer == 1);
}

bool is_theirs(const server& node, const std::string& resource)
{
    return node.command({"HGET", resource, field}) == "1";
}

}  // namespace

TEST_CASE("a hash of Redisson at the key is contention and not an error of the node", "[interop]")
{
    masters nodes(3, {.kind = each_kind()});
    ready_locks ours(nodes.urls());
    for (const std::size_t i : {0U, 1U}) {
        take_as_redisson(nodes[i], "r");
    }
    report told;
    CHECK(ours.acquire("r", once(&told)).error == errc::contended);
    REQUIRE(ours.await_quiet());
    for (const std::size_t i : {0U, 1U}) {
        CHECK(told.nodes[i].outcome == node_outcome::refused);
        CHECK(told.nodes[i].holder_ttl.value_or(0ms) > 10s);
        CHECK(is_theirs(nodes[i], "r"));
        CHECK(nodes[i].pttl("r") > 10s);
    }
    CHECK_FALSE(nodes[2].exists("r"));
    const auto [error, found] = ours.inspect("r");
    CHECK_FALSE(error);
    CHECK(found.state == lock_state::held);
    CHECK_FALSE(found.owner_known);
    CHECK(found.agreeing == 2);
}

TEST_CASE("Redisson takes our key neither for free nor for its own", "[interop]")
{
    masters nodes(3);
    ready_locks ours(nodes.urls());
    const lock held = ours.take("r");
    REQUIRE(ours.await_quiet());
    for (std::size_t i = 0; i < 3; ++i) {
        // The first question of Redisson's script: is there no key, or a hash of mine?
        CHECK(nodes[i].ask({"EXISTS", "r"}).integer == 1);
        CHECK(nodes[i].ask({"HEXISTS", "r", field}).text.starts_with("WRONGTYPE"));
        CHECK(nodes[i].ask({"HINCRBY", "r", field, "1"}).text.starts_with("WRONGTYPE"));
    }
}

TEST_CASE("a lock whose key became Redisson's is lost and its release leaves the key alone",
          "[interop]")
{
    masters nodes(3, {.kind = each_kind()});
    ready_locks ours(nodes.urls());
    lock held = ours.take("r");
    REQUIRE(ours.await_quiet());
    for (std::size_t i = 0; i < 3; ++i) {
        nodes[i].flush();
        take_as_redisson(nodes[i], "r");
    }
    CHECK(ours.extend(held, longer_ttl) == errc::lost);
    CHECK(ours.adopt("r", held.owner_token(), longer_ttl).error == errc::lost);
    const auto given = ours.release(std::move(held));
    CHECK_FALSE(given.error);
    CHECK(given.result == release_result::not_held);
    REQUIRE(ours.await_quiet());
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(is_theirs(nodes[i], "r"));
        CHECK(nodes[i].pttl("r") > 20s);
    }
}
