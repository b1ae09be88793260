#include "base/settings.hpp"
#include "resp/scripts.hpp"
#include "support/locks.hpp"
#include "support/resp_client.hpp"
#include "support/server.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

using namespace redlock;
using namespace redlock::test;
using namespace std::chrono_literals;

// Tests of the queue's scripts on real servers, each script by itself.
namespace {

const std::string lock_key = "r";
const std::string queue_key = lock_key + std::string(base::queue_suffix);

std::string ticket_key(std::string_view ticket)
{
    return lock_key + ":" + std::string(ticket) + std::string(base::ticket_suffix);
}

/// The script's answer to a ticket.
struct ticket_place {
    std::int64_t before = 0;
    std::string nearest;
    std::int64_t lock_ttl = 0;
    std::int64_t number = 0;
    std::int64_t removed = 0;
};

/// A server with the queue of one lock.
class queue_server {
public:
    explicit queue_server(server_options options) : node(std::move(options)) {}

    reply run(const resp::script& s, const std::vector<std::string>& keys,
              const std::vector<std::string>& args)
    {
        std::vector<std::string> command{"EVAL", std::string(s.text), std::to_string(keys.size())};
        command.insert(command.end(), keys.begin(), keys.end());
        command.insert(command.end(), args.begin(), args.end());
        return user ? user->ask(command) : node.ask(command);
    }

    reply ask_for_place(const std::string& ticket, std::int64_t number = 0,
                        std::size_t still_before = 0)
    {
        return run(resp::queue_script, {lock_key, queue_key},
                   {ticket, "100000", std::to_string(number), std::to_string(still_before)});
    }

    ticket_place place(const std::string& ticket, std::int64_t number = 0,
                       std::size_t still_before = 0)
    {
        const reply r = ask_for_place(ticket, number, still_before);
        CAPTURE(r.str());
        REQUIRE(r.items.size() == 5);
        for (const std::size_t i : {0U, 2U, 3U, 4U}) {
            REQUIRE(r.items[i].type == reply::kind::integer);
        }
        REQUIRE(r.items[1].type == reply::kind::bulk);
        return {r.items[0].integer, r.items[1].text, r.items[2].integer, r.items[3].integer,
                r.items[4].integer};
    }

    reply leave(const std::string& ticket)
    {
        return run(resp::leave_script, {lock_key, queue_key}, {ticket});
    }

    reply state() { return run(resp::queue_state_script, {queue_key}, {}); }

    /// All tickets in their order, `[a, b]`.
    [[nodiscard]] std::string order() const
    {
        return node.command({"ZRANGE", queue_key, "0", "-1"});
    }

    void make_member(const std::string& name, const std::string& score) const
    {
        REQUIRE(node.command({"ZADD", queue_key, score, name}) == "1");
    }

    void lose_key(std::string_view ticket) const
    {
        REQUIRE(node.command({"DEL", ticket_key(ticket)}) == "1");
    }

    /// Leaves a key less than half of its ttl.
    void age_key(std::string_view ticket) const
    {
        REQUIRE(node.command({"PEXPIRE", ticket_key(ticket), "45000"}) == "1");
    }

    [[nodiscard]] std::chrono::milliseconds ttl(std::string_view ticket) const
    {
        return node.pttl(ticket_key(ticket));
    }

    /// In microseconds.
    [[nodiscard]] std::int64_t date() const
    {
        const reply time = node.ask({"TIME"});
        return std::stoll(time.items.at(0).text) * 1'000'000 + std::stoll(time.items.at(1).text);
    }

    server node;
    /// The connection for the scripts, if another user than the default one runs them.
    std::unique_ptr<resp_client> user;
};

/// A connection that gets notifications of the keys it asks for, as a client of the library does.
class watching_client {
public:
    explicit watching_client(const server& node) : connection_(node.connect())
    {
        (void)connection_->ask({"HELLO", "3"});
        REQUIRE(connection_->ask({"CLIENT", "TRACKING", "ON", "OPTIN", "NOLOOP"}).str() == "OK");
    }

    void watch(const std::string& key)
    {
        REQUIRE(connection_->ask({"CLIENT", "CACHING", "YES"}).str() == "OK");
        REQUIRE(connection_->ask({"PTTL", key}).type == reply::kind::integer);
    }

    /// The key of the notification that has come since the last call, or nothing.
    std::optional<std::string> notified()
    {
        // A push comes before the reply to a later command.
        const reply first = connection_->ask({"PING"});
        if (first.type != reply::kind::push) {
            return std::nullopt;
        }
        REQUIRE(connection_->read().text == "PONG");
        return first.items.at(1).items.at(0).text;
    }

private:
    std::unique_ptr<resp_client> connection_;
};

bool has_whole_ttl(const queue_server& q, std::string_view ticket)
{
    return q.ttl(ticket) > 80s && q.ttl(ticket) <= 100s;
}

}  // namespace

TEST_CASE("the queue script gives tickets the order in which they came", "[servers][scripts]")
{
    queue_server q({.kind = each_kind()});
    const std::int64_t began = q.date();
    std::int64_t last = began - 1;
    std::string before;
    for (const std::string ticket : {"c", "a", "b"}) {
        const ticket_place p = q.place(ticket);
        CHECK(p.before == (before.empty() ? 0 : before == "c" ? 1 : 2));
        CHECK(p.nearest == before);
        CHECK(p.lock_ttl == -2);
        CHECK(p.number > last);
        CHECK(p.removed == 0);
        CHECK(has_whole_ttl(q, ticket));
        CHECK(q.node.pttl(queue_key) > 150s);
        CHECK(q.node.pttl(queue_key) <= 200s);
        last = p.number;
        before = ticket;
    }
    CHECK(last <= q.date());
    CHECK(q.order() == "[c, a, b]");
    // A ticket keeps its place and its number.
    REQUIRE(q.node.command({"SET", lock_key, "token", "NX", "PX", "100000"}) == "OK");
    const ticket_place again = q.place("b");
    CHECK(again.before == 2);
    CHECK(again.nearest == "a");
    CHECK(again.number == last);
    CHECK(again.lock_ttl > 50'000);
    CHECK(again.lock_ttl <= 100'000);
    REQUIRE(q.node.command({"PERSIST", lock_key}) == "1");
    CHECK(q.place("b").lock_ttl == -1);
    CHECK(q.order() == "[c, a, b]");
}

TEST_CASE("the queue script gives a new ticket a number above the last one", "[servers][scripts]")
{
    queue_server q({.kind = each_kind()});
    // The clock of the node was an hour ahead when the last ticket came.
    const std::int64_t ahead = q.date() + 3'600'000'000;
    q.place("a", ahead);
    CHECK(q.place("b").number == ahead + 1);
    CHECK(q.place("c").number == ahead + 2);
    CHECK(q.order() == "[a, b, c]");
    CHECK(q.state().str() == "[3, 0]");
}

TEST_CASE("the queue script gives a ticket that comes back the place of its number",
          "[servers][scripts]")
{
    queue_server q({.kind = each_kind()});
    const std::int64_t first = q.place("a").number;
    const std::int64_t second = q.place("b").number;
    REQUIRE(q.leave("a").integer == 1);
    const ticket_place back = q.place("a", first);
    CHECK(back.before == 0);
    CHECK(back.number == first);
    // A number of another node is as good.
    const ticket_place stranger = q.place("c", first - 5);
    CHECK(stranger.before == 0);
    CHECK(stranger.number == first - 5);
    CHECK(q.place("a", first).nearest == "c");
    // Equal numbers have the order of their tickets.
    CHECK(q.place("d", second).nearest == "b");
    CHECK(q.order() == "[c, a, b, d]");
    // A ticket that is there keeps its number.
    CHECK(q.place("d", 1).number == second);
    CHECK(q.order() == "[c, a, b, d]");
}

TEST_CASE("the queue script notifies the client after a ticket only if the ticket's key ages",
          "[servers][scripts]")
{
    queue_server q({.kind = each_kind()});
    watching_client next(q.node);
    q.place("a");
    q.place("b");
    next.watch(ticket_key("a"));
    CHECK(q.place("a").before == 0);
    CHECK(q.place("a").before == 0);
    CHECK_FALSE(next.notified());
    CHECK(q.place("b").before == 1);
    CHECK_FALSE(next.notified());

    q.age_key("a");
    CHECK(next.notified() == ticket_key("a"));
    next.watch(ticket_key("a"));
    CHECK(q.place("a").before == 0);
    CHECK(has_whole_ttl(q, "a"));
    CHECK(next.notified() == ticket_key("a"));

    next.watch(ticket_key("a"));
    CHECK(q.leave("a").integer == 1);
    CHECK(next.notified() == ticket_key("a"));
    CHECK(q.place("b").before == 0);
}

TEST_CASE("the queue script removes the dead tickets directly before one", "[servers][scripts]")
{
    queue_server q({.kind = each_kind()});
    for (const char* ticket : {"a", "b", "c", "d", "e"}) {
        q.place(ticket);
    }
    for (const char* ticket : {"a", "c", "d"}) {
        q.lose_key(ticket);
    }
    const ticket_place last = q.place("e");
    CHECK(last.before == 2);
    CHECK(last.nearest == "b");
    CHECK(last.removed == 2);
    CHECK(q.order() == "[a, b, e]");
    CHECK(q.place("b").removed == 1);
    CHECK(q.order() == "[b, e]");
    // A client whose key has expired keeps its place until another client asks.
    q.lose_key("b");
    CHECK(q.place("b").before == 0);
    CHECK(has_whole_ttl(q, "b"));
    CHECK(q.place("e").nearest == "b");
}

TEST_CASE("the queue script removes at most 100 dead tickets at once", "[servers][scripts]")
{
    queue_server q({.kind = each_kind()});
    for (int i = 1; i <= 150; ++i) {
        q.make_member("dead" + std::to_string(i), std::to_string(i));
    }
    const ticket_place first = q.place("a");
    CHECK(first.before == 50);
    CHECK(first.nearest.empty());
    CHECK(first.removed == 100);
    const ticket_place second = q.place("a");
    CHECK(second.before == 0);
    CHECK(second.nearest.empty());
    CHECK(second.removed == 50);
    CHECK(second.number == first.number);
    CHECK(q.order() == "[a]");
}

TEST_CASE("the queue script moves a queue on that does not move while the lock is free",
          "[servers][scripts]")
{
    queue_server q({.kind = each_kind()});
    for (const char* ticket : {"a", "b", "c", "d"}) {
        q.place(ticket);
    }
    watching_client second(q.node);
    watching_client fourth(q.node);
    second.watch(ticket_key("a"));
    fourth.watch(ticket_key("c"));
    SECTION("the lock exists")
    {
        REQUIRE(q.node.command({"SET", lock_key, "token", "PX", "100000"}) == "OK");
        CHECK(q.place("d", 0, 3).before == 3);
        for (const char* ticket : {"a", "b", "c", "d"}) {
            CHECK(has_whole_ttl(q, ticket));
        }
        CHECK_FALSE(second.notified());
        CHECK_FALSE(fourth.notified());
    }
    SECTION("the client does not say that the queue does not move")
    {
        CHECK(q.place("d").before == 3);
        CHECK_FALSE(second.notified());
        CHECK_FALSE(fourth.notified());
    }
    SECTION("the last one says so, but the queue has moved since")
    {
        REQUIRE(q.leave("b").integer == 3);
        CHECK(q.place("d", 0, 3).before == 2);
        CHECK(has_whole_ttl(q, "a"));
        CHECK(has_whole_ttl(q, "c"));
    }
    SECTION("the first one says so")
    {
        CHECK(q.place("a", 0, 0).before == 0);
        CHECK(has_whole_ttl(q, "a"));
    }
    SECTION("the last one says so")
    {
        const ticket_place last = q.place("d", 0, 3);
        CHECK(last.before == 3);
        CHECK(last.nearest == "c");
        CHECK(last.removed == 0);
        CHECK_FALSE(q.node.exists(ticket_key("a")));
        // The keys expire after a second, and the machine may pause that long.
        CHECK(q.ttl("b") <= 1s);
        CHECK(q.ttl("c") <= 1s);
        CHECK(has_whole_ttl(q, "d"));
        CHECK(second.notified() == ticket_key("a"));
        CHECK(fourth.notified() == ticket_key("c"));
        // A client that still runs asks again, and so its ticket lives on.
        q.place("b");
        CHECK(has_whole_ttl(q, "b"));
        CHECK(q.order() == "[b, c, d]");
        q.place("c");
        CHECK(has_whole_ttl(q, "c"));
        CHECK(q.place("d").nearest == "c");
        CHECK(q.order() == "[b, c, d]");
    }
    SECTION("the keys already have less than a second")
    {
        REQUIRE(q.node.command({"PEXPIRE", ticket_key("b"), "500"}) == "1");
        q.place("d", 0, 3);
        CHECK(q.ttl("b") <= 500ms);
    }
    SECTION("a key has no ttl")
    {
        REQUIRE(q.node.command({"PERSIST", ticket_key("b")}) == "1");
        q.place("d", 0, 3);
        CHECK(q.ttl("b") <= 1s);
        CHECK(q.ttl("b") != -1ms);
    }
}

TEST_CASE("the queue script shortens the keys of 100 tickets after the first one at most",
          "[servers][scripts]")
{
    queue_server q({.kind = each_kind()});
    for (int i = 1; i <= 103; ++i) {
        const std::string ticket = "t" + std::to_string(i);
        q.place(ticket, i);
    }
    CHECK(q.place("a", 0, 103).nearest == "t103");
    CHECK_FALSE(q.node.exists(ticket_key("t1")));
    CHECK(q.ttl("t2") <= 1s);
    CHECK(q.ttl("t101") <= 1s);
    CHECK(has_whole_ttl(q, "t102"));
    CHECK(has_whole_ttl(q, "t103"));
}

TEST_CASE("the queue script survives garbage in the queue", "[servers][scripts]")
{
    queue_server q({.kind = each_kind()});
    q.make_member("first", "-inf");
    q.make_member("", "1");
    q.make_member("zero\r\n", "1.5");
    q.make_member("last", "inf");
    CHECK(q.state().str() == "[4, 1000000000000000]");
    const std::int64_t began = q.date();
    const ticket_place own = q.place("a");
    CHECK(own.before == 0);
    CHECK(own.removed == 3);
    CHECK(own.number >= began);
    CHECK(own.number <= q.date());
    CHECK(q.place("b").nearest == "a");
    CHECK(q.order() == "[a, b, last]");
    // A program that is no client keeps a member with a key of another type.
    REQUIRE(q.node.command({"HSET", ticket_key("x"), "f", "v"}) == "1");
    q.make_member("x", std::to_string(own.number));
    CHECK(q.place("b").nearest == "x");
    CHECK(q.place("c", 0, 2).nearest == "b");
    CHECK(q.ttl("x") <= 1s);
    CHECK(q.place("x", 1).number == own.number);
    CHECK(q.node.command({"TYPE", ticket_key("x")}) == "string");
}

TEST_CASE("the scripts of the queue write nothing if its key has another type",
          "[servers][scripts]")
{
    queue_server q({.kind = each_kind()});
    const auto put = GENERATE(std::vector<std::string>{"SET", queue_key, "v"},
                              std::vector<std::string>{"HSET", queue_key, "f", "v"});
    (void)q.node.command(put);
    for (const std::size_t still_before : {0U, 1U}) {
        CHECK(q.ask_for_place("a", 0, still_before).str().starts_with("-WRONGTYPE"));
    }
    REQUIRE(q.node.command({"SET", ticket_key("b"), "", "PX", "100000"}) == "OK");
    CHECK(q.leave("b").str().starts_with("-WRONGTYPE"));
    CHECK(q.leave("").str().starts_with("-WRONGTYPE"));
    CHECK(q.state().str().starts_with("-WRONGTYPE"));
    CHECK(q.node.command({"DBSIZE"}) == "2");
    CHECK(q.node.pttl(queue_key) == -1ms);
    CHECK(q.node.exists(ticket_key("b")));
}

TEST_CASE("the scripts of the queue need only the queue's key to have their type",
          "[servers][scripts]")
{
    queue_server q({.kind = each_kind()});
    REQUIRE(q.node.command({"HSET", lock_key, "f", "v"}) == "1");
    CHECK(q.place("a").lock_ttl == -1);
    CHECK(q.place("b", 0, 1).nearest == "a");
    CHECK(has_whole_ttl(q, "a"));
    CHECK(q.leave("a").integer == 1);
    CHECK(q.node.command({"TYPE", lock_key}) == "hash");
}

TEST_CASE("the queue script of a user with too few rights leaves at most a key with a ttl",
          "[servers][scripts]")
{
    queue_server q({.kind = each_kind()});
    const std::string missing = GENERATE("zadd", "pexpire", "zrank", "zrange", "time", "set",
                                         "pttl", "zrem", "zcard", "del");
    CAPTURE(missing);
    REQUIRE(q.node.command({"ACL", "SETUSER", "waiter", "reset", "on", "nopass", "~r:*", "~r",
                            "+@all", "-" + missing}) == "OK");
    q.user = q.node.connect();
    REQUIRE(q.user->ask({"AUTH", "waiter", "any"}).str() == "OK");
    const reply first = q.ask_for_place("a");
    if (missing == "zrem" || missing == "zcard" || missing == "del") {
        CHECK_FALSE(first.is_error());
        CHECK(q.leave("a").is_error());
        return;
    }
    CHECK(first.str().starts_with("-"));
    CHECK_FALSE(q.node.exists(queue_key));
    const bool leaves_a_key = missing == "zadd" || missing == "pexpire";
    CHECK(q.node.exists(ticket_key("a")) == leaves_a_key);
    CHECK((!leaves_a_key || has_whole_ttl(q, "a")));
    CHECK(q.node.command({"DBSIZE"}) == (leaves_a_key ? "1" : "0"));
}

TEST_CASE("the queue script of a user without rights to the tickets' keys writes nothing",
          "[servers][scripts]")
{
    queue_server q({.kind = each_kind()});
    REQUIRE(q.node.command({"ACL", "SETUSER", "waiter", "reset", "on", "nopass", "~r",
                            "~" + queue_key, "+@all"}) == "OK");
    q.user = q.node.connect();
    REQUIRE(q.user->ask({"AUTH", "waiter", "any"}).str() == "OK");
    CHECK(q.ask_for_place("a").is_error());
    CHECK(q.node.command({"DBSIZE"}) == "0");
}

TEST_CASE("a full server adds no ticket to a queue and keeps the others", "[servers][scripts]")
{
    queue_server q({.kind = each_kind()});
    q.place("a");
    q.age_key("a");
    REQUIRE(q.node.command({"CONFIG", "SET", "maxmemory", "1"}) == "OK");
    CHECK(q.ask_for_place("b").str().starts_with("-OOM"));
    CHECK_FALSE(q.node.exists(ticket_key("b")));
    CHECK(q.order() == "[a]");
    CHECK(q.place("a").before == 0);
    CHECK(has_whole_ttl(q, "a"));
    CHECK(q.state().items.at(0).integer == 1);
    CHECK(q.leave("a").integer == 0);
    CHECK(q.node.command({"DBSIZE"}) == "0");
}

TEST_CASE("the scripts return how many clients wait and for how long the first one has waited",
          "[servers][scripts]")
{
    queue_server q({.kind = each_kind()});
    CHECK(q.state().str() == "[0, -1]");
    CHECK(q.leave("").integer == 0);
    CHECK(q.leave("a").integer == 0);
    const std::int64_t age_ms = 7'200'000;
    q.place("a", q.date() - age_ms * 1000);
    q.place("b");
    const reply state = q.state();
    REQUIRE(state.items.size() == 2);
    CHECK(state.items[0].integer == 2);
    CHECK(state.items[1].integer >= age_ms);
    // The machine may pause for an hour before this test fails.
    CHECK(state.items[1].integer < age_ms * 3 / 2);
    CHECK(q.leave("").integer == 2);
    CHECK(q.order() == "[a, b]");
    CHECK(q.leave("a").integer == 1);
    CHECK(q.leave("a").integer == 1);
    CHECK_FALSE(q.node.exists(ticket_key("a")));
    CHECK(q.leave("b").integer == 0);
    CHECK(q.node.command({"DBSIZE"}) == "0");
}
