#include "harness.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;

namespace {

/// Locks on three nodes that answer at once.
struct kept_world : running_world {
    using running_world::running_world;

    core::lease& keep(std::string_view resource, std::chrono::milliseconds ttl,
                      const keep_alive& how = {})
    {
        return lock(resource, {.ttl = ttl, .keep_alive = how});
    }

    void silence(bool on)
    {
        for (unsigned i = 0; i < peers.size(); ++i) {
            if (on) {
                peers[i]->frozen = true;
            } else {
                thaw(i);
            }
        }
    }

    /// Drops the lock and checks whether anything is left to do.
    [[nodiscard]] bool is_idle_without(core::lease& l)
    {
        drop(l);
        advance(1s);
        return is_idle();
    }

    [[nodiscard]] std::size_t told(renewal_outcome what) const
    {
        return static_cast<std::size_t>(std::count(news.begin(), news.end(), what));
    }
};

}  // namespace

TEST_CASE("a kept-alive lock always has two thirds of its ttl left", "[core][keep_alive]")
{
    kept_world w;
    core::lease& l = w.keep("r", 3s);
    for (int i = 0; i < 600; ++i) {
        w.advance(100ms);
        REQUIRE(l.valid_until() - w.now > 1900ms);
    }
    CHECK(w.keys() == 3);
    const stats s = w.core->snapshot();
    CHECK(s.kept_alive == 1);
    // Each renewal begins between a quarter and a third of the ttl after the one before.
    CHECK(s.renewed >= 60);
    CHECK(s.renewed <= 80);
    CHECK(w.told(renewal_outcome::renewed) == s.renewed);
    CHECK(s.in_flight == 0);
    CHECK(s.late_renewals == 0);

    REQUIRE_FALSE(w.release(l).error);
    const auto sent = w.count(0, "EVALSHA");
    w.advance(10s);
    CHECK(w.count(0, "EVALSHA") == sent);
    CHECK(w.is_idle());
}

TEST_CASE("a client does not renew a lock without keep-alive", "[core][keep_alive]")
{
    kept_world w;
    core::lease& l = w.lock("r", {.ttl = 3s});
    w.advance(4s);
    CHECK(w.count(0, "EVALSHA") == 0);
    CHECK(w.keys() == 0);
    CHECK(l.valid_until() <= w.now);
}

TEST_CASE("each waiter for a loss hears of it when the validity ends", "[core][keep_alive]")
{
    kept_world w;
    const bool kept = GENERATE(false, true);
    CAPTURE(kept);
    core::lease& l = kept ? w.keep("r", 3s) : w.lock("r", {.ttl = 3s});
    call& first = w.wait_lost(l);
    call& second = w.wait_lost(l);
    w.silence(true);
    const instant end = l.valid_until();
    w.advance(end - w.now - 1ns);
    CHECK_FALSE(first.done());
    CHECK(l.valid_until() == end);
    w.advance(1ns);
    CHECK(first.error == errc::lost);
    CHECK(second.error == errc::lost);
    CHECK(first.ended == end);
    CHECK(w.core->snapshot().kept_alive == 0);
    CHECK(w.core->snapshot().kept_alive_lost == (kept ? 1 : 0));
    CHECK(w.told(renewal_outcome::lost) == (kept ? 1 : 0));

    // Once lost, the lock stays lost.
    w.silence(false);
    w.advance(1s);
    CHECK(w.extend(l, 3s).error == errc::lost);
    CHECK(w.wait_lost(l).error == errc::lost);
    // A loss that came long ago does not go before other completions.
    core::operation& late = w.core->operations().wait_lost(w.now, l);
    CHECK(w.core->operations().losses() == 0);
    REQUIRE(w.core->operations().take_finished(w.now) == &late);
    CHECK(late.error == errc::lost);
    w.core->operations().recycle(late);
    w.drop(l);
    w.advance(5s);
    CHECK(w.keys() == 0);
    CHECK(w.is_idle());
}

TEST_CASE("a wait for the loss of a released lock ends not_held", "[core][keep_alive]")
{
    kept_world w;
    core::lease& l = w.keep("r", 3s);
    w.silence(true);
    call& release = w.release(l);  // an unanswered release keeps the record
    REQUIRE_FALSE(release.done());
    CHECK(w.wait_lost(l).error == errc::not_held);
}

TEST_CASE("a client reports a kept-alive lock as lost once a majority answers without its key",
          "[core][keep_alive]")
{
    kept_world w;
    core::lease& l = w.keep("r", 3s);
    call& wait = w.wait_lost(l);
    w.peers[1]->master.flush_keys();
    w.advance(1500ms);
    CHECK_FALSE(wait.done());
    w.flush_keys();
    w.advance(1s);
    CHECK(wait.error == errc::lost);
    CHECK(w.news.back() == renewal_outcome::lost);
    CHECK(w.core->snapshot().kept_alive_lost == 1);
    // The client sets no key again.
    CHECK(w.keys() == 0);
    CHECK(w.is_idle_without(l));
}

TEST_CASE("p26: a client retries a renewal that few nodes answered and keeps the lock",
          "[core][keep_alive][pitfall][p26]")
{
    kept_world w;
    core::lease& l = w.keep("r", 3s);
    w.silence(true);
    w.advance(1900ms);
    CHECK(w.told(renewal_outcome::unknown) >= 2);
    CHECK(w.core->snapshot().renewal_unknown == w.told(renewal_outcome::unknown));
    CHECK(w.core->snapshot().renewed == 0);
    CHECK(l.valid_until() > w.now);
    w.silence(false);
    w.advance(300ms);
    CHECK(w.news.back() == renewal_outcome::renewed);
    w.advance(30s);
    CHECK(l.valid_until() > w.now);
    CHECK(w.keys() == 3);
    CHECK(w.core->snapshot().renewed == w.told(renewal_outcome::renewed));
}

TEST_CASE("the news of a failed renewal has the answer of each node", "[core][keep_alive]")
{
    kept_world w;
    w.keep("r", 3s);
    w.peers[0]->frozen = w.peers[1]->frozen = true;
    w.advance(1900ms);
    REQUIRE(w.news.front() == renewal_outcome::unknown);
    REQUIRE(w.failures.front() != nullptr);
    CHECK(w.failures.front()->nodes[0].outcome == node_outcome::timed_out);
    CHECK(w.failures.front()->nodes[2].outcome == node_outcome::granted);
    w.thaw(0);
    w.thaw(1);
    w.advance(300ms);
    REQUIRE(w.news.back() == renewal_outcome::renewed);
    CHECK(w.failures.back() == nullptr);
    w.flush_keys();
    w.advance(1s);
    REQUIRE(w.news.back() == renewal_outcome::lost);
    REQUIRE(w.failures.back() != nullptr);
    CHECK(std::ranges::count_if(w.failures.back()->nodes, [](const node_report& n) {
              return n.outcome == node_outcome::refused;
          }) >= 2);
}

TEST_CASE("p30: renewals that fail at once keep a minimum spacing",
          "[core][keep_alive][pitfall][p30]")
{
    kept_world w;
    const auto ttl = ms(GENERATE(200, 3000, 60'000));
    core::lease& l = w.keep("r", ttl);
    // No node is connected, so each renewal fails at once.
    for (unsigned i = 0; i < 3; ++i) {
        w.lose(i);
    }
    const instant end = l.valid_until();
    w.advance(end - w.now + 1s);
    CHECK(w.told(renewal_outcome::lost) == 1);
    // The first at a quarter of the ttl, then one each 24th of the ttl.
    CHECK(w.told(renewal_outcome::unknown) >= 8);
    CHECK(w.told(renewal_outcome::unknown) <= 18);
}

TEST_CASE("p30: a renewal asks for the ttl of its own lock", "[core][keep_alive][pitfall][p30]")
{
    kept_world w;
    w.keep("a", 3s);
    w.keep("b", 40s);
    w.advance(60s);
    for (const words& sent : w.peers[0]->log) {
        if (sent[0] == "EVALSHA") {
            CHECK(sent.back() == (sent[3] == "a" ? "3000" : "40000"));
        }
    }
    CHECK(w.keys() == 6);
}

TEST_CASE("p31: a client renews the shortest allowed ttl twice before it ends",
          "[core][keep_alive][pitfall][p31]")
{
    kept_world w;
    const auto ttl = std::chrono::floor<std::chrono::milliseconds>(4 * w.settings.node_timeout);
    core::lease& l = w.keep("r", ttl);
    w.silence(true);
    w.advance(l.valid_until() - w.now);
    CHECK(w.told(renewal_outcome::unknown) >= 2);
}

TEST_CASE("p31: a client renews a lock of any ttl twice before it would end",
          "[core][keep_alive][pitfall][p31]")
{
    redlock::config c;
    c.node_timeout = ms(GENERATE(1, 2, 7, 50, 1000));
    c.stall_timeout = 5s;
    c.ping_interval = 0ms;
    CAPTURE(c.node_timeout);
    kept_world w(3, c);
    unsigned taken = 0;
    for (std::chrono::milliseconds ttl = 1ms; ttl <= base::max_ttl + 1ms;
         ttl += ttl < 300ms ? 1ms : ttl / 5) {
        CAPTURE(ttl);
        if (base::validate_ttl(w.settings, ttl)) {
            CHECK((ttl < 4 * c.node_timeout || ttl > base::max_ttl));
            continue;
        }
        // Each lock has a resource of its own, since a client that takes one again and again
        // yields.
        core::lease& l = w.keep("r" + std::to_string(++taken), ttl);
        const auto before = w.core->snapshot().renewed;
        w.advance(ttl - 1ns);
        REQUIRE(w.core->snapshot().renewed >= before + 2);
        REQUIRE(l.valid_until() > w.now);
        REQUIRE_FALSE(w.release(l).error);
    }
    CHECK(taken > 90);
    CHECK(w.core->snapshot().kept_alive_lost == 0);
    CHECK(w.is_idle());
}

TEST_CASE("p28: after many locks have come and gone each held lock still has one renewal",
          "[core][keep_alive][pitfall][p28]")
{
    kept_world w;
    for (int i = 0; i < 1000; ++i) {
        core::lease& l = w.keep("r", 3s);
        w.advance(7ms);
        REQUIRE_FALSE(w.release(l).error);
    }
    CHECK(w.core->next_deadline() >= w.now + 1s);  // a ping
    core::lease& l = w.keep("r", 3s);
    const auto before = w.core->snapshot().renewed;
    w.advance(1s);
    CHECK(w.core->snapshot().renewed == before + 1);
    CHECK(w.is_idle_without(l));
}

TEST_CASE("p29: a renewal that is answered after the release revives nothing",
          "[core][keep_alive][pitfall][p29]")
{
    kept_world w;
    core::lease& l = w.keep("r", 3s);
    w.manual();
    while (w.pending(0).empty()) {
        w.advance(10ms);
    }
    call* released = nullptr;
    if (GENERATE(false, true)) {
        released = &w.release(l);
    } else {
        w.drop(l);
    }
    for (unsigned i = 0; i < 3; ++i) {
        REQUIRE(w.pending(i).size() == 2);
        w.answer(i, yes);
    }
    CHECK(w.core->snapshot().renewed == 0);
    for (unsigned i = 0; i < 3; ++i) {
        w.answer(i, yes);
    }
    CHECK((released == nullptr || released->done()));
    w.manual(false);
    w.advance(10s);
    CHECK(w.count(0, "EVALSHA") == 2);
    CHECK(w.is_idle());
    CHECK(w.told(renewal_outcome::lost) == 0);
}

TEST_CASE("p32: a suspended program first hears of the loss", "[core][keep_alive][pitfall][p32]")
{
    kept_world w;
    core::lease& l = w.keep("r", 3s);
    call& wait = w.wait_lost(l);
    w.manual();
    call& look = w.inspect("r");
    w.now += 5s;
    w.core->network().on_bytes(w.now, 0, "*2\r\n_\r\n:-2\r\n");
    w.core->network().on_bytes(w.now, 1, "*2\r\n_\r\n:-2\r\n");
    REQUIRE(w.core->operations().finished() == 1);
    w.core->check_leases(w.now);
    core::operation* const first = w.core->operations().take_finished(w.now);
    REQUIRE(first != nullptr);
    CHECK(first->what == core::operation::kind::wait_lost);
    CHECK(first->error == errc::lost);
    CHECK(first->user == &wait);
    w.core->operations().recycle(*first);
    w.settle();
    CHECK(look.done());
    CHECK_FALSE(wait.done());
}

TEST_CASE("p32: the client counts renewals that begin late", "[core][keep_alive][pitfall][p32]")
{
    kept_world w;
    w.keep("r", 3s);
    w.now += 2s;
    w.core->on_time(w.now);
    w.settle();
    CHECK(w.core->snapshot().late_renewals == 1);
    CHECK(w.core->snapshot().renewed == 1);
}

TEST_CASE("the old validity holds until a renewal is certain and the new one counts from its start",
          "[core][keep_alive]")
{
    kept_world w;
    core::lease& l = w.keep("r", 3s);
    const instant before = l.valid_until();
    w.manual();
    while (w.pending(0).empty()) {
        w.advance(1ms);
    }
    const instant asked = w.now;
    w.advance(20ms);
    w.answer(0, yes);
    CHECK(l.valid_until() == before);
    w.answer(1, yes);
    CHECK(l.valid_until() <= w.settings.validity_end(asked, 3s));
    CHECK(l.valid_until() > w.settings.validity_end(asked - 2ms, 3s));
}

TEST_CASE("a client keeps a lock no longer than its max_hold", "[core][keep_alive]")
{
    kept_world w;
    const auto hold = ms(GENERATE(3000, 3500, 10'000, 12'345));
    CAPTURE(hold.count());
    const instant begun = w.now;
    core::lease& l = w.keep("r", 3s, {.max_hold = hold});
    call& wait = w.wait_lost(l);
    w.advance(hold - 200ms);
    CHECK_FALSE(wait.done());
    CHECK(w.keys() == 3);
    w.advance(201ms);
    CHECK(wait.error == errc::lost);
    CHECK(wait.ended <= begun + hold);
    CHECK(w.keys() == 0);
    CHECK(w.core->snapshot().limits_reached == 1);
    CHECK(w.told(renewal_outcome::limit_reached) == 1);
    CHECK(w.told(renewal_outcome::lost) == 1);
}

TEST_CASE("a client renews a lock no more often than its max_renewals", "[core][keep_alive]")
{
    kept_world w;
    const auto most = GENERATE(0u, 1u, 5u);
    core::lease& l = w.keep("r", 3s, {.max_renewals = most});
    w.advance(1s + most * 1s);
    CHECK(w.core->snapshot().renewed == most);
    CHECK(w.told(renewal_outcome::limit_reached) == 1);
    CHECK(l.valid_until() > w.now);
    w.advance(3s);
    CHECK(w.core->snapshot().renewed == most);
    CHECK(l.valid_until() <= w.now);
    CHECK(w.core->snapshot().kept_alive_lost == 1);
}

TEST_CASE("a wait for a loss ends at every other end too", "[core][keep_alive]")
{
    kept_world w;
    const bool kept = GENERATE(false, true);
    core::lease& l = kept ? w.keep("r", 3s) : w.lock("r", {.ttl = 3s});
    call& wait = w.wait_lost(l);
    CHECK_FALSE(wait.done());
    SECTION("when the lock is released")
    {
        (void)w.release(l);
        CHECK(wait.error == errc::not_held);
    }
    SECTION("when the lock is dropped")
    {
        w.drop(l);
        CHECK(wait.error == errc::not_held);
    }
    SECTION("when the lock is detached")
    {
        w.core->operations().detach(w.now, l);
        w.settle();
        CHECK(wait.error == errc::not_held);
    }
    SECTION("when the client is closed")
    {
        w.core->close(w.now);
        w.settle();
        CHECK(wait.error == errc::closed);
        w.core->operations().detach(w.now, l);
    }
    SECTION("when the client is stopped")
    {
        w.stop();
        CHECK(wait.error == errc::closed);
        w.core->operations().detach(w.now, l);
    }
    SECTION("when the wait is cancelled")
    {
        w.cancel(wait);
        CHECK(wait.error == boost::system::errc::operation_canceled);
        w.drop(l);
    }
    CHECK(wait.completions == 1);
    const auto renewed = w.core->snapshot().renewed;
    w.advance(10s);
    CHECK(w.core->snapshot().renewed == renewed);
    CHECK(w.core->snapshot().kept_alive == 0);
    CHECK(w.told(renewal_outcome::lost) == 0);
    CHECK(w.core->snapshot().leases == 0);
}

TEST_CASE("an extend moves the end that a waiter for the loss waits for", "[core][keep_alive]")
{
    kept_world w;
    core::lease& l = w.lock("r", {.ttl = 3s});
    call& wait = w.wait_lost(l);
    w.advance(2s);
    REQUIRE_FALSE(w.extend(l, 30s).error);
    w.advance(20s);
    CHECK_FALSE(wait.done());
    const instant end = l.valid_until();
    w.advance(20s);
    CHECK(wait.error == errc::lost);
    CHECK(wait.ended == end);
}

TEST_CASE("a client keeps a lock alive after an extend of any length", "[core][keep_alive]")
{
    // A long lease loses its validity well before its keys expire. Here that span exceeds the ttl
    // of the next renewal.
    constexpr auto ttl = 1s;
    const auto long_ = GENERATE(10s, 100s, 1000s);
    kept_world w;
    core::lease& l = w.keep("r", ttl);
    call& wait = w.wait_lost(l);
    REQUIRE_FALSE(w.extend(l, long_).error);
    REQUIRE(l.valid_until() > w.now + long_ / 2);
    w.advance(long_ + 10s);
    CHECK_FALSE(wait.done());
    CHECK(l.valid_until() > w.now);
    CHECK(w.told(renewal_outcome::lost) == 0);
}

TEST_CASE("a renewal in flight remains the only one although an extend moves the end",
          "[core][keep_alive]")
{
    kept_world w;
    core::lease& l = w.keep("r", 300ms);
    const instant end = l.valid_until();
    // No renewal succeeds until shortly before the end.
    w.refuse("EVALSHA", "OOM not now");
    w.advance(end - 30ms - w.now);
    for (const auto& p : w.peers) {
        p->master.refusals.clear();
        p->automatic = false;
    }
    call& extend = w.extend(l, 300ms);
    const auto sent = w.count(0, "EVALSHA");
    while (w.count(0, "EVALSHA") == sent && w.now < end - 2ms) {
        w.advance(1ms);
    }
    REQUIRE(w.count(0, "EVALSHA") == sent + 1);
    REQUIRE_FALSE(extend.done());
    w.answer(0, ":1\r\n");
    w.answer(1, ":1\r\n");
    REQUIRE(extend.done());
    REQUIRE(l.valid_until() > end);
    w.advance(end + 2ms - w.now);
    CHECK(w.count(0, "EVALSHA") == sent + 1);
    for (unsigned i = 0; i < 3; ++i) {
        while (!w.peers[i]->asked.empty()) {
            w.answer(i, ":1\r\n");
        }
        w.peers[i]->automatic = true;
    }
    CHECK(l.valid_until() > w.now);
    REQUIRE_FALSE(w.release(l).error);
    w.advance(10s);
    CHECK(w.is_idle());
}

TEST_CASE("p28: a frozen node delays no renewal", "[core][keep_alive][pitfall][p28]")
{
    kept_world w;
    std::vector<core::lease*> held;
    for (int i = 0; i < 100; ++i) {
        held.push_back(&w.keep("r" + std::to_string(i), 3s));
    }
    w.peers[2]->frozen = true;
    w.advance(30s);
    for (const core::lease* l : held) {
        CHECK(l->valid_until() - w.now > 1900ms);
    }
    CHECK(w.core->snapshot().renewal_unknown == 0);
}

TEST_CASE("p38: two kept-alive locks of a client are independent",
          "[core][keep_alive][pitfall][p38]")
{
    kept_world w;
    core::lease& a = w.keep("a", 3s);
    core::lease& b = w.keep("b", 3s);
    w.advance(500ms);
    w.drop(a);
    w.advance(30s);
    CHECK(b.valid_until() > w.now);
    CHECK(w.keys() == 3);
}

TEST_CASE("a client spreads the renewals of many locks that it took at once", "[core][keep_alive]")
{
    kept_world w;
    for (int i = 0; i < 1000; ++i) {
        (void)w.keep("r" + std::to_string(i), 12s);
    }
    w.advance(60s);
    // 1000 locks with a renewal each 3.5 s: 2.9 in 10 ms.
    std::uint64_t most = 0;
    for (int i = 0; i < 400; ++i) {
        const auto before = w.core->snapshot().renewed;
        w.advance(10ms);
        most = std::max(most, w.core->snapshot().renewed - before);
    }
    CHECK(most < 30);
    CHECK(w.core->snapshot().kept_alive_lost == 0);
}

TEST_CASE("renewals that are due in one turn share as few writes as possible", "[core][keep_alive]")
{
    constexpr unsigned many = 1000;
    redlock::config c;
    c.ping_interval = 0ms;
    kept_world w(3, c);
    for (unsigned i = 0; i < many; ++i) {
        (void)w.keep("r" + std::to_string(i), 12s);
    }
    std::vector<unsigned> before;
    for (const auto& p : w.peers) {
        before.push_back(p->writes);
    }
    w.manual();
    w.now += 5s;  // as after a suspension
    w.core->on_time(w.now);
    w.settle();
    for (unsigned i = 0; i < 3; ++i) {
        // Each renewal has some 80 bytes.
        CHECK(w.peers[i]->writes - before[i] <= 1 + many * 100 / core::output_blocks::block_size);
        const auto scripts = w.pending(i);
        CHECK(scripts.size() <= many / core::batch::max_size + 1);
        CHECK(scripts.front() == "EVAL");
        CHECK(std::count(scripts.begin(), scripts.end(), "EVALSHA") ==
              static_cast<std::ptrdiff_t>(scripts.size()) - 1);
    }
}

TEST_CASE("renewals of very many locks wait for each other briefly to share writes",
          "[core][keep_alive]")
{
    redlock::config c;
    c.ping_interval = 0ms;
    kept_world w(3, c);
    for (int i = 0; i < 2000; ++i) {
        (void)w.keep("r" + std::to_string(i), 12s);
    }
    w.advance(60s);
    const auto renewed = w.core->snapshot().renewed;
    const unsigned writes = w.peers[0]->writes;
    w.advance(10s);
    // 2000 locks with a renewal each 3.5 s, in batches each 10 ms.
    CHECK(w.core->snapshot().renewed - renewed > 5000);
    CHECK(w.peers[0]->writes - writes <= 1000);
}

TEST_CASE("max_in_flight refuses new locks and never the renewal of held ones",
          "[core][keep_alive]")
{
    redlock::config c;
    c.max_in_flight = 1;
    kept_world w(3, c);
    core::lease& l = w.keep("r", 3s);
    w.manual();
    call& more = w.acquire("s", {.ttl = 60s, .timeout = 0ms});
    using kind = core::operation::kind;
    CHECK_FALSE(w.core->operations().has_room_for(kind::acquire));
    CHECK_FALSE(w.core->operations().has_room_for(kind::adopt));
    CHECK_FALSE(w.core->operations().has_room_for(kind::inspect));
    CHECK(w.core->operations().has_room_for(kind::extend));
    CHECK(w.core->operations().has_room_for(kind::release));
    CHECK(w.core->operations().has_room_for(kind::wait_lost));
    (void)w.extend(l, 3s);
    CHECK_FALSE(w.core->operations().has_room_for(kind::extend));
    CHECK_FALSE(more.done());
}

TEST_CASE("a closed client renews nothing", "[core][keep_alive]")
{
    kept_world w;
    core::lease& l = w.keep("r", 3s);
    w.core->close(w.now);
    w.settle();
    w.advance(10s);
    CHECK(w.core->snapshot().renewed == 0);
    CHECK(w.keys() == 0);
    w.core->operations().detach(w.now, l);
}

TEST_CASE("a kept-alive lock without memory survives or is lost and leaves nothing",
          "[core][keep_alive]")
{
    kept_world w;
    std::vector<core::lease*> held;
    for (int i = 0; i < 40; ++i) {
        held.push_back(&w.keep("r" + std::to_string(i), 3s));
    }
    w.fail_every = GENERATE(1u, 2u, 3u, 7u);
    w.advance(10s);
    w.fail_every = 0;
    for (core::lease* l : held) {
        w.drop(*l);
    }
    w.advance(10s);
    CHECK(w.keys() == 0);
    CHECK(w.core->snapshot().kept_alive == 0);
    CHECK(w.core->snapshot().leases == 0);
    CHECK(w.core->snapshot().in_flight == 0);
}
