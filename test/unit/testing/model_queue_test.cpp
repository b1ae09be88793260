#include "testing/contract.hpp"
#include "testing/model_master.hpp"
#include "testing/wire.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace redlock::testing;
using namespace std::chrono_literals;

namespace {

constexpr std::string_view queue_key = "r:redlock:queue";
constexpr std::string_view ttl_ms = "30000";
constexpr std::int64_t no_key = -2;

std::string key_of(std::string_view ticket)
{
    return "r:" + std::string(ticket) + ":redlock:ticket";
}

/// The reply of the script that gives a ticket its place.
std::string place(std::int64_t before, std::string_view nearest, std::int64_t lock,
                  std::int64_t number, std::int64_t removed = 0)
{
    return "*5\r\n" + wire::integer(before) + wire::bulk(nearest) + wire::integer(lock) +
           wire::integer(number) + wire::integer(removed);
}

std::string told_of(std::string_view key)
{
    return ">2\r\n" + wire::bulk("invalidate") + "*1\r\n" + wire::bulk(key);
}

/// A node with the queue of the resource `r`.
class queue_node {
public:
    queue_node()
    {
        for (session* s : {&asker, &other}) {
            (void)master.execute(now, *s, {"HELLO", "3"});
            (void)master.execute(now, *s, {"CLIENT", "TRACKING", "ON", "OPTIN", "NOLOOP"});
        }
    }

    std::string ask(words command) { return master.execute(now, asker, command); }

    std::string run(contract which, const words& keys, const words& args)
    {
        words command{"EVAL", std::string(script_for(which).text), std::to_string(keys.size())};
        command.insert(command.end(), keys.begin(), keys.end());
        command.insert(command.end(), args.begin(), args.end());
        return ask(std::move(command));
    }

    std::string queue(std::string_view ticket, std::int64_t number = 0,
                      std::size_t still_before = 0)
    {
        return run(contract::queue, {"r", std::string(queue_key)},
                   {std::string(ticket), std::string(ttl_ms), std::to_string(number),
                    std::to_string(still_before)});
    }

    std::string leave(std::string_view ticket)
    {
        return run(contract::leave, {"r", std::string(queue_key)}, {std::string(ticket)});
    }

    std::string state() { return run(contract::queue_state, {std::string(queue_key)}, {}); }

    /// The names of the tickets in their order, with spaces between them.
    [[nodiscard]] std::string order() const
    {
        std::string all;
        if (const auto* e = master.find(now, queue_key)) {
            for (const auto& each : e->tickets) {
                all += (all.empty() ? "" : " ") + each.name;
            }
        }
        return all;
    }

    std::int64_t pttl(std::string_view key)
    {
        const std::string reply = ask({"PTTL", std::string(key)});
        return std::stoll(reply.substr(1));
    }

    /// Makes the other connection track a key.
    void watch(const std::string& key)
    {
        (void)master.execute(now, other, {"CLIENT", "CACHING", "YES"});
        (void)master.execute(now, other, {"PTTL", key});
    }

    /// The pushes to the other connection since the last call.
    std::string pushes() { return std::exchange(other.out, {}); }

    [[nodiscard]] std::int64_t date() const { return date_of(now); }

    redlock::base::instant now{};
    model_master master;
    session asker;
    session other;
};

}  // namespace

TEST_CASE("a ticket of the model's queue goes to the end and keeps its place", "[testing][queue]")
{
    queue_node node;
    const std::int64_t began = node.date();
    CHECK(node.queue("a") == place(0, "", no_key, began));
    // The second ticket comes in the same microsecond, and the third one after a step back of the
    // clock.
    CHECK(node.queue("b") == place(1, "a", no_key, began + 1));
    node.master.date_offset = -1h;
    CHECK(node.queue("c") == place(2, "b", no_key, began + 2));
    node.master.date_offset = {};
    node.now += 5ms;
    CHECK(node.queue("d") == place(3, "c", no_key, began + 5000));
    CHECK(node.queue("b") == place(1, "a", no_key, began + 1));
    CHECK(node.order() == "a b c d");
    CHECK(node.ask({"SET", "r", "token", "NX", "PX", "700"}) == wire::ok);
    CHECK(node.queue("a") == place(0, "", 700, began));
    CHECK(node.state() == "*2\r\n:4\r\n:5\r\n");
    CHECK(node.leave("") == ":4\r\n");
    CHECK(node.leave("b") == ":3\r\n");
    CHECK(node.leave("b") == ":3\r\n");
    CHECK(node.pttl(key_of("b")) == no_key);
    CHECK(node.order() == "a c d");
    for (const char* ticket : {"a", "c", "d"}) {
        node.leave(ticket);
    }
    CHECK(node.state() == "*2\r\n:0\r\n:-1\r\n");
    CHECK(node.leave("") == ":0\r\n");
    CHECK(node.master.keys(node.now) == 1);
}

TEST_CASE("a ticket that comes back to the model's queue gets the place of its number",
          "[testing][queue]")
{
    queue_node node;
    const std::int64_t began = node.date();
    node.queue("a");
    node.queue("b");
    CHECK(node.queue("c", began - 5) == place(0, "", no_key, began - 5));
    CHECK(node.queue("d", began) == place(2, "a", no_key, began));
    CHECK(node.order() == "c a d b");
    // A number changes nothing for a ticket that is there.
    CHECK(node.queue("c", began + 5) == place(0, "", no_key, began - 5));
    CHECK(node.state() == "*2\r\n:4\r\n:0\r\n");
}

TEST_CASE("the model writes the key of a ticket again after half of its ttl", "[testing][queue]")
{
    queue_node node;
    node.queue("a");
    CHECK(node.pttl(key_of("a")) == 30'000);
    CHECK(node.pttl(queue_key) == 60'000);
    node.watch(key_of("a"));
    node.now += 15s;
    node.queue("a");
    CHECK(node.pttl(key_of("a")) == 15'000);
    CHECK(node.pttl(queue_key) == 60'000);
    CHECK(node.pushes().empty());
    node.now += 1ms;
    node.queue("a");
    CHECK(node.pttl(key_of("a")) == 30'000);
    CHECK(node.pushes() == told_of(key_of("a")));
    // The connection must ask for each notification.
    node.leave("a");
    CHECK(node.pushes().empty());
}

TEST_CASE("the model notifies the client after a ticket that leaves or expires or is deleted",
          "[testing][queue]")
{
    queue_node node;
    node.queue("a");
    node.watch(key_of("a"));
    SECTION("it leaves")
    {
        node.leave("a");
    }
    SECTION("its key expires")
    {
        node.now += 30s;
        node.master.expire(node.now);
    }
    SECTION("its key is deleted")
    {
        CHECK(node.ask({"DEL", key_of("a")}) == ":1\r\n");
    }
    SECTION("its key gets another ttl")
    {
        CHECK(node.ask({"PEXPIRE", key_of("a"), "1000"}) == ":1\r\n");
    }
    CHECK(node.pushes() == told_of(key_of("a")));
    // The connection that makes the change hears nothing of it.
    CHECK(node.asker.out.empty());
}

TEST_CASE("the model tracks the keys of the queue's script only after a request for it",
          "[testing][queue]")
{
    queue_node node;
    node.queue("a");
    node.queue("b");
    const bool asks_for_it = GENERATE(false, true);
    node.master.tracks_whole_scripts = GENERATE(false, true);
    if (asks_for_it) {
        (void)node.ask({"CLIENT", "CACHING", "YES"});
    }
    node.queue("b");
    for (const auto& key : {std::string("r"), key_of("a")}) {
        CAPTURE(key);
        node.master.write(key, {.value = "x", .end = {}});
        // Before Redis 7.2, a script counts as a read of the keys that it is given.
        const bool is_tracked = asks_for_it && (key == "r" || !node.master.tracks_whole_scripts);
        CHECK(std::exchange(node.asker.out, {}) == (is_tracked ? told_of(key) : ""));
    }
}

TEST_CASE("the model removes the dead tickets directly before one", "[testing][queue]")
{
    queue_node node;
    const std::int64_t began = node.date();
    for (const char* ticket : {"a", "b", "c", "d", "e"}) {
        node.queue(ticket);
    }
    // A member that is no ticket has no key either.
    CHECK(node.ask({"ZADD", std::string(queue_key), "5", "garbage"}) == ":1\r\n");
    for (const char* ticket : {"a", "c", "d"}) {
        node.master.lose(key_of(ticket));
    }
    CHECK(node.queue("e") == place(3, "b", no_key, began + 4, 2));
    CHECK(node.order() == "garbage a b e");
    CHECK(node.queue("b") == place(0, "", no_key, began + 1, 2));
    CHECK(node.order() == "b e");
    // A ticket whose own key is gone keeps its place until another one asks.
    node.master.lose(key_of("b"));
    CHECK(node.queue("b") == place(0, "", no_key, began + 1));
    CHECK(node.pttl(key_of("b")) == 30'000);
}

TEST_CASE("the model removes at most 100 dead tickets at once", "[testing][queue]")
{
    queue_node node;
    for (int i = 1; i <= 101; ++i) {
        node.ask({"ZADD", std::string(queue_key), std::to_string(i), "t" + std::to_string(i)});
    }
    CHECK(node.queue("a") == place(1, "", no_key, node.date(), 100));
    CHECK(node.queue("a") == place(0, "", no_key, node.date(), 1));
}

TEST_CASE("the model's queue moves on if a client finds that it does not move", "[testing][queue]")
{
    queue_node node;
    const std::int64_t began = node.date();
    for (const char* ticket : {"a", "b", "c", "d"}) {
        node.queue(ticket);
    }
    node.ask({"PEXPIRE", key_of("b"), "400"});
    node.watch(key_of("c"));
    SECTION("the lock exists")
    {
        node.ask({"SET", "r", "token", "PX", "500"});
        CHECK(node.queue("d", 0, 3) == place(3, "c", 500, began + 3));
        CHECK(node.pttl(key_of("a")) == 30'000);
        CHECK(node.pushes().empty());
    }
    SECTION("the queue has moved since the client found it so")
    {
        node.leave("b");
        CHECK(node.queue("d", 0, 3) == place(2, "c", no_key, began + 3));
        CHECK(node.pttl(key_of("a")) == 30'000);
    }
    SECTION("the client is the first one")
    {
        CHECK(node.queue("a", 0, 0) == place(0, "", no_key, began));
        CHECK(node.pttl(key_of("a")) == 30'000);
    }
    SECTION("the lock is free")
    {
        CHECK(node.queue("d", 0, 3) == place(3, "c", no_key, began + 3));
        CHECK(node.pttl(key_of("a")) == no_key);
        CHECK(node.pttl(key_of("b")) == 400);
        CHECK(node.pttl(key_of("c")) == 1000);
        CHECK(node.pttl(key_of("d")) == 30'000);
        CHECK(node.pushes() == told_of(key_of("c")));
        // The same request a moment later changes no key, so it notifies no client.
        node.watch(key_of("c"));
        CHECK(node.queue("d", 0, 3) == place(3, "c", no_key, began + 3));
        CHECK(node.pushes().empty());
        CHECK(node.queue("c") == place(2, "b", no_key, began + 2));
        CHECK(node.pttl(key_of("c")) == 30'000);
        node.now += 400ms;
        CHECK(node.queue("c") == place(0, "", no_key, began + 2, 2));
    }
    SECTION("only the first one is before the client")
    {
        CHECK(node.queue("b", 0, 1) == place(0, "", no_key, began + 1, 1));
        CHECK(node.order() == "b c d");
    }
}

TEST_CASE("the model shortens the keys of at most 100 tickets after the first one",
          "[testing][queue]")
{
    queue_node node;
    for (int i = 1; i <= 103; ++i) {
        node.queue("t" + std::to_string(i), i);
    }
    CHECK(node.queue("a", 0, 103) == place(103, "t103", no_key, node.date()));
    CHECK(node.pttl(key_of("t1")) == no_key);
    CHECK(node.pttl(key_of("t2")) == 1000);
    CHECK(node.pttl(key_of("t101")) == 1000);
    CHECK(node.pttl(key_of("t102")) == 30'000);
}

TEST_CASE("the model's queue survives garbage members with any score", "[testing][queue]")
{
    queue_node node;
    const std::string queue(queue_key);
    node.ask({"ZADD", queue, "inf", "last"});
    node.ask({"ZADD", queue, "-inf", "first"});
    CHECK(node.state() == "*2\r\n:2\r\n:1000000000000000\r\n");
    CHECK(node.queue("a") == place(0, "", no_key, node.date(), 1));
    node.now += 1ms;
    CHECK(node.queue("b") == place(1, "a", no_key, node.date()));
    CHECK(node.order() == "a b last");
}

TEST_CASE("the model's queue scripts write nothing if the queue's key has another type",
          "[testing][queue]")
{
    queue_node node;
    const auto command = GENERATE(words{"SET", "", "v"}, words{"HSET", "", "f", "v"});
    words put = command;
    put[1] = queue_key;
    node.ask(put);
    const std::string wrong = wire::error(wire::wrong_type);
    CHECK(node.queue("a") == wrong);
    CHECK(node.leave("a") == wrong);
    CHECK(node.leave("") == wrong);
    CHECK(node.state() == wrong);
    CHECK(node.master.keys(node.now) == 1);
    CHECK(node.pttl(queue_key) == -1);
    for (const words& each : std::vector<words>{{"ZADD", "", "1", "m"},
                                                {"ZCARD", ""},
                                                {"ZRANGE", "", "0", "-1"},
                                                {"ZRANK", "", "m"},
                                                {"ZREM", "", "m"}}) {
        words asked = each;
        asked[1] = queue_key;
        CHECK(node.ask(asked) == wrong);
    }
}

TEST_CASE("the model's full node adds no ticket and keeps the others", "[testing][queue]")
{
    queue_node node;
    const std::int64_t began = node.date();
    node.queue("a");
    node.master.is_full = true;
    CHECK(node.queue("b") == wire::error(wire::no_memory));
    CHECK(node.order() == "a");
    CHECK(node.pttl(key_of("b")) == no_key);
    node.now += 20s;
    CHECK(node.queue("a") == place(0, "", no_key, began));
    CHECK(node.pttl(key_of("a")) == 30'000);
    CHECK(node.leave("a") == ":0\r\n");
}

TEST_CASE("the model's replica answers only questions about a queue", "[testing][queue]")
{
    queue_node node;
    node.queue("a");
    node.now += 2ms;
    node.master.is_read_only = true;
    CHECK(node.queue("a") == wire::error(wire::read_only));
    CHECK(node.queue("b") == wire::error(wire::read_only));
    CHECK(node.leave("a") == wire::error(wire::read_only));
    CHECK(node.leave("") == ":1\r\n");
    CHECK(node.state() == "*2\r\n:1\r\n:2\r\n");
}

TEST_CASE("the model's sorted set answers the commands for every key", "[testing][queue]")
{
    queue_node node;
    CHECK(node.ask({"TYPE", "q"}) == "+none\r\n");
    CHECK(node.ask({"ZADD", "q", "2", "b"}) == ":1\r\n");
    CHECK(node.ask({"ZADD", "q", "1", "c"}) == ":1\r\n");
    CHECK(node.ask({"ZADD", "q", "2", "a"}) == ":1\r\n");
    CHECK(node.ask({"ZADD", "q", "2", "a"}) == ":0\r\n");
    CHECK(node.ask({"ZADD", "q", "x", "a"}) == "-ERR value is not a valid float\r\n");
    CHECK(node.ask({"ZRANGE", "q", "0", "-1"}) == "*3\r\n$1\r\nc\r\n$1\r\na\r\n$1\r\nb\r\n");
    CHECK(node.ask({"ZRANGE", "q", "-1", "9"}) == "*1\r\n$1\r\nb\r\n");
    CHECK(node.ask({"ZRANGE", "q", "2", "1"}) == "*0\r\n");
    CHECK(node.ask({"ZRANGE", "q", "x", "1"}) == wire::error(wire::no_integer));
    CHECK(node.ask({"ZCARD", "q"}) == ":3\r\n");
    CHECK(node.ask({"ZRANK", "q", "b"}) == ":2\r\n");
    CHECK(node.ask({"ZRANK", "q", "x"}) == "_\r\n");
    CHECK(node.ask({"ZADD", "q", "3", "c"}) == ":0\r\n");
    CHECK(node.ask({"ZRANK", "q", "c"}) == ":2\r\n");
    CHECK(node.ask({"TYPE", "q"}) == "+zset\r\n");
    CHECK(node.ask({"EXISTS", "q"}) == ":1\r\n");
    CHECK(node.ask({"PTTL", "q"}) == ":-1\r\n");
    CHECK(node.ask({"PEXPIRE", "q", "50"}) == ":1\r\n");
    CHECK(node.ask({"PTTL", "q"}) == ":50\r\n");
    for (const words& command : std::vector<words>{
             {"GET", "q"}, {"INCR", "q"}, {"HSET", "q", "f", "v"}, {"GETRANGE", "q", "0", "1"}}) {
        CHECK(node.ask(command) == wire::error(wire::wrong_type));
    }
    CHECK(node.ask({"SET", "q", "v", "NX", "PX", "9"}) == "_\r\n");
    CHECK(node.ask({"ZREM", "q", "a", "x", "b"}) == ":2\r\n");
    SECTION("the last member leaves")
    {
        CHECK(node.ask({"ZREM", "q", "c"}) == ":1\r\n");
    }
    SECTION("the key expires")
    {
        node.now += 50ms;
    }
    SECTION("the key is deleted")
    {
        CHECK(node.ask({"DEL", "q"}) == ":1\r\n");
    }
    SECTION("all keys are deleted")
    {
        CHECK(node.ask({"FLUSHALL"}).starts_with(wire::ok));
    }
    CHECK(node.ask({"EXISTS", "q"}) == ":0\r\n");
    CHECK(node.ask({"ZCARD", "q"}) == ":0\r\n");
    CHECK(node.ask({"ZRANGE", "q", "0", "-1"}) == "*0\r\n");
    CHECK(node.ask({"SET", "q", "v"}) == wire::ok);
    CHECK(node.ask({"TYPE", "q"}) == "+string\r\n");
}
