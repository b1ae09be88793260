#include "support/locks.hpp"
#include "support/masters.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;
using namespace std::chrono_literals;

// Who was refused is told by real servers when the key goes.

namespace {

constexpr const char* stranger = "a stranger's";

/// So long that a poll in this test would be one too many.
config never_polling(std::vector<std::string> nodes)
{
    config c = patient(std::move(nodes));
    c.poll_max = 1h;
    return c;
}

void take_all(masters& nodes, std::chrono::milliseconds ttl = 1h)
{
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        REQUIRE(
            nodes[i].ask({"SET", "r", stranger, "NX", "PX", std::to_string(ttl.count())}).text ==
            "OK");
    }
}

/// As a person does, or a client of another kind.
void delete_all(masters& nodes)
{
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        REQUIRE(nodes[i].ask({"DEL", "r"}).integer == 1);
    }
}

/// How many connections of any kind the nodes tell of keys.
std::size_t trackers(masters& nodes)
{
    std::size_t all = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const std::string info = nodes[i].ask({"INFO", "clients"}).text;
        const std::string field = "tracking_clients:";
        all += std::stoul(info.substr(info.find(field) + field.size()));
    }
    return all;
}

acquire_options for_long()
{
    return {.ttl = 60s, .deadline = 1h};
}

}  // namespace

TEST_CASE("who waits is woken by whoever deletes the key", "[integration][watch]")
{
    masters nodes(3, {.kind = each_kind()});
    locks mine(never_polling(nodes.urls()));
    REQUIRE(mine.await_ready(3));
    for (int i = 0; i < 5; ++i) {
        take_all(nodes);
        const auto wanted = mine.begin_acquire("r", for_long());
        // Both at once, or a back-off could have come first.
        REQUIRE(mine.await([&] { return mine.stats().unanswered == 0 && trackers(nodes) == 1; }));
        const auto before = mine.stats();
        delete_all(nodes);
        taken got = mine.finish(wanted);
        REQUIRE_FALSE(got.error);
        CHECK(mine.stats().wake_ups_granted == before.wake_ups_granted + 1);
        CHECK(mine.stats().polls == before.polls);
        mine.give_back(std::move(got.lock));
    }
}

TEST_CASE("who waits is woken by another client of its kind", "[integration][watch]")
{
    masters nodes(3, {.kind = each_kind()});
    locks others(patient(nodes.urls()));
    locks mine(never_polling(nodes.urls()));
    REQUIRE(others.await_ready(3));
    REQUIRE(mine.await_ready(3));
    for (int i = 0; i < 5; ++i) {
        lock held = others.take("r", {.ttl = 60s});
        const auto wanted = mine.begin_acquire("r", for_long());
        REQUIRE(mine.await([&] { return mine.stats().unanswered == 0 && trackers(nodes) == 1; }));
        others.give_back(std::move(held));
        taken got = mine.finish(wanted);
        REQUIRE_FALSE(got.error);
        mine.give_back(std::move(got.lock));
    }
    CHECK(mine.stats().wake_ups_granted == 5);
}

TEST_CASE("who waits is served when the key expires", "[integration][watch]")
{
    masters nodes(3, {.kind = each_kind()});
    locks mine(never_polling(nodes.urls()));
    REQUIRE(mine.await_ready(3));
    take_all(nodes, 500ms);
    taken got = mine.acquire("r", for_long());
    REQUIRE_FALSE(got.error);
    mine.give_back(std::move(got.lock));
}

TEST_CASE("p47: whose connections are lost looks by itself", "[integration][watch][pitfall][p47]")
{
    masters nodes(3, {.kind = each_kind()});
    locks mine(never_polling(nodes.urls()));
    REQUIRE(mine.await_ready(3));
    take_all(nodes);
    const auto wanted = mine.begin_acquire("r", for_long());
    REQUIRE(mine.await([&] { return trackers(nodes) == 1; }));
    for (std::size_t i = 0; i < 3; ++i) {
        static_cast<void>(nodes[i].ask({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"}));
    }
    SECTION("and has it, as it was free by then")
    {
        delete_all(nodes);
        taken got = mine.finish(wanted);
        REQUIRE_FALSE(got.error);
        mine.give_back(std::move(got.lock));
    }
    SECTION("and is told by its new connection")
    {
        REQUIRE(mine.await([&] {
            return mine.stats().nodes_ready == 3 && mine.stats().unanswered == 0 &&
                   trackers(nodes) == 1;
        }));
        delete_all(nodes);
        taken got = mine.finish(wanted);
        REQUIRE_FALSE(got.error);
        CHECK(mine.stats().wake_ups_granted == 1);
        mine.give_back(std::move(got.lock));
    }
}

TEST_CASE("who is not permitted to be told waits all the same", "[integration][watch]")
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
    locks mine(patient(urls));
    REQUIRE(mine.await_ready(3));
    take_all(nodes);
    const auto wanted = mine.begin_acquire("r", for_long());
    REQUIRE(mine.await([&] { return mine.stats().polls > 3; }));
    CHECK(trackers(nodes) == 0);
    CHECK(mine.logged(log_level::info, "does not tell when a lock is free"));
    delete_all(nodes);
    taken got = mine.finish(wanted);
    REQUIRE_FALSE(got.error);
    CHECK(mine.stats().wake_ups_granted == 0);
    mine.give_back(std::move(got.lock));
}
