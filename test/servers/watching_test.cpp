#include "support/locks.hpp"
#include "support/masters.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;
using namespace std::chrono_literals;

// A real server notifies the waiter that it refused when the key is deleted.

namespace {

constexpr const char* stranger = "a stranger's";

/// The interval is so long that this test would fail after one poll.
config never_polling(std::vector<std::string> nodes)
{
    config c = patient(std::move(nodes));
    c.max_poll_interval = 1h;
    return c;
}

/// The former holder's key may disappear last on some nodes. So wait until no node has it.
void take_all(locks& mine, masters& nodes, std::chrono::milliseconds ttl = 1h)
{
    REQUIRE(mine.await([&] { return nodes.count("r") == 0; }));
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        REQUIRE(
            nodes[i].ask({"SET", "r", stranger, "NX", "PX", std::to_string(ttl.count())}).text ==
            "OK");
    }
}

/// A person at a shell deletes keys like this.
void delete_all(masters& nodes)
{
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        REQUIRE(nodes[i].ask({"DEL", "r"}).integer == 1);
    }
}

void delete_all_by(masters& nodes, const std::vector<std::string>& command)
{
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        REQUIRE_FALSE(nodes[i].ask(command).is_error());
    }
    REQUIRE(nodes.count("r") == 0);
}

/// The number of connections that get notifications of keys from the node.
std::size_t trackers(const server& node)
{
    const std::string info = node.ask({"INFO", "clients"}).text;
    const std::string field = "tracking_clients:";
    return std::stoul(info.substr(info.find(field) + field.size()));
}

std::size_t trackers(masters& nodes)
{
    std::size_t all = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        all += trackers(nodes[i]);
    }
    return all;
}

/// Whether nodes have refused an acquire that made the attempt after `attempts_before`, and one of
/// them will notify it. A node may still track keys for an earlier acquire.
bool waits_for_notification(locks& mine, masters& nodes, std::uint64_t attempts_before)
{
    const stats now = mine.stats();
    return now.attempts > attempts_before && now.unanswered == 0 && trackers(nodes) == 1;
}

acquire_options for_long()
{
    return {.ttl = 60s, .timeout = 1h};
}

}  // namespace

TEST_CASE("a waiter wakes up when another program deletes the key", "[servers][watch]")
{
    // Ways in which a person, node-redlock, other clients, and an emptied database delete keys.
    const auto how = GENERATE(
        std::vector<std::string>{"DEL", "r"}, std::vector<std::string>{"UNLINK", "r"},
        std::vector<std::string>{"EVAL",
                                 "local count = 0 for i, key in ipairs(KEYS) do if "
                                 "redis.call('get', key) == ARGV[1] then redis.pcall('del', key) "
                                 "count = count + 1 end end return count",
                                 "1", "r", stranger},
        std::vector<std::string>{"EVAL",
                                 "if redis.call('get', KEYS[1]) == ARGV[1] then return "
                                 "redis.call('del', KEYS[1]) else return 0 end",
                                 "1", "r", stranger},
        std::vector<std::string>{"FLUSHALL"});
    masters nodes(3, {.kind = each_kind()});
    ready_locks mine(never_polling(nodes.urls()));
    for (int i = 0; i < 5; ++i) {
        take_all(mine, nodes);
        const auto attempts = mine.stats().attempts;
        const auto wanted = mine.begin_acquire("r", for_long());
        REQUIRE(mine.await([&] { return waits_for_notification(mine, nodes, attempts); }));
        const auto before = mine.stats();
        delete_all_by(nodes, how);
        taken got = mine.finish(wanted);
        REQUIRE_FALSE(got.error);
        CHECK(mine.stats().notified_attempts_granted == before.notified_attempts_granted + 1);
        CHECK(mine.stats().polls == before.polls);
        mine.give_back(std::move(got.lock));
    }
}

TEST_CASE("a waiter wakes up when another client releases the lock", "[servers][watch]")
{
    masters nodes(3, {.kind = each_kind()});
    locks others(patient(nodes.urls()));
    locks mine(never_polling(nodes.urls()));
    REQUIRE(others.await_ready(3));
    REQUIRE(mine.await_ready(3));
    for (int i = 0; i < 5; ++i) {
        // On a node that still has the old key the lock would be free later, without a change.
        REQUIRE(mine.await([&] { return nodes.count("r") == 0; }));
        lock held = others.take("r", {.ttl = 60s});
        const auto attempts = mine.stats().attempts;
        const auto wanted = mine.begin_acquire("r", for_long());
        REQUIRE(mine.await([&] { return waits_for_notification(mine, nodes, attempts); }));
        others.give_back(std::move(held));
        taken got = mine.finish(wanted);
        REQUIRE_FALSE(got.error);
        mine.give_back(std::move(got.lock));
    }
    CHECK(mine.stats().notified_attempts_granted == 5);
}

TEST_CASE("a waiter gets the lock when the key expires", "[servers][watch]")
{
    masters nodes(3, {.kind = each_kind()});
    ready_locks mine(never_polling(nodes.urls()));
    take_all(mine, nodes, 500ms);
    taken got = mine.acquire("r", for_long());
    REQUIRE_FALSE(got.error);
    mine.give_back(std::move(got.lock));
}

TEST_CASE("a waiter wakes up when a server finds that the key has expired", "[servers][watch]")
{
    masters nodes(3, {.kind = each_kind()});
    for (std::size_t i = 0; i < 3; ++i) {
        REQUIRE(nodes[i].ask({"CONFIG", "SET", "hz", "500"}).text == "OK");
    }
    ready_locks mine(never_polling(nodes.urls()));
    // The waiter polls at that time too, mostly a moment later than the server.
    REQUIRE(wait_for([&] {
        take_all(mine, nodes, 100ms);
        taken got = mine.acquire("r", for_long());
        REQUIRE_FALSE(got.error);
        mine.give_back(std::move(got.lock));
        REQUIRE(mine.await_quiet());
        return mine.stats().notified_attempts_granted > 0;
    }));
}

TEST_CASE("a waiter continues when the server that would notify it restarts empty",
          "[servers][watch]")
{
    masters nodes(3, {.kind = each_kind()});
    ready_locks mine(never_polling(nodes.urls()));
    take_all(mine, nodes);
    const auto wanted = mine.begin_acquire("r", for_long());
    REQUIRE(mine.await([&] { return waits_for_notification(mine, nodes, 0); }));
    const std::size_t told_by = trackers(nodes[0]) == 1 ? 0 : trackers(nodes[1]) == 1 ? 1 : 2;
    nodes[told_by].kill();
    REQUIRE(mine.await([&] { return mine.stats().disconnects == 1; }));
    if (GENERATE(false, true)) {
        nodes[told_by].start(memory::lost);
        REQUIRE(mine.await_ready(3));
    } else {
        // Another node notifies now.
        REQUIRE(mine.await([&] {
            std::size_t others = 0;
            for (std::size_t i = 0; i < 3; ++i) {
                others += i != told_by ? trackers(nodes[i]) : 0;
            }
            return mine.stats().unanswered == 0 && others == 1;
        }));
    }
    for (std::size_t i = 0; i < 3; ++i) {
        if (i != told_by) {
            REQUIRE(nodes[i].ask({"DEL", "r"}).integer == 1);
        }
    }
    taken got = mine.finish(wanted);
    REQUIRE_FALSE(got.error);
    mine.give_back(std::move(got.lock));
}

TEST_CASE("p47: a waiter whose connections are lost polls without a notification",
          "[servers][watch][pitfall][p47]")
{
    masters nodes(3, {.kind = each_kind()});
    ready_locks mine(never_polling(nodes.urls()));
    take_all(mine, nodes);
    const auto wanted = mine.begin_acquire("r", for_long());
    REQUIRE(mine.await([&] { return trackers(nodes) == 1; }));
    for (std::size_t i = 0; i < 3; ++i) {
        static_cast<void>(nodes[i].ask({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"}));
    }
    SECTION("and gets the lock that became free in between")
    {
        delete_all(nodes);
        taken got = mine.finish(wanted);
        REQUIRE_FALSE(got.error);
        mine.give_back(std::move(got.lock));
    }
    SECTION("and gets a notification over its new connection")
    {
        REQUIRE(mine.await([&] {
            return mine.stats().nodes_ready == 3 && mine.stats().unanswered == 0 &&
                   trackers(nodes) == 1;
        }));
        delete_all(nodes);
        taken got = mine.finish(wanted);
        REQUIRE_FALSE(got.error);
        CHECK(mine.stats().notified_attempts_granted == 1);
        mine.give_back(std::move(got.lock));
    }
}

TEST_CASE("a waiter that may not receive notifications still gets the lock", "[servers][watch]")
{
    masters nodes(3, {.kind = each_kind()});
    for (std::size_t i = 0; i < 3; ++i) {
        REQUIRE(nodes[i]
                    .ask({"ACL", "SETUSER", "untold", "on", ">secret", "~*", "&*", "+@all",
                          "-client|tracking"})
                    .text == "OK");
    }
    std::vector<std::string> urls = nodes.urls();
    for (std::string& url : urls) {
        url.insert(url.find("://") + 3, "untold:secret@");
    }
    ready_locks mine(patient(urls));
    take_all(mine, nodes);
    const auto wanted = mine.begin_acquire("r", for_long());
    REQUIRE(mine.await([&] { return mine.stats().polls > 3; }));
    CHECK(trackers(nodes) == 0);
    CHECK(mine.logged(log_level::info, "sends no notifications"));
    delete_all(nodes);
    taken got = mine.finish(wanted);
    REQUIRE_FALSE(got.error);
    CHECK(mine.stats().notified_attempts_granted == 0);
    mine.give_back(std::move(got.lock));
}
