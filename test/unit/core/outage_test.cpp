#include "harness.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

using namespace redlock;
using namespace redlock::test;

namespace {

config quick()
{
    config c;
    c.reconnect_backoff_max = 100ms;
    return c;
}

acquire_options patient(std::optional<std::chrono::milliseconds> max_outage)
{
    acquire_options o;
    o.ttl = 10min;
    o.timeout = 1h;
    o.max_outage = max_outage;
    return o;
}

}  // namespace

TEST_CASE("an acquire ends once an outage has lasted for max_outage", "[core][outage]")
{
    running_world w{3, quick()};
    w.with_report = true;
    w.lose(0);
    w.lose(1);
    const instant begun = w.now;
    call& c = w.acquire("r", patient(3s));
    w.advance(3s - 1ns);
    CHECK_FALSE(c.done());
    w.advance(1s);
    REQUIRE(c.done());
    CHECK(c.error == errc::unavailable);
    CHECK(c.ended - begun <= 3s + 2 * w.config.backoff_max);
    REQUIRE(c.report.nodes.size() == 3);
    CHECK(c.report.nodes[0].outcome == node_outcome::disconnected);
    CHECK_FALSE(c.report.nodes[0].error.empty());
    CHECK(c.report.nodes[2].outcome != node_outcome::disconnected);
    w.advance(1min);
    CHECK(w.is_idle());
}

TEST_CASE("a waiter for a contended lock ignores max_outage", "[core][outage]")
{
    running_world w{3, quick()};
    w.occupy("r", 10min);
    call& c = w.acquire("r", patient(0ms));
    w.advance(5min);
    CHECK_FALSE(c.done());
    w.advance(6min);
    REQUIRE(c.done());
    CHECK_FALSE(c.error);
}

TEST_CASE("an acquire waits through an outage that ends in time", "[core][outage]")
{
    running_world w{3, quick()};
    call& c = [&]() -> call& {
        w.lose(0);
        w.lose(1);
        return w.acquire("r", patient(3s));
    }();
    w.advance(2900ms);
    w.bring_back(0);
    w.advance(2s);
    REQUIRE(c.done());
    CHECK_FALSE(c.error);
    // The next outage counts from its own beginning.
    w.occupy("s", 10min);
    call& next = w.acquire("s", patient(3s));
    w.advance(1s);
    w.lose(0);
    w.advance(2s);
    CHECK_FALSE(next.done());
    w.advance(2500ms);
    REQUIRE(next.done());
    CHECK(next.error == errc::unavailable);
}

TEST_CASE("an acquire with a max_outage of zero ends with its first attempt in an outage",
          "[core][outage]")
{
    running_world w{3, quick()};
    w.lose(0);
    w.lose(1);
    const instant begun = w.now;
    call& c = w.acquire("r", patient(0ms));
    w.advance(w.config.node_timeout);
    REQUIRE(c.done());
    CHECK(c.error == errc::unavailable);
    CHECK(c.ended - begun <= w.config.node_timeout);
}

TEST_CASE("an outage begins with the client and lasts while nodes connect for the first time",
          "[core][outage]")
{
    bench_world w{3, quick()};
    const bool connects = GENERATE(false, true);
    for (auto& p : w.peers) {
        p->dial = connects ? peer::dialling::at_once : peer::dialling::silent;
        p->frozen = true;
    }
    w.with_report = true;
    const auto max_outage = GENERATE(std::chrono::milliseconds(0), std::chrono::milliseconds(500),
                                     std::chrono::milliseconds(1500));
    CAPTURE(connects, max_outage.count());
    REQUIRE(max_outage < w.config.connect_timeout);
    const nanos patience = std::max<nanos>(max_outage, 100ms);
    w.start();
    const instant begun = w.now;
    call& c = w.acquire("r", patient(max_outage));
    call& next = w.acquire("r", patient(max_outage));
    w.advance(patience - 1ns);
    CHECK_FALSE(c.done());
    CHECK_FALSE(next.done());
    w.advance(1ns);
    for (call* ended : {&c, &next}) {
        REQUIRE(ended->done());
        CHECK(ended->error == errc::unavailable);
        REQUIRE(ended->report.nodes.size() == 3);
        CHECK(ended->report.nodes[0].outcome == node_outcome::disconnected);
    }
    // The outage has already lasted for longer when this acquire begins, so it has one attempt.
    call& late = w.acquire("r", patient(max_outage));
    w.advance(w.config.node_timeout);
    REQUIRE(late.done());
    CHECK(late.error == errc::unavailable);
    CHECK(w.now - begun < w.config.connect_timeout);
}

TEST_CASE("an acquire with a max_outage waits for slow first connections", "[core][outage]")
{
    bench_world w{3, quick()};
    w.set_ways(20ms, 20ms);
    w.start();
    call& c = w.acquire("r", patient(500ms));
    w.advance(500ms);
    REQUIRE(c.done());
    CHECK_FALSE(c.error);
}

TEST_CASE("nodes that answer with errors make an outage too", "[core][outage]")
{
    running_world w{3, quick()};
    w.manual();
    const instant begun = w.now;
    call& c = w.acquire("r", patient(1s));
    while (!c.done() && w.now - begun < 10s) {
        for (unsigned node = 0; node < 3; ++node) {
            while (!w.peers[node]->asked.empty()) {
                w.answer(node, broken);
            }
        }
        w.advance(1ms);
    }
    REQUIRE(c.done());
    CHECK(c.error == errc::unavailable);
    CHECK(c.ended - begun >= 1s);
    CHECK(c.ended - begun <= 1s + 2 * w.config.backoff_max);
}

TEST_CASE("a waiter after a lock of its own client ends with the outage that it waits through",
          "[core][outage]")
{
    running_world w{3, quick()};
    core::lease& held = w.lock("r", patient({}));
    w.with_report = true;
    const auto max_outage = GENERATE(std::chrono::milliseconds(0), std::chrono::milliseconds(700),
                                     std::chrono::milliseconds(3000));
    CAPTURE(max_outage.count());
    call& first = w.acquire("r", patient(max_outage));
    call& second = w.acquire("r", patient(max_outage));
    call& endless = w.acquire("r", patient({}));
    w.advance(10s + 350ms);
    CHECK_FALSE(first.done());
    w.lose(0);
    w.lose(1);
    const instant begun = w.now;
    w.advance(std::max<nanos>(max_outage, 1ns) - 1ns);
    CHECK_FALSE(first.done());
    CHECK_FALSE(second.done());
    w.advance(101ms);
    for (call* c : {&first, &second}) {
        REQUIRE(c->done());
        CHECK(c->error == errc::unavailable);
        CHECK(c->ended - begun <= std::max<nanos>(max_outage, 100ms));
        REQUIRE(c->report.nodes.size() == 3);
        CHECK(c->report.nodes[1].outcome == node_outcome::disconnected);
    }
    CHECK_FALSE(endless.done());
    w.bring_back(0);
    w.bring_back(1);
    w.advance(1s);
    (void)w.release(held);
    w.advance(1s);
    CHECK_FALSE(endless.error);
    CHECK(endless.done());
}

TEST_CASE("an acquire ends at once if a majority refuses user and password", "[core][outage]")
{
    for (const bool knows_hello : {true, false}) {
        CAPTURE(knows_hello);
        config c = quick();
        c.nodes = {"redis://:wrong@node-0", "redis://:wrong@node-1", "redis://:wrong@node-2"};
        bench_world w{3, c};
        for (unsigned node : {0u, 1u}) {
            w.peers[node]->master.knows_hello = knows_hello;
            w.peers[node]->master.password = "right";
        }
        w.peers[2]->master.password = "wrong";
        w.with_report = true;
        w.start();
        const instant begun = w.now;
        call& at_once = w.acquire("r", patient({}));
        call& next = w.acquire("r", patient({}));
        call& waits = w.acquire("s", patient(5s));
        w.advance(1s);
        for (call* ended : {&at_once, &next}) {
            REQUIRE(ended->done());
            CHECK(ended->error == errc::unavailable);
            CHECK(ended->ended - begun < 1s);
            CHECK(ended->report.nodes[0].error.find("WRONGPASS") != std::string::npos);
        }
        CHECK_FALSE(waits.done());
        // An acquire that waits through it succeeds if the password is fixed in time.
        w.peers[0]->master.password = "wrong";
        w.advance(2s);
        REQUIRE(waits.done());
        CHECK_FALSE(waits.error);
    }
}

TEST_CASE("an acquire ends at once if a majority lacks the database", "[core][outage]")
{
    config c = quick();
    c.nodes = {"redis://node-0/9", "redis://node-1/9", "redis://node-2/9"};
    bench_world w{3, c};
    const std::string refusal = GENERATE("ERR DB index is out of range", "ERR invalid DB index");
    CAPTURE(refusal);
    w.peers[0]->master.refusals["SELECT"] = refusal;
    w.peers[1]->master.refusals["SELECT"] = refusal;
    w.with_report = true;
    w.start();
    call& at_once = w.acquire("r", patient({}));
    call& waits = w.acquire("s", patient(5s));
    w.advance(1s);
    REQUIRE(at_once.done());
    CHECK(at_once.error == errc::unavailable);
    CHECK(at_once.report.nodes[0].error == "the server refused the database 9");
    CHECK_FALSE(waits.done());
    w.peers[0]->master.refusals.clear();
    w.advance(2s);
    REQUIRE(waits.done());
    CHECK_FALSE(waits.error);
}

TEST_CASE("an acquire ends at once if a password and a database rule out a majority",
          "[core][outage]")
{
    config c = quick();
    c.nodes = {"redis://:wrong@node-0", "redis://node-1/9", "redis://node-2"};
    bench_world w{3, c};
    w.peers[0]->master.password = "right";
    w.peers[1]->master.refusals["SELECT"] = "ERR DB index is out of range";
    w.start();
    call& at_once = w.acquire("r", patient({}));
    w.advance(1s);
    REQUIRE(at_once.done());
    CHECK(at_once.error == errc::unavailable);
}

TEST_CASE("an acquire waits for nodes that refuse a database in other words", "[core][outage]")
{
    config c = quick();
    c.nodes = {"redis://node-0/9", "redis://node-1/9", "redis://node-2/9"};
    bench_world w{3, c};
    const std::string refusal =
        GENERATE("LOADING Redis is loading the dataset in memory", "ERR no backend available",
                 "NOPERM this user has no permissions to run the 'select' command");
    CAPTURE(refusal);
    w.peers[0]->master.refusals["SELECT"] = refusal;
    w.peers[1]->master.refusals["SELECT"] = refusal;
    w.start();
    call& waits = w.acquire("r", patient({}));
    w.advance(10s);
    CHECK_FALSE(waits.done());
    w.peers[0]->master.refusals.clear();
    w.advance(2s);
    REQUIRE(waits.done());
    CHECK_FALSE(waits.error);
}

TEST_CASE("a minority that refuses the password ends no acquire", "[core][outage]")
{
    config c = quick();
    c.nodes = {"redis://:wrong@node-0", "redis://:wrong@node-1", "redis://:wrong@node-2"};
    bench_world w{3, c};
    for (auto& p : w.peers) {
        p->master.password = "wrong";
    }
    w.peers[0]->master.password = "right";
    w.start();
    w.lose(1);
    call& waits = w.acquire("r", patient({}));
    w.advance(10s);
    CHECK_FALSE(waits.done());
    w.bring_back(1);
    w.advance(2s);
    REQUIRE(waits.done());
    CHECK_FALSE(waits.error);
}

TEST_CASE("a failed attempt of long ago begins no outage", "[core][outage]")
{
    running_world w{3, quick()};
    w.refuse("SET", "ERR broken");
    acquire_options once;
    once.timeout = 0ms;
    CHECK(w.acquire("r", once).error == errc::unavailable);
    w.advance(10min);
    call& c = w.acquire("r", patient(1s));
    w.advance(900ms);
    CHECK_FALSE(c.done());
    w.advance(100ms + 2 * w.config.backoff_max);
    CHECK(c.error == errc::unavailable);
}

TEST_CASE("an acquire in the wait queue waits for the first connections too", "[core][outage]")
{
    bench_world w{3, quick()};
    for (unsigned node : {1u, 2u}) {
        w.peers[node]->dial = peer::dialling::silent;
    }
    w.start();
    call& first = w.acquire("r", patient(3s));
    call& second = w.acquire("r", patient(3s));
    w.advance(w.config.connect_timeout - 1ms);
    CHECK_FALSE(second.done());
    w.bring_back(1);
    w.bring_back(2);
    w.advance(300ms);
    CHECK(first.held != nullptr);
    CHECK_FALSE(second.done());
}
