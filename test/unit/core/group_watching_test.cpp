#include "watch_world.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;

// A waiter for several resources waits for a notification about the one that was in its way.

namespace {

const std::vector<std::string> both{"r", "s"};

struct group_world : watch_world {
    using watch_world::watch_world;

    call& waiting_for_both(const acquire_options& o = {.timeout = 60s})
    {
        call& c = acquire(both, o);
        advance(5 * round_trip);  // the node first needs the script
        REQUIRE_FALSE(c.done());
        REQUIRE(core->fair_queue().size() == 1);
        return c;
    }
    /// How often each node was asked for all resources.
    [[nodiscard]] std::vector<std::size_t> takes() const
    {
        std::vector<std::size_t> each;
        for (const unsigned i : order) {
            std::size_t n = 0;
            for (const words& said : peers[i]->log) {
                n += said.size() > 1 && said[0] == "EVALSHA" && said[1] == resp::take_script.sha1;
            }
            each.push_back(n);
        }
        return each;
    }
};

using counts = std::vector<std::size_t>;

}  // namespace

TEST_CASE("a waiter for several resources hears of the one in its way", "[core][watch][group]")
{
    group_world w{without_queue()};
    const unsigned watched = w.order_for("s")[0];
    w.take_all(1h, "s");
    call& c = w.waiting_for_both({.timeout = 60s, .fencing = true});
    CHECK(std::ranges::count(w.peers[watched]->log, words{"PTTL", "s"}) == 1);
    for (unsigned i = 0; i < 3; ++i) {
        CHECK(w.count(i, "PTTL") == (i == watched ? 1 : 0));
    }
    w.advance(300ms);
    const counts before = w.takes();

    const instant then = w.now;
    w.give_back_all("s");
    w.advance(6 * round_trip);
    REQUIRE(c.held != nullptr);
    CHECK(w.takes() == counts{before[0] + 1, before[1] + 1, before[2] + 1});
    CHECK(c.ended - then <= way + 5 * round_trip);
    CHECK(c.held->granted == 0b111);
    CHECK(c.held->fencing_token > 0);
    CHECK(w.told().notified_attempts_granted == 1);
    CHECK(w.told().polls == 0);
    CHECK(w.core->fair_queue().size() == 0);
    w.drop(*c.held);
    w.advance(2 * round_trip);
    CHECK(w.keys() == 0);
}

TEST_CASE("a waiter for several resources waits at the node of the one in its way",
          "[core][watch][group]")
{
    const std::string other = GENERATE("s", "t", "u", "v", "w", "x", "y", "z");
    const bool is_second = GENERATE(false, true);
    group_world w{with_and_without_queue()};
    w.take_all();
    const std::vector<std::string> names{is_second ? other : "r", is_second ? "r" : other};
    call& c = w.acquire(names, {.timeout = 60s});
    w.advance(5 * round_trip);
    CHECK_FALSE(c.done());
    REQUIRE(w.core->fair_queue().size() == 1);
    CHECK(std::ranges::count(w.first().log, words{"PTTL", "r"}) == 1);
}

TEST_CASE("a waiter for several resources follows a change of the one in its way",
          "[core][watch][group]")
{
    group_world w{with_and_without_queue()};
    w.take_all(1h, "s");
    call& c = w.waiting_for_both();
    for (int i = 0; i < 4; ++i) {
        const std::string gone = i % 2 == 0 ? "s" : "r";
        const std::string comes = i % 2 == 0 ? "r" : "s";
        w.give_back_all(gone);
        w.take_all(1h, comes);
        w.advance(10 * round_trip);
        CHECK(w.told().notified_attempts_refused == static_cast<std::size_t>(i) + 1);
        CHECK(w.core->fair_queue().size() == 1);
        CHECK(w.last(w.order_for(comes)[0], 1)[0] == "PTTL " + comes);
    }
    w.give_back_all("r");  // this resource is no longer in the way
    w.advance(10 * round_trip);
    CHECK(w.told().notified_attempts_refused == 4);
    w.give_back_all("s");
    w.advance(10 * round_trip);
    CHECK(c.held != nullptr);
    CHECK(w.told().polls == 0);
}

TEST_CASE("a waiter for several resources that ends leaves nothing", "[core][watch][group]")
{
    group_world w{with_and_without_queue()};
    w.take_all();
    call& c = w.waiting_for_both();
    w.end_in_each_way(c);
    const counts before = w.takes();
    w.give_back_all();
    w.advance(4 * round_trip);
    CHECK(w.takes() == before);
    CHECK(w.is_idle());
}

TEST_CASE("a release by the same client wakes a waiter that wants the resource with others",
          "[core][watch][group]")
{
    group_world w{with_and_without_queue({.max_poll_interval = 1h})};
    call& before = w.acquire("s");
    w.advance(round_trip);
    REQUIRE(before.held != nullptr);
    call& c = w.waiting_for_both();
    w.advance(5s);
    CHECK(w.told().polls == 0);
    w.drop(*before.held);
    w.advance(6 * round_trip);
    CHECK(c.held != nullptr);
    CHECK(w.told().notified_attempts_granted == 1);
}

TEST_CASE("waiters of one client for the same resources get them one after another",
          "[core][watch][group]")
{
    group_world w{with_and_without_queue({.max_poll_interval = 1h})};
    w.take_all();
    std::vector<call*> all;
    for (int i = 0; i < 5; ++i) {
        all.push_back(&w.acquire(both, {.timeout = 60s}));
    }
    w.advance(4 * round_trip);
    CHECK(w.core->fair_queue().size() == 5);
    w.give_back_all();
    for (std::size_t served = 0; served < all.size();) {
        w.advance(40 * round_trip);
        std::size_t now = 0;
        for (call* c : all) {
            now += c->held != nullptr;
            if (c->held != nullptr && !c->held->is_released) {
                w.drop(*c->held);
            }
        }
        REQUIRE(now > served);
        served = now;
    }
    CHECK(w.told().polls == 0);
    w.advance(2 * round_trip);
    CHECK(w.keys() == 0);
    CHECK(w.core->fair_queue().size() == 0);
}

TEST_CASE("a node that forgot the scripts still notifies waiters for several resources",
          "[core][watch][group]")
{
    group_world w{with_and_without_queue()};
    w.take_all();
    call& c = w.waiting_for_both();
    (void)w.first().master.execute(w.now, w.other, {"SCRIPT", "FLUSH"});
    w.give_back_all();
    w.take_all();
    w.advance(10 * round_trip);
    CHECK(w.told().notified_attempts_refused == 1);
    CHECK(w.core->fair_queue().size() == 1);
    w.give_back_all();
    w.advance(10 * round_trip);
    CHECK(c.held != nullptr);
    CHECK(w.told().polls == 0);
}

TEST_CASE("a node that begins to refuse digests still notifies waiters for several resources",
          "[core][watch][group]")
{
    group_world w{with_and_without_queue()};
    w.take_all();
    w.refuse("EVALSHA", "ERR unsupported command");
    call& c = w.acquire(both, {.timeout = 60s});
    w.advance(10s);
    CHECK(w.core->fair_queue().size() == 1);
    const auto polls = w.told().polls;
    w.give_back_all();
    w.advance(10 * round_trip);
    CHECK(c.held != nullptr);
    CHECK(w.told().polls == polls);
}

TEST_CASE("a waiter for several resources without memory for its tracking polls at random",
          "[core][watch][group]")
{
    group_world w{{.max_poll_interval = 1h}};
    w.take_all();
    call& c = w.acquire(both, {.timeout = 60s});
    w.advance_until([&] { return c.op->wait.at == core::wait_state::stage::asked; });
    w.fail_every = 1;
    w.advance(round_trip);
    w.fail_every = 0;
    CHECK_FALSE(c.done());
    CHECK_FALSE(c.op->wait.is_watched);
    w.give_back_all();
    w.advance(w.settings.backoff_max + 4 * round_trip);
    REQUIRE(c.held != nullptr);
    CHECK(w.told().notified_attempts_granted == 0);
    CHECK(w.told().polls > 0);
    w.drop(*c.held);
    w.advance(2 * round_trip);
    CHECK(w.is_idle());
}
