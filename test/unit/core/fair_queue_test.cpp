#include "base/settings.hpp"
#include "watch_world.hpp"

#include <redlock/reentrant_owner.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

using namespace redlock;
using namespace redlock::test;
using core::wait_state;

// The order between clients: each client that waits takes a ticket at one node.

namespace {

using names = std::vector<std::string>;
using counts = std::vector<std::size_t>;

// Tickets of other clients.
const std::string ticket_a(16, 'a');
const std::string ticket_b(16, 'b');

std::string key_of(const std::string& ticket, const std::string& resource = "r")
{
    return resource + ":" + ticket + std::string(base::ticket_suffix);
}

std::string queue_of(const std::string& resource)
{
    return resource + std::string(base::queue_suffix);
}

/// Says that a key is gone.
std::string push_of(const std::string& key)
{
    return ">2\r\n$10\r\ninvalidate\r\n*1\r\n$" + std::to_string(key.size()) + "\r\n" + key +
           "\r\n";
}

/// All nodes have "r" for a stranger.
struct queue_world : watch_world {
    explicit queue_world(redlock::config c = {}) : watch_world(std::move(c)) { take_all(); }

    /// Another client takes a ticket at the node that all clients prefer, or asks for its place.
    void join(const std::string& ticket, const std::string& resource = "r",
              std::chrono::milliseconds ttl = 30s, int number = 0)
    {
        run(resp::queue_script, resource,
            {ticket, std::to_string(ttl.count()), std::to_string(number), "0"});
    }
    /// Another client gives its ticket back.
    void leave(const std::string& ticket, const std::string& resource = "r")
    {
        run(resp::leave_script, resource, {ticket});
    }
    /// The tickets at the node, in their order.
    [[nodiscard]] names queue(unsigned node, const std::string& resource = "r") const
    {
        names all;
        if (const auto* const e = peers[node]->master.find(now, queue_of(resource))) {
            std::ranges::transform(e->tickets, std::back_inserter(all),
                                   &model_master::ticket::name);
        }
        return all;
    }
    /// At the node that all clients prefer for "r".
    [[nodiscard]] names queue() const { return queue(order[0]); }

    /// The commands with this script to the node, as text and by its digest.
    [[nodiscard]] std::vector<words> calls_of(const resp::script& s, unsigned node) const
    {
        std::vector<words> all;
        std::ranges::copy_if(peers[node]->log, std::back_inserter(all), [&](const words& w) {
            return w.size() > 1 && (w[1] == s.text || w[1] == s.sha1);
        });
        return all;
    }
    [[nodiscard]] std::vector<words> calls_of(const resp::script& s) const
    {
        return calls_of(s, order[0]);
    }
    /// How many of these commands have this last word.
    [[nodiscard]] std::size_t calls_of(const resp::script& s, std::string_view last) const
    {
        return static_cast<std::size_t>(
            std::ranges::count_if(calls_of(s), [&](const words& w) { return w.back() == last; }));
    }
    /// How often the client asked whether others wait, without a ticket.
    [[nodiscard]] std::size_t inquiries() const { return calls_of(resp::leave_script, ""); }
    /// The preferred node replies this to the command that is on its way.
    void reply_falsely(const std::string& bytes)
    {
        first().arriving.pop_back();
        advance(round_trip);
        first().coming.push_back({now, bytes});
        settle();
    }
    /// How long the client waits between polls, on average over ten of them.
    [[nodiscard]] nanos poll_interval()
    {
        const instant then = now;
        const std::uint64_t before = told().polls;
        for (int i = 0; i < 100'000 && told().polls < before + 10; ++i) {
            advance(10ms);
        }
        return (now - then) / 10;
    }

private:
    void run(const resp::script& s, const std::string& resource, const words& arguments)
    {
        words command{"EVAL", std::string(s.text), "2", resource, queue_of(resource)};
        command.insert(command.end(), arguments.begin(), arguments.end());
        (void)peers[order_for(resource)[0]]->master.execute(now, other, command);
        settle();
    }
};

[[nodiscard]] std::string own_ticket(const call& c)
{
    return c.done() ? std::string() : std::string(c.op->wait.own.name());
}

}  // namespace

// A place in the queue.

TEST_CASE("a refused acquire takes a ticket at one node and waits for the end of the ticket before",
          "[core][fair_queue]")
{
    queue_world w;
    w.join(ticket_a);
    w.join(ticket_b);
    call& c = w.waiting();
    const std::string own = own_ticket(c);
    CHECK(w.queue() == names{ticket_a, ticket_b, own});
    CHECK(w.calls_of(resp::queue_script) ==
          std::vector<words>{{"EVAL", std::string(resp::queue_script.text), "2", "r",
                              "r:redlock:queue", own, "30000", "0", "0"}});
    CHECK(w.last(w.order[0], 3) == names{"CLIENT TRACKING ON OPTIN NOLOOP", "CLIENT CACHING YES",
                                         "PTTL " + key_of(ticket_b)});
    // A SET and a release for each node, and these four.
    CHECK(w.all_commands() == 6 + 4);
    CHECK(w.told().tickets == 1);
    CHECK(w.told().ticket_positions == 2);
    w.advance(300ms);
    CHECK(w.all_commands() == 6 + 4);
}

TEST_CASE("a node that has run the script of the queue gets its digest", "[core][fair_queue]")
{
    queue_world w;
    w.join(ticket_a);
    w.join(ticket_b);
    (void)w.waiting();
    w.leave(ticket_b);
    w.advance(2 * round_trip);
    REQUIRE(w.calls_of(resp::queue_script).size() == 2);
    CHECK(w.calls_of(resp::queue_script)[1][0] == "EVALSHA");
    SECTION("and the text again after a new connection")
    {
        w.close(w.order[0]);
        w.advance(500ms);
        CHECK(w.calls_of(resp::queue_script).back()[0] == "EVAL");
    }
    SECTION("and the text again once it has forgotten the script")
    {
        w.flush_scripts();
        w.advance(500ms + 2 * round_trip);  // a poll
        REQUIRE(w.calls_of(resp::queue_script).size() == 4);
        CHECK(w.calls_of(resp::queue_script)[3][0] == "EVAL");
        CHECK(w.calls.back().op->wait.is_watched);
    }
}

TEST_CASE("a waiter moves up when the ticket before it goes, and the first one waits for the lock",
          "[core][fair_queue]")
{
    queue_world w;
    w.join(ticket_a);
    w.join(ticket_b);
    call& c = w.waiting();
    w.leave(ticket_b);
    w.advance(way + 2 * round_trip);
    CHECK(w.last(w.order[0], 1) == names{"PTTL " + key_of(ticket_a)});
    w.leave(ticket_a);
    w.advance(way + 2 * round_trip);
    CHECK(w.last(w.order[0], 1) == names{"PTTL r"});
    CHECK(c.op->wait.at == wait_state::stage::first);
    CHECK(w.sets() == counts{1, 1, 1});

    const instant then = w.now;
    w.give_back_all();
    w.advance(2 * round_trip);
    REQUIRE(c.held != nullptr);
    CHECK(c.held->granted == 0b111);
    // The push and the attempt.
    CHECK(c.ended - then == way + round_trip);
    CHECK(w.sets() == counts{2, 2, 2});
    CHECK(w.told().notified_attempts_granted == 1);
    CHECK(w.told().polls == 0);
}

TEST_CASE("a waiter moves up at once if the ticket before it vanished before a node tracked it",
          "[core][fair_queue]")
{
    queue_world w;
    w.join(ticket_a);
    call& c = w.acquire("r", {.timeout = 60s});
    w.advance_until([&] { return w.count(w.order[0], "PTTL") == 1; });
    w.leave(ticket_a);
    w.advance(round_trip + 2 * round_trip);
    CHECK(c.op->wait.at == wait_state::stage::first);
    CHECK(w.told().polls == 0);
}

TEST_CASE("a waiter that hears of a change of the ticket before it goes on waiting behind it",
          "[core][fair_queue]")
{
    queue_world w;
    w.join(ticket_a);
    call& c = w.waiting();
    const std::size_t places = w.calls_of(resp::queue_script).size();
    // The other client has renewed it.
    w.first().master.write(key_of(ticket_a), {.value = {}, .end = w.now + 30s});
    w.advance(way + 2 * round_trip);
    CHECK(w.calls_of(resp::queue_script).size() == places + 1);
    CHECK(c.op->wait.at == wait_state::stage::behind);
    CHECK(c.op->wait.is_watched);
    CHECK(w.told().tickets == 1);
}

TEST_CASE("a waiter that becomes the first one while the lock is free asks all nodes at once",
          "[core][fair_queue]")
{
    queue_world w;
    w.join(ticket_a);
    call& c = w.waiting();
    w.give_back_all();
    w.advance(50ms);
    CHECK(w.sets() == counts{1, 1, 1});
    const instant then = w.now;
    w.leave(ticket_a);
    w.advance(3 * round_trip);
    REQUIRE(c.held != nullptr);
    CHECK(c.ended - then == way + 2 * round_trip);
}

TEST_CASE("an acquire that is granted gives its ticket back with one command", "[core][fair_queue]")
{
    queue_world w;
    call& c = w.waiting();
    const std::string own = own_ticket(c);
    const std::size_t before = w.all_commands();
    w.give_back_all();
    w.advance(2 * round_trip);
    REQUIRE(c.held != nullptr);
    CHECK(w.all_commands() - before == 3 + 1);
    CHECK(w.first().log.back() ==
          words{"EVAL", std::string(resp::leave_script.text), "2", "r", "r:redlock:queue", own});
    CHECK(w.queue().empty());
    CHECK(w.keys() == 3);
    CHECK(w.core->fair_queue().size() == 0);
}

TEST_CASE("an acquire that no other client delays sends no command of the queue",
          "[core][fair_queue]")
{
    watch_world w;
    call& c = w.acquire("r", {.timeout = 60s});
    w.advance(round_trip);
    REQUIRE(c.held != nullptr);
    w.drop(*c.held);
    w.advance(1s);
    CHECK(w.all_commands() == 3 + 3);
}

TEST_CASE("a waiter that leaves gives its ticket back with one command", "[core][fair_queue]")
{
    queue_world w;
    w.join(ticket_a);
    call& c = w.waiting({.timeout = 200ms});
    const std::size_t before = w.all_commands();
    SECTION("after its cancellation")
    {
        w.cancel(c);
    }
    SECTION("after its timeout")
    {
        w.advance(c.begun + 200ms - w.now);
    }
    CHECK(c.done());
    w.advance(round_trip);
    CHECK(w.all_commands() == before + 1);
    CHECK(w.queue() == names{ticket_a});
    CHECK(w.first().master.value(w.now, key_of(ticket_a)).empty());
    CHECK(w.core->fair_queue().size() == 0);
}

TEST_CASE("a waiter that no majority answers any more gives its ticket back", "[core][fair_queue]")
{
    queue_world w;
    (void)w.waiting();
    w.lose(w.order[1]);
    w.lose(w.order[2]);
    w.advance(2s);  // a poll
    CHECK(w.queue().empty());
    CHECK(w.core->fair_queue().size() == 0);
}

TEST_CASE("another waiter of the client takes over the ticket of one that leaves",
          "[core][fair_queue]")
{
    queue_world w;
    w.join(ticket_a);
    call& c = w.acquire("r", {.timeout = 60s});
    call& next = w.acquire("r", {.timeout = 60s});
    // At once after the first waiter has asked for its place, or later.
    const bool is_placed = GENERATE(false, true);
    w.advance(is_placed ? 3 * round_trip : round_trip + way);
    const std::string own = own_ticket(c);
    w.cancel(c);
    w.advance(3 * round_trip);
    CHECK(own_ticket(next) == own);
    CHECK(w.queue() == names{ticket_a, own});
    CHECK(w.calls_of(resp::leave_script).empty());
    CHECK(w.told().attempts == 1);
    w.give_back_all();
    w.leave(ticket_a);
    w.advance(3 * round_trip);
    CHECK(next.held != nullptr);
}

// Clients that use a lock again and again.

TEST_CASE("a client that others wait for takes a ticket before it asks for the lock again",
          "[core][fair_queue]")
{
    queue_world w;
    call& c = w.waiting();
    w.join(ticket_a);
    w.give_back_all();
    w.advance(3 * round_trip);
    REQUIRE(c.held != nullptr);
    const counts asked = w.sets();
    call* again = nullptr;
    SECTION("by a waiter of its own")
    {
        again = &w.acquire("r", {.timeout = 60s});
        w.drop(*c.held);
    }
    SECTION("by an acquire soon afterwards")
    {
        w.drop(*c.held);
        w.advance(100ms);
        again = &w.acquire("r", {.timeout = 60s});
    }
    SECTION("by an acquire soon after it has held the lock for long")
    {
        w.advance(5s);
        w.join(ticket_a);
        w.drop(*c.held);
        w.advance(100ms);
        again = &w.acquire("r", {.timeout = 60s});
    }
    REQUIRE(again != nullptr);
    w.advance(2 * round_trip);
    CHECK(w.sets() == asked);
    CHECK(w.queue() == names{ticket_a, own_ticket(*again)});
    w.leave(ticket_a);
    w.advance(3 * round_trip);
    CHECK(again->held != nullptr);
}

TEST_CASE("a client forgets that others wait 100 ms after its last use", "[core][fair_queue]")
{
    queue_world w;
    call& c = w.waiting();
    w.join(ticket_a);
    w.give_back_all();
    w.advance(3 * round_trip);
    REQUIRE(c.held != nullptr);
    w.drop(*c.held);
    w.advance(100ms + 1us);
    call& again = w.acquire("r", {.timeout = 60s});
    w.advance(round_trip);
    CHECK(again.held != nullptr);
}

TEST_CASE("a client that uses the resource again before it knows of others takes a ticket",
          "[core][fair_queue]")
{
    queue_world w;
    call& c = w.waiting();
    w.join(ticket_a);
    w.give_back_all();
    w.advance_until([&] { return c.done(); });
    REQUIRE(c.held != nullptr);
    w.drop(*c.held);
    call& again = w.acquire("r", {.timeout = 60s});
    w.advance(2 * round_trip);
    CHECK(w.queue() == names{ticket_a, own_ticket(again)});
}

TEST_CASE("a poll that finds the same ticket before its own asks for no other notification",
          "[core][fair_queue]")
{
    queue_world w;
    w.join(ticket_a);
    w.join(ticket_b);
    call& c = w.waiting();
    const std::uint64_t requests = w.count(w.order[0], "CLIENT");
    w.advance_until([&] { return w.told().polls == 2; });
    w.advance(round_trip);
    CHECK(w.count(w.order[0], "CLIENT") == requests);
    SECTION("and gets the one that it has asked for")
    {
        w.leave(ticket_b);
        w.advance(round_trip + 1ms);
        CHECK(w.told().polls == 2);
        CHECK(c.op->wait.before == 1);
    }
    SECTION("unless the key was set again meanwhile")
    {
        w.advance_until([&] { return w.told().polls == 3; });
        w.join(ticket_b, "r", 20s);
        (void)w.first().master.execute(w.now, w.other, {"PEXPIRE", key_of(ticket_b), "20000"});
        w.settle();
        w.advance(2 * round_trip);
        CHECK(w.count(w.order[0], "CLIENT") == requests + 1);
    }
}

TEST_CASE("a client takes tickets for as long as others may come back to the queue",
          "[core][fair_queue]")
{
    queue_world w;
    nanos tickets_for{};
    call* c = nullptr;
    SECTION("one that it took for dead, at its next poll")
    {
        w.join(ticket_a);
        c = &w.waiting();
        w.give_back_all();
        w.advance(1s);
        tickets_for = w.settings.max_poll_interval;
    }
    SECTION("one that left without the lock, soon")
    {
        c = &w.waiting();
        w.join(ticket_a);
        w.give_back_all();
        w.advance(3 * round_trip);
        w.leave(ticket_a);
        tickets_for = 100ms;
    }
    REQUIRE(c != nullptr);
    REQUIRE(c->held != nullptr);
    const instant others_left = c->ended;
    while (w.now < others_left + 2 * tickets_for) {
        const std::uint64_t before = w.told().tickets;
        w.drop(*c->held);
        c = &w.acquire("r", {.timeout = 60s});
        w.advance(tickets_for / 20);
        REQUIRE(c->held != nullptr);
        const bool has_taken = w.told().tickets > before;
        if (c->begun < others_left + tickets_for * 9 / 10) {
            CHECK(has_taken);
        } else if (c->begun > others_left + tickets_for * 11 / 10) {
            CHECK_FALSE(has_taken);
        }
    }
}

TEST_CASE("a client that others wait for takes a ticket at the resource for which they wait",
          "[core][fair_queue][group]")
{
    const names both{"r", "s"};
    queue_world w;
    w.take_all(1h, "s");
    w.give_back_all();
    call& c = w.acquire(both, {.timeout = 60s});
    w.advance(5 * round_trip);
    w.join(ticket_a, "s");
    w.give_back_all("s");
    w.advance(3 * round_trip);
    REQUIRE(c.held != nullptr);
    w.drop(*c.held);
    const std::uint64_t attempts = w.told().attempts;
    call& again = w.acquire(both, {.timeout = 60s});
    w.advance(2 * round_trip);
    CHECK(w.told().attempts == attempts);
    CHECK(w.queue(w.order_for("s")[0], "s") == names{ticket_a, own_ticket(again)});
    w.leave(ticket_a, "s");
    w.advance(3 * round_trip);
    CHECK(again.held != nullptr);
}

TEST_CASE("an acquire that may not wait takes no ticket", "[core][fair_queue]")
{
    queue_world w;
    call& c = w.waiting();
    w.join(ticket_a);
    w.give_back_all();
    w.advance(3 * round_trip);
    REQUIRE(c.held != nullptr);
    w.drop(*c.held);
    w.with_report = true;
    call& again = w.acquire("r", {.timeout = 0ms});
    w.advance(round_trip);
    CHECK(again.held != nullptr);
    w.take_all(1h, "q");
    call& refused = w.acquire("q", {.timeout = 0ms});
    w.advance(round_trip);
    CHECK(refused.error == errc::contended);
    CHECK_FALSE(refused.report.clients_before.has_value());
    CHECK(w.told().tickets == 1);
}

TEST_CASE("a client that uses a lock without a break asks every 100 ms whether others wait",
          "[core][fair_queue]")
{
    queue_world w;
    w.give_back_all();
    const auto use = [&] {
        call& c = w.acquire("r", {.timeout = 60s});
        w.advance(8ms);
        REQUIRE(c.held != nullptr);
        w.drop(*c.held);
        w.advance(2ms);
    };
    for (int i = 0; i < 100; ++i) {
        use();
    }
    CHECK(w.inquiries() == 9);
    CHECK(w.told().tickets == 0);
    w.join(ticket_a);
    for (int i = 0; i < 100 && w.inquiries() == 9; ++i) {
        use();
    }
    const counts asked = w.sets();
    (void)w.acquire("r", {.timeout = 60s});
    w.advance(2 * round_trip);
    CHECK(w.sets() == asked);
    CHECK(w.queue().size() == 2);
}

TEST_CASE("a client that uses a lock with breaks does not ask whether others wait",
          "[core][fair_queue]")
{
    queue_world w;
    w.give_back_all();
    for (int i = 0; i < 10; ++i) {
        call& c = w.acquire("r", {.timeout = 60s});
        w.advance(50ms);
        REQUIRE(c.held != nullptr);
        w.drop(*c.held);
        w.advance(101ms);
    }
    CHECK(w.inquiries() == 0);
}

TEST_CASE("a client's own waiters are no reason for a ticket", "[core][fair_queue]")
{
    watch_world w;
    call& c = w.acquire("r");
    w.advance(round_trip);
    REQUIRE(c.held != nullptr);
    call& next = w.acquire("r", {.timeout = 60s});
    call& tries = w.acquire("r", {.timeout = 0ms});
    w.advance(round_trip);
    CHECK(tries.error == errc::contended);
    w.drop(*c.held);
    w.advance(round_trip);
    CHECK(next.held != nullptr);
    CHECK(w.told().tickets == 0);
}

// Polls.

TEST_CASE("a waiter that is first polls by an attempt, and another one by asking for its place",
          "[core][fair_queue]")
{
    queue_world w{{.ping_interval = 0ms}};
    const bool is_first = GENERATE(true, false);
    if (!is_first) {
        w.join(ticket_a);
    }
    (void)w.waiting();
    const std::size_t places = w.calls_of(resp::queue_script).size();
    w.advance(10s);
    const std::uint64_t polls = w.told().polls;
    CHECK(polls >= (is_first ? 10 : 20));
    CHECK(polls <= (is_first ? 14 : 27));
    CHECK(w.sets() == counts(3, is_first ? 1 + polls : 1));
    CHECK(w.calls_of(resp::queue_script).size() == places + polls);
    CHECK(w.told().notifications_missed == 0);
}

TEST_CASE("the more tickets are before a waiter, the longer it waits between polls",
          "[core][fair_queue]")
{
    const unsigned before = GENERATE(1u, 40u, 300u);
    queue_world w;
    for (unsigned i = 0; i < before; ++i) {
        const std::string number = std::to_string(i);
        w.join(std::string(16 - number.size(), 'a') + number, "r", 10min);
    }
    (void)w.waiting({.timeout = 1h});
    const nanos longest = before == 300 ? 900ms : 500ms;
    const nanos interval = w.poll_interval();
    CHECK(interval <= longest);
    CHECK(interval >= longest * 3 / 4);
}

TEST_CASE("a waiter waits 15 s at most between polls", "[core][fair_queue]")
{
    queue_world w{{.max_poll_interval = 1h}};
    if (GENERATE(false, true)) {
        w.join(ticket_a, "r", 1h);
        w.join(ticket_b, "r", 1h);
    }
    (void)w.waiting({.timeout = 1h});
    const nanos interval = w.poll_interval();
    CHECK(interval <= 15s);
    CHECK(interval >= 15s * 3 / 4);
}

TEST_CASE("a waiter that polls keeps its ticket", "[core][fair_queue]")
{
    queue_world w{{.max_poll_interval = 1h}};
    w.join(ticket_a, "r", 1h);
    call& c = w.waiting({.timeout = 1h});
    for (int i = 0; i < 60; ++i) {
        w.advance(5s);
        CHECK(w.first().master.find(w.now, key_of(own_ticket(c))) != nullptr);
    }
    CHECK(w.queue() == names{ticket_a, own_ticket(c)});
    CHECK(w.told().tickets == 1);
}

TEST_CASE("a poll that finds another ticket before its own shows a missed notification",
          "[core][fair_queue][silence]")
{
    queue_world w;
    w.join(ticket_a);
    w.join(ticket_b);
    (void)w.waiting();
    w.first().master.forget(w.first().speaks);
    w.leave(ticket_b);
    w.advance(1s);
    CHECK(w.told().notifications_missed == 1);
}

TEST_CASE("a waiter takes the first ticket for dead if the lock stays free for long",
          "[core][fair_queue]")
{
    queue_world w;
    w.join(ticket_a);
    call& c = w.waiting();
    w.give_back_all();
    const auto hints = [&] { return w.calls_of(resp::queue_script, "1"); };
    SECTION("and comes first")
    {
        w.advance(1s);
        REQUIRE(c.held != nullptr);
        CHECK(hints() == 1);
        CHECK(w.told().tickets_skipped == 1);
        CHECK(w.queue().empty());
        // One poll finds the lock free, the next one finds it still free.
        CHECK(c.ended - c.begun <= 500ms + 250ms + 6 * round_trip);
    }
    SECTION("unless the lock was held meanwhile")
    {
        w.advance_until([&] { return w.told().polls == 1; });
        w.advance(100ms);
        w.take_all();
        w.advance(2s);
        CHECK_FALSE(c.done());
        CHECK(hints() == 1);  // before the waiter knew
        CHECK(w.queue() == names{ticket_a, own_ticket(c)});
    }
}

TEST_CASE("a waiter begins to count the time of a free lock again if the queue moves",
          "[core][fair_queue]")
{
    queue_world w;
    w.join(ticket_a);
    w.join(ticket_b);
    call& c = w.waiting();
    w.give_back_all();
    w.advance_until([&] { return w.told().polls == 1; });
    w.advance(200ms);
    const bool moves_far_before = GENERATE(true, false);
    w.leave(moves_far_before ? ticket_a : ticket_b);
    w.advance(200ms);
    // The report that did not know of the move changes nothing.
    CHECK(w.calls_of(resp::queue_script, "2") == (moves_far_before ? 1 : 0));
    CHECK(w.calls_of(resp::queue_script, "1") == 0);
    CHECK(w.queue() == names{moves_far_before ? ticket_b : ticket_a, own_ticket(c)});
    w.advance(200ms);
    CHECK(w.calls_of(resp::queue_script, "1") == 1);
    CHECK(c.held != nullptr);
}

TEST_CASE("a waiter far back polls no more often if it finds the lock free while the queue moves",
          "[core][fair_queue]")
{
    queue_world w;
    const auto nth = [](int i) { return std::string(14, 'a') + std::to_string(10 + i); };
    for (int i = 0; i < 40; ++i) {
        w.join(nth(i));
    }
    (void)w.waiting();
    w.give_back_all();
    for (int i = 0; i < 30; ++i) {
        w.leave(nth(i));
        w.advance(100ms);
    }
    CHECK(w.told().polls >= 5);
    CHECK(w.told().polls <= 8);
}

TEST_CASE("a waiter is notified of the end of a ticket whose life its own question shortened",
          "[core][fair_queue]")
{
    queue_world w{{.max_poll_interval = 2s}};
    w.join(ticket_a);
    w.join(ticket_b);
    call& c = w.waiting();
    w.give_back_all();
    w.advance_until([&] { return w.told().polls == 1; });
    w.advance_until([&] { return w.calls_of(resp::queue_script, "2") == 1; });
    w.advance(1s + round_trip);
    w.first().master.expire(w.now);
    w.settle();
    w.advance(4 * round_trip);
    CHECK(c.held != nullptr);
}

TEST_CASE("a waiter with a long node timeout gives those before it as long for an attempt",
          "[core][fair_queue]")
{
    queue_world w({.node_timeout = 1s});
    w.join(ticket_a);
    call& c = w.waiting();
    w.give_back_all();
    w.advance(3s);
    CHECK(w.calls_of(resp::queue_script, "1") == 0);
    w.advance(1s);
    CHECK(c.held != nullptr);
}

TEST_CASE("a waiter gives those without notifications before it the time of a back-off",
          "[core][fair_queue]")
{
    queue_world w{{.node_timeout = 10ms,
                   .backoff_max = 400ms,
                   .release_notifications = false,
                   .max_poll_interval = 100ms}};
    w.join(ticket_a);
    (void)w.acquire("r", {.timeout = 60s});
    w.advance(3 * round_trip);
    w.give_back_all();
    w.advance(400ms);
    CHECK(w.calls_of(resp::queue_script, "1") == 0);
    w.advance(200ms);
    CHECK(w.calls_of(resp::queue_script, "1") == 1);
}

TEST_CASE("a waiter that made an attempt in vain waits for the ticket before its own to end",
          "[core][fair_queue]")
{
    queue_world w;
    call& c = w.waiting();
    w.give_back(w.order[0]);
    w.advance(1s);
    REQUIRE(c.op->wait.found_free);
    w.join(ticket_a, "r", 30s, 1);
    w.advance(10s);
    CHECK(w.calls_of(resp::queue_script, "1") == 0);
}

TEST_CASE("a waiter that comes to the second place without a notification finds a dead first one",
          "[core][fair_queue]")
{
    queue_world w;
    w.join(ticket_a);
    w.join(ticket_b);
    call& c = w.waiting();
    w.leave(ticket_a);
    w.give_back_all();
    w.advance(1s);
    REQUIRE(c.held != nullptr);
    CHECK(c.ended - c.begun <= 500ms + 250ms + 6 * round_trip);
}

TEST_CASE("a waiter whose ticket is directly after many dead ones passes all of them at once",
          "[core][fair_queue]")
{
    queue_world w;
    for (int i = 100; i < 350; ++i) {
        w.join(std::string(13, 'a') + std::to_string(i), "r", 1s);
    }
    w.advance(1500ms);
    call& c = w.acquire("r", {.timeout = 60s});
    w.advance(5 * round_trip);
    CHECK(w.queue() == names{own_ticket(c)});
    CHECK(c.op->wait.at == wait_state::stage::first);
    CHECK(w.calls_of(resp::queue_script).size() == 3);
    CHECK(w.told().tickets_skipped == 250);
}

TEST_CASE("a waiter directly after a ticket that no client has made asks at the longest back-off",
          "[core][fair_queue]")
{
    queue_world w;
    w.join("a stranger");
    call& c = w.acquire("r", {.timeout = 60s});
    w.advance(3 * round_trip);
    const std::size_t places = w.calls_of(resp::queue_script).size();
    w.advance(5s);
    const std::size_t asked = w.calls_of(resp::queue_script).size() - places;
    CHECK(asked <= 5000 / 250);
    CHECK(asked >= 15);
    w.leave("a stranger");
    w.give_back_all();
    w.advance(1s);
    CHECK(c.held != nullptr);
}

TEST_CASE("without notifications a waiter polls the more rarely the longer nothing moves",
          "[core][fair_queue]")
{
    queue_world w{{.release_notifications = false}};
    const bool is_second = GENERATE(true, false);
    if (!is_second) {
        w.join(ticket_b);
    }
    w.join(ticket_a);
    (void)w.acquire("r", {.timeout = 60s});
    w.advance(2 * round_trip);
    REQUIRE(w.calls_of(resp::queue_script).size() == 1);
    const int before = is_second ? 1 : 2;
    const nanos longest = w.settings.backoff_min + before * 3ms;
    const nanos at_first = std::min(before * 4 * round_trip, longest);
    w.advance(at_first * 3 / 4 - 1ns);
    CHECK(w.told().polls == 0);
    w.advance(at_first / 4 + 1ns);
    CHECK(w.told().polls == 1);
    w.advance(1s);
    const nanos interval = w.poll_interval();
    CHECK(interval <= longest + 2 * round_trip);
    CHECK(interval >= longest * 3 / 4);
    CHECK(w.sets() == counts{1, 1, 1});
    if (!is_second) {
        w.leave(ticket_b);
    }
    w.leave(ticket_a);
    w.advance(1s);
    CHECK(w.sets()[0] > 3);
    CHECK(w.queue().size() == 1);
}

TEST_CASE("a waiting leader shares the lock that its owner gets by another acquire at once",
          "[core][fair_queue][owner]")
{
    queue_world w{{.max_poll_interval = 1h}};
    const reentrant_owner me;
    call& leader = w.waiting({.timeout = 60s, .reentrant_owner = &me});
    const std::string ticket = own_ticket(leader);
    call& behind = w.acquire("r", {.timeout = 60s});
    w.advance(round_trip);
    // The key that the leader waits for is on the queue node alone now.
    w.give_back(w.order[1]);
    w.give_back(w.order[2]);
    call& quick = w.acquire("r", {.timeout = 0s, .reentrant_owner = &me});
    w.advance(2 * round_trip);
    REQUIRE(quick.held != nullptr);
    REQUIRE(leader.held != nullptr);
    CHECK(leader.held->within == quick.held);
    // The next waiter of the client takes over the place.
    CHECK(own_ticket(behind) == ticket);
    CHECK(w.queue() == names{ticket});
}

// Several resources.

TEST_CASE("a waiter for several resources keeps its place while another one is in its way",
          "[core][fair_queue][group]")
{
    queue_world w;
    call& c = w.acquire(names{"r", "s"}, {.timeout = 60s});
    w.advance(5 * round_trip);
    CHECK(w.queue() == names{own_ticket(c)});
    w.take_all(1h, "s");
    w.give_back_all();
    w.advance(4 * round_trip);
    const unsigned of_s = w.order_for("s")[0];
    CHECK(w.queue() == names{own_ticket(c)});
    CHECK(w.queue(of_s, "s") == names{own_ticket(c)});
    w.take_all();
    w.join(ticket_a);
    w.give_back_all("s");
    w.advance(4 * round_trip);
    CHECK(w.queue(of_s, "s") == names{own_ticket(c)});
    CHECK(w.queue() == names{own_ticket(c), ticket_a});
    CHECK(w.told().tickets == 1);
    SECTION("until it has both")
    {
        w.give_back_all();
        w.advance(4 * round_trip);
        CHECK(c.held != nullptr);
    }
    SECTION("until it ends")
    {
        w.cancel(c);
        w.advance(round_trip);
    }
    CHECK(w.queue(of_s, "s").empty());
    CHECK(w.queue() == names{ticket_a});
}

TEST_CASE("a ticket of the same client that goes wakes the waiter after it",
          "[core][fair_queue][group]")
{
    // The server does not notify a client of its own commands.
    queue_world w{{.max_poll_interval = 1h}};
    call& before = w.acquire(names{"r", "s"}, {.timeout = 60s});
    w.advance(5 * round_trip);
    call& c = w.acquire("r", {.timeout = 60s});
    w.advance(3 * round_trip);
    REQUIRE(w.queue() == names{own_ticket(before), own_ticket(c)});
    CHECK(c.op->wait.at == wait_state::stage::behind);
    w.cancel(before);
    w.advance(round_trip);
    CHECK(w.queue() == names{own_ticket(c)});
    CHECK(c.op->wait.at == wait_state::stage::first);
    CHECK(w.told().polls == 0);
}

TEST_CASE("a ticket of the same client that goes while the next waiter asks for its place wakes it",
          "[core][fair_queue][group]")
{
    queue_world w;
    call& before = w.acquire(names{"r", "s"}, {.timeout = 60s});
    w.advance(5 * round_trip);
    call& c = w.acquire("r", {.timeout = 60s});
    w.advance(3 * round_trip);
    w.advance_until([&] { return c.op->wait.at == wait_state::stage::asked; });
    w.cancel(before);
    w.advance(4 * round_trip);
    CHECK(w.queue() == names{own_ticket(c)});
    CHECK(c.op->wait.at == wait_state::stage::first);
}

// Nodes.

TEST_CASE("clients with their nodes in any order agree on the node of a queue",
          "[core][fair_queue]")
{
    names urls = node_urls(5);
    names chosen;
    for (int turn = 0; turn < 5; ++turn) {
        watch_world w{{.nodes = urls}, 5};
        w.take_all();
        (void)w.waiting();
        for (unsigned i = 0; i < 5; ++i) {
            if (w.count(i, "CLIENT") > 0) {
                chosen.push_back(urls[i]);
            }
        }
        std::ranges::rotate(urls, urls.begin() + 1);
    }
    CHECK(chosen == names(5, chosen.front()));
}

TEST_CASE("the queues of many resources are spread over the nodes", "[core][fair_queue]")
{
    const watch_world w{{}, 5};
    counts each(5);
    for (int i = 0; i < 1000; ++i) {
        ++each[w.order_for("resource:" + std::to_string(i))[0]];
    }
    CHECK(std::ranges::min(each) > 150);
}

TEST_CASE("a waiter whose queue node is lost keeps its number at the next one",
          "[core][fair_queue]")
{
    queue_world w;
    call& c = w.waiting();
    const std::int64_t number = c.op->wait.number;
    w.lose(w.order[0]);
    w.advance(w.settings.backoff_max + w.settings.node_timeout + 3 * round_trip);
    CHECK(w.queue(w.order[1]) == names{own_ticket(c)});
    CHECK(c.op->wait.number == number);
    CHECK(w.told().tickets == 1);

    SECTION("and when it comes back to the first one")
    {
        w.bring_back(w.order[0]);
        w.advance(5s);
        CHECK(c.op->wait.node == w.order[0]);
        CHECK(w.queue(w.order[1]).empty());
        CHECK(c.op->wait.number == number);
        CHECK(std::ranges::count(w.queue(), own_ticket(c)) == 1);
    }
    SECTION("and the next node wakes it")
    {
        w.give_back_all();
        w.advance(2 * round_trip);
        CHECK(c.held != nullptr);
        CHECK(w.queue(w.order[1]).empty());
    }
}

TEST_CASE("a client gives back the ticket that it left at a lost queue node once the node is back",
          "[core][fair_queue]")
{
    queue_world w;
    call& c = w.waiting();
    const std::string left = own_ticket(c);
    w.lose(w.order[0]);
    w.advance(w.settings.backoff_max + w.settings.node_timeout + 3 * round_trip);
    w.give_back_all();
    w.advance(2 * round_trip);
    REQUIRE(c.held != nullptr);
    REQUIRE(w.queue() == names{left});
    w.bring_back(w.order[0]);
    w.advance(w.settings.reconnect_backoff_max);
    CHECK(w.queue().empty());
    CHECK(w.first().master.find(w.now, key_of(left)) == nullptr);
    CHECK(w.calls_of(resp::leave_script, left) == 1);
}

TEST_CASE("a waiter that another client took for dead puts its ticket back in its old place",
          "[core][fair_queue]")
{
    queue_world w;
    call& c = w.waiting();
    w.join(ticket_a);
    w.leave(own_ticket(c));
    REQUIRE(w.queue() == names{ticket_a});
    w.advance(w.settings.max_poll_interval + 3 * round_trip);
    CHECK(w.queue() == names{own_ticket(c), ticket_a});
    CHECK(w.told().tickets == 1);
}

TEST_CASE("a waiter ends with an outage that lasts for max_outage, not at its next poll",
          "[core][fair_queue][outage]")
{
    queue_world w{{.fair_queue = GENERATE(true, false), .max_poll_interval = 1h}};
    if (w.settings.fair_queue && GENERATE(true, false)) {
        w.join(ticket_a, "r", 1h);
    }
    const names others = w.queue();
    call& c = w.waiting({.timeout = 1h, .max_outage = 500ms});
    w.advance(700ms);
    w.lose(w.order[1]);
    w.lose(w.order[2]);
    w.advance(500ms - 1ns);
    CHECK_FALSE(c.done());
    w.advance(500ms + 1ns);
    REQUIRE(c.done());
    CHECK(c.error == errc::unavailable);
    CHECK(w.queue() == others);
}

TEST_CASE("a waiter whose queue node does not answer asks all nodes after the node timeout",
          "[core][fair_queue]")
{
    queue_world w;
    call& c = w.acquire("r", {.timeout = 60s});
    w.advance_until([&] { return w.calls_of(resp::queue_script).size() == 1; });
    w.first().frozen = true;
    w.give_back(w.order[1]);
    w.give_back(w.order[2]);
    w.advance(w.settings.node_timeout - 1us);
    CHECK(w.sets() == counts{1, 1, 1});
    w.advance(2 * round_trip);
    CHECK(c.held != nullptr);
    w.thaw(w.order[0]);
    w.advance(2 * round_trip);
    CHECK(w.queue().empty());
}

TEST_CASE("a waiter whose queue node is silent asks for its place after its back-off",
          "[core][fair_queue]")
{
    config config;
    config.backoff_min = config.backoff_max = 50ms;
    queue_world w{config};
    w.join(ticket_a);
    w.join(ticket_b);
    (void)w.waiting();
    w.first().master.forget(w.first().speaks);
    w.leave(ticket_b);
    w.advance(2s);
    REQUIRE(w.told().notifications_missed == 1);
    CHECK(w.poll_interval() <= 50ms + 2 * round_trip);
}

TEST_CASE("waiters at nodes that refuse the queue wait for the lock without a ticket",
          "[core][fair_queue]")
{
    queue_world w;
    w.refuse("EVAL", "NOPERM User x has no permissions to run the 'eval' command");
    call& c = w.waiting();
    CHECK(c.op->wait.at == wait_state::stage::first);
    CHECK_FALSE(c.op->wait.has_ticket);
    CHECK(w.last(w.order[0], 1) == names{"PTTL r"});
    w.advance(5s);
    CHECK(w.told().tickets == 0);
    // The client has asked each node once.
    for (unsigned i = 0; i < 3; ++i) {
        CHECK(w.calls_of(resp::queue_script, i).size() == 1);
    }
    CHECK(w.lines_with("serves no queue: clients get a lock there in no order (NOPERM") == 3);
    w.give_back_all();
    w.advance(6 * round_trip);
    CHECK(c.held != nullptr);
    SECTION("and logs no line more after a new connection")
    {
        w.drop(*c.held);
        w.close(w.order[0]);
        w.advance(2s);
        w.take_all();
        (void)w.acquire("r", {.timeout = 60s});
        w.advance(5s);
        CHECK(w.calls_of(resp::queue_script).size() == 2);
        CHECK(w.lines_with("serves no queue") == 3);
    }
}

TEST_CASE("a waiter takes its ticket at the next node if the first one refuses the queue",
          "[core][fair_queue]")
{
    queue_world w;
    w.first().master.refusals["EVAL"] = "NOPERM no permissions to run it";
    call& c = w.waiting();
    w.advance(2s);
    CHECK(w.queue(w.order[1]) == names{own_ticket(c)});
}

TEST_CASE("a queue of another type keeps only its own waiters from a ticket", "[core][fair_queue]")
{
    queue_world w;
    w.first().master.put("r:redlock:queue", {.value = "text", .end = std::nullopt});
    w.first().master.put("r:redlock:queue",
                         {.value = {}, .end = std::nullopt, .foreign_kind = true});
    call& c = w.waiting();
    CHECK(c.op->wait.at == wait_state::stage::first);
    CHECK_FALSE(c.op->wait.has_ticket);
    CHECK(w.lines_with("serves no queue") == 0);
    std::string same_node = "a";
    while (w.order_for(same_node)[0] != w.order[0]) {
        same_node += "a";
    }
    w.take_all(1h, same_node);
    call& another = w.acquire(same_node, {.timeout = 60s});
    w.advance(3 * round_trip);
    CHECK(w.queue(w.order[0], same_node) == names{own_ticket(another)});
    w.give_back_all();
    w.advance(6 * round_trip);
    CHECK(c.held != nullptr);
}

TEST_CASE("a node that is out of memory gives a waiter a ticket once it has memory again",
          "[core][fair_queue]")
{
    queue_world w;
    for (auto& p : w.peers) {
        p->master.is_full = true;
    }
    call& c = w.acquire("r", {.timeout = 60s});
    w.advance(3s);
    CHECK(w.queue().empty());
    for (auto& p : w.peers) {
        p->master.is_full = false;
    }
    w.advance(2s);
    CHECK(w.queue() == names{own_ticket(c)});
    CHECK(w.lines_with("serves no queue") == 0);
}

TEST_CASE("a false reply about a place closes the connection", "[core][fair_queue][liar]")
{
    const auto* const reply = GENERATE(
        ":1\r\n", "+OK\r\n", "_\r\n", "*4\r\n:0\r\n$0\r\n\r\n:7\r\n:7\r\n",
        "*5\r\n:-1\r\n$0\r\n\r\n:7\r\n:7\r\n:0\r\n", "*5\r\n:0\r\n:0\r\n:7\r\n:7\r\n:0\r\n",
        "*5\r\n:0\r\n$0\r\n\r\n$1\r\n7\r\n:7\r\n:0\r\n",
        "*5\r\n:0\r\n$0\r\n\r\n:7\r\n:-7\r\n:0\r\n", "*5\r\n:0\r\n$0\r\n\r\n:7\r\n:7\r\n:-1\r\n");
    CAPTURE(reply);
    queue_world w;
    call& c = w.acquire("r", {.timeout = 60s});
    w.advance_until([&] { return w.calls_of(resp::queue_script).size() == 1; });
    w.reply_falsely(reply);
    CHECK(w.told().protocol_errors == 1);
    w.first().dial = peer::dialling::refused;
    w.advance(1s);
    CHECK(w.queue(w.order[1]) == names{own_ticket(c)});
}

TEST_CASE("a false reply about the others that wait closes the connection",
          "[core][fair_queue][liar]")
{
    const auto* const reply = GENERATE("+OK\r\n", ":-1\r\n", "_\r\n", "*1\r\n:1\r\n");
    CAPTURE(reply);
    queue_world w;
    call& c = w.waiting();
    w.give_back_all();
    w.advance_until([&] { return w.calls_of(resp::leave_script).size() == 1; });
    CHECK(c.held != nullptr);
    w.reply_falsely(reply);
    CHECK(w.told().protocol_errors == 1);
}

TEST_CASE("a notification of another ticket or of something else means nothing to a waiter",
          "[core][fair_queue]")
{
    queue_world w;
    const bool is_first = GENERATE(false, true);
    if (!is_first) {
        w.join(ticket_a);
    }
    (void)w.waiting();
    const std::size_t before = w.all_commands();
    const std::string key = is_first ? GENERATE(as<std::string>(), "q", key_of(ticket_a))
                                     : GENERATE(as<std::string>(), "r", key_of(ticket_b),
                                                key_of(ticket_a, "q"), key_of("b"));
    CAPTURE(key);
    w.first().coming.push_back({w.now, push_of(key)});
    w.advance(2 * round_trip);
    CHECK(w.all_commands() == before);
}

// Reports and counts for callers.

TEST_CASE("a report says how many clients were before the acquire", "[core][fair_queue]")
{
    queue_world w;
    w.join(ticket_a);
    w.join(ticket_b);
    w.with_report = true;
    call& late = w.acquire("r", {.timeout = 100ms});
    w.advance(200ms);
    CHECK(late.error == errc::timed_out);
    CHECK(late.report.clients_before == 2);
    CHECK(late.report.attempts == 1);
    CHECK(late.report.holder_ttl.has_value());
    call& c = w.acquire("r", {.timeout = 60s});
    w.advance(3 * round_trip);
    w.leave(ticket_b);
    w.leave(ticket_a);
    w.give_back_all();
    w.advance(5 * round_trip);
    REQUIRE(c.held != nullptr);
    CHECK(c.report.clients_before == 0);
    CHECK(w.told().tickets == 2);
    CHECK(w.told().ticket_positions == 4);
    w.drop(*c.held);
    w.advance(1s);
    call& alone = w.acquire("r", {.timeout = 60s});
    w.advance(round_trip);
    REQUIRE(alone.held != nullptr);
    CHECK_FALSE(alone.report.clients_before.has_value());
}
