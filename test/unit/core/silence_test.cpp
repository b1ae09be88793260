#include "watch_world.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::test;

// Servers that promise notifications and don't send them.

namespace {

struct silent_world : watch_world {
    explicit silent_world(unsigned nodes = 3, redlock::config c = with_and_without_queue())
        : watch_world(often(std::move(c)), nodes)
    {
        first().way_back = way / 2;  // it votes before the others decide
    }

    static redlock::config often(redlock::config c)
    {
        c.backoff_min = c.backoff_max = 50ms;
        return c;
    }
    /// The client gets no notification that it waits for.
    void forget_watches()
    {
        for (auto& p : peers) {
            p->master.forget(p->speaks);
        }
    }
    /// A poll finds the lock free at one node. No notification said so.
    void miss_notification()
    {
        const std::uint64_t before = told().notifications_missed;
        forget_watches();
        give_back(order[0]);
        settle();
        for (int i = 0; i < 3000 && told().notifications_missed == before; ++i) {
            advance(1ms);
        }
        CHECK(told().notifications_missed == before + 1);
        take(order[0]);
        watch_anew();
    }
    /// The waiter polls, and asks for a notification again.
    void watch_anew()
    {
        const std::size_t before = count(order[0], "PTTL");
        advance_until([&] { return count(order[0], "PTTL") > before; });
        advance(2 * round_trip);
    }
    /// Another client takes the lock, with a later expiry than before.
    void change_hands(const std::string& name = "r")
    {
        give_back_all(name);
        take_all(1h, name);
    }
    /// How often a waiter polls within a second.
    std::uint64_t looks()
    {
        const std::uint64_t before = told().polls;
        advance(1s);
        return told().polls - before;
    }
    [[nodiscard]] std::size_t complaints() const
    {
        return static_cast<std::size_t>(std::ranges::count_if(log_lines, [](const auto& line) {
            return line.find("sent no notification of a change") != std::string::npos;
        }));
    }
};

}  // namespace

TEST_CASE("a waiter that missed a notification polls as often as one without notifications",
          "[core][watch][silence]")
{
    silent_world w;
    w.take_all();
    call& c = w.waiting();
    w.advance(100ms);
    w.miss_notification();
    CHECK(w.looks() > 10);
    // The key has not changed since.
    CHECK(w.told().notifications_missed == 1);
    CHECK(w.complaints() == 1);
    CHECK(w.core->fair_queue().size() == 1);

    SECTION("new waiters rely on the server once it sends a notification")
    {
        w.watch_anew();
        w.give_back_all();
        w.advance(8 * round_trip);
        REQUIRE(c.held != nullptr);
        CHECK(w.told().notified_attempts_granted == 1);
        w.drop(*c.held);
        w.advance(round_trip);
        w.take_all();
        (void)w.acquire("r", {.timeout = 60s});
        w.advance(1s);
        CHECK(w.looks() <= 2);
    }
    SECTION("the waiter itself relies on it again, too")
    {
        w.watch_anew();
        w.change_hands();
        w.advance(8 * round_trip);
        CHECK(w.told().notified_attempts_refused == 1);
        CHECK(w.looks() <= 2);
        CHECK(w.told().notifications_missed == 1);
    }
    SECTION("a second missed notification starts that again")
    {
        w.change_hands();
        w.advance(2s);
        w.miss_notification();
        CHECK(w.told().notifications_missed == 2);
        CHECK(w.looks() > 10);
    }
    SECTION("a client relies on the same server after a new connection")
    {
        for (unsigned i = 0; i < w.peers.size(); ++i) {
            w.close(i);
        }
        w.advance(5s);
        REQUIRE(w.core->fair_queue().size() == 1);
        w.advance(20s);
        CHECK(w.looks() <= 2);
    }
    SECTION("the client logs it once")
    {
        for (int i = 0; i < 5; ++i) {
            w.miss_notification();
        }
        CHECK(w.told().notifications_missed == 6);
        CHECK(w.complaints() == 1);
    }
}

TEST_CASE("a new waiter of a server that sends no notifications polls as often as one without them",
          "[core][watch][silence]")
{
    silent_world w{1};
    w.take_all();
    call& c = w.waiting();
    w.advance(100ms);
    w.forget_watches();
    w.give_back_all();
    w.advance(1s);
    // The waiter polled and found the lock free.
    REQUIRE(c.held != nullptr);
    CHECK(w.told().notifications_missed == 1);
    w.drop(*c.held);
    w.advance(round_trip);
    w.take_all();
    (void)w.acquire("r", {.timeout = 60s});
    w.advance(round_trip);
    CHECK(w.looks() > 10);
    CHECK(w.core->fair_queue().size() == 1);
}

TEST_CASE("a poll that finds a lock free without a vote also shows a missed notification",
          "[core][watch][silence]")
{
    silent_world w{1};
    w.take_all();
    (void)w.waiting({.timeout = 60s, .fencing = true});
    w.advance(100ms);
    w.forget_watches();
    w.give_back_all();
    w.peers[0]->master.put("r:fencing", {.value = "no number", .end = std::nullopt});
    w.advance(1s);
    CHECK(w.told().polls > 0);
    CHECK(w.told().notifications_missed == 1);
    CHECK(w.complaints() == 1);
}

TEST_CASE("a poll that finds no missed notification leaves the trust in the server",
          "[core][watch][silence]")
{
    silent_world w;
    SECTION("the key is the same and has a ttl")
    {
        w.take_all();
        (void)w.waiting();
    }
    SECTION("the key is the same and has no ttl")
    {
        w.take_all();
        for (auto& p : w.peers) {
            p->master.put("r", {.value = stranger, .end = std::nullopt});
        }
        (void)w.waiting();
    }
    SECTION("the key expired on time")
    {
        w.take_all(200ms);
        call& c = w.waiting();
        w.advance(300ms);
        REQUIRE(c.held != nullptr);
        REQUIRE(w.told().polls == 1);
        w.drop(*c.held);
        w.advance(round_trip);
        w.take_all();
        (void)w.waiting();
    }
    SECTION("the notification came during the poll")
    {
        w.take_all();
        (void)w.waiting();
        w.advance(100ms);
        for (int i = 0; i < 20'000 && w.told().polls == 0; ++i) {
            w.advance(100us);
        }
        REQUIRE(w.told().polls == 1);
        w.change_hands();  // before the poll arrives
    }
    w.advance(10 * way);
    CHECK(w.told().notifications_missed == 0);
    const std::uint64_t polls = w.told().polls;
    w.advance(20s);
    CHECK(w.told().polls - polls <= 20 * 4 / 3);
    CHECK(w.told().notifications_missed == 0);
}

TEST_CASE("an extend by the client itself shows no missed notification", "[core][watch][silence]")
{
    // One of several resources is wanted alone, or the other way round.
    const bool is_of_several = GENERATE(false, true);
    const bool is_kept = GENERATE(false, true);
    silent_world w;
    const std::vector<std::string> both{"r", "s"};
    acquire_options held{.ttl = 3s, .timeout = 60s};
    if (is_kept) {
        held.keep_alive.emplace();
    }
    call& first = is_of_several ? w.acquire(both, held) : w.acquire("r", held);
    w.advance(8 * round_trip);
    REQUIRE(first.held != nullptr);
    const acquire_options o{.timeout = 60s};
    call& c = is_of_several ? w.acquire("r", o) : w.acquire(both, o);
    w.advance(8 * round_trip);
    REQUIRE_FALSE(c.done());
    REQUIRE(w.core->fair_queue().size() == 1);
    for (int i = 0; i < 20; ++i) {
        w.advance(500ms);
        if (!is_kept) {
            CHECK_FALSE(w.extend(*first.held, 3s).error);
        }
    }
    CHECK(w.told().polls > 0);
    CHECK(w.told().notifications_missed == 0);
    CHECK(w.complaints() == 0);
}

TEST_CASE("an extend of an adopted lock shows no missed notification", "[core][watch][silence]")
{
    silent_world w;
    call& first = w.acquire("r", {.ttl = 3s});
    w.advance(8 * round_trip);
    REQUIRE(first.held != nullptr);
    const base::owner_token token = first.held->token;
    w.core->operations().detach(w.now, *first.held);
    call& adopted = w.adopt("r", token, 3s);
    w.advance(2 * round_trip);
    REQUIRE(adopted.held != nullptr);
    (void)w.waiting();
    for (int i = 0; i < 40; ++i) {
        w.advance(500ms);
        CHECK_FALSE(w.extend(*adopted.held, 3s).error);
    }
    CHECK(w.told().polls > 0);
    CHECK(w.told().notifications_missed == 0);
}

TEST_CASE("an extend during a poll shows no missed notification", "[core][watch][silence]")
{
    const bool is_of_several = GENERATE(false, true);
    const bool is_script_known = GENERATE(true, false);
    const nanos behind = GENERATE(0us, 500us, 1500us, 2500us, 3500us, 4500us);
    CAPTURE(is_of_several, is_script_known, behind.count());
    silent_world w;
    const std::vector<std::string> both{"r", "s"};
    const acquire_options held{.ttl = 30s};
    call& first = is_of_several ? w.acquire(both, held) : w.acquire("r", held);
    w.advance(8 * round_trip);
    REQUIRE(first.held != nullptr);
    const acquire_options o{.timeout = 5min};
    call& c = is_of_several ? w.acquire("r", o) : w.acquire(both, o);
    w.advance(8 * round_trip);
    REQUIRE(w.core->fair_queue().size() == 1);
    for (std::uint64_t i = 1; i <= 5; ++i) {
        for (int step = 0; step < 100'000 && w.told().polls < i; ++step) {
            w.advance(100us);
        }
        REQUIRE(w.told().polls == i);
        w.advance(behind);
        if (!is_script_known) {
            w.flush_scripts();
        }
        call& longer = w.extend(*first.held, 30s + i * 10s);
        w.advance(8 * round_trip);
        REQUIRE(longer.done());
        REQUIRE_FALSE(longer.error);
    }
    w.advance(20s);
    CHECK_FALSE(c.done());
    CHECK(w.told().notifications_missed == 0);
}

TEST_CASE("the expiry of one of several resources shows no missed notification of another",
          "[core][watch][silence]")
{
    silent_world w;
    w.take_all(7s);
    w.take_all(1h, "s");
    (void)w.acquire(std::vector<std::string>{"r", "s"}, {.timeout = 60s});
    w.advance(8 * round_trip);
    REQUIRE(w.core->fair_queue().size() == 1);
    SECTION("one that is asked for after it")
    {
        w.advance(15s);
    }
    SECTION("one that is asked for before it")
    {
        w.advance(8s);
        w.take_all(1min);
        w.advance(15s);
    }
    CHECK(w.told().polls > 1);
    CHECK(w.told().notifications_missed == 0);
}

TEST_CASE("very many waiters at a node that missed a notification poll no more often than usual",
          "[core][watch][silence]")
{
    silent_world w{1, without_queue()};
    const unsigned many = 1500;
    const auto looks_in = [&](int seconds) {
        const std::uint64_t before = w.told().polls;
        for (int i = 0; i < seconds; ++i) {
            w.advance(1s);
            w.peers[0]->log.clear();
        }
        return w.told().polls - before;
    };
    for (unsigned i = 0; i < many; ++i) {
        w.take_all(1h, std::to_string(i));
        w.acquire(std::to_string(i), {.timeout = 2h});
    }
    w.advance(3 * round_trip);
    REQUIRE(w.core->fair_queue().size() == many);
    (void)looks_in(4);
    w.forget_watches();
    w.give_back_all("0");
    (void)looks_in(4);
    REQUIRE(w.told().notifications_missed > 0);
    CHECK(looks_in(4) <= 4 * 1000 * 5 / 4);
}
