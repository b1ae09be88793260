#include "core/client_core.hpp"

#include "harness.hpp"
#include "support/allocation_count.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <utility>

using namespace redlock;
using namespace redlock::test;

namespace {

config without_health_checks()
{
    config c;
    c.ping_interval = 0ms;
    c.stall_timeout = 24h;
    c.fair_queue = false;
    return c;
}

config with_queue()
{
    config c = without_health_checks();
    c.fair_queue = true;
    return c;
}

config without_notifications()
{
    config c = without_health_checks();
    c.release_notifications = false;
    return c;
}

/// Three ready nodes whose input is thrown away, so that only the core allocates.
struct bare_world {
    bench_world dressed;
    core::client_core& c = *dressed.core;
    instant now;
    /// By node: its reply after a grant.
    std::array<std::string, 3> proofs;

    explicit bare_world(const config& with = without_health_checks()) : dressed{3, with}
    {
        for (unsigned i = 0; i < 3 && with.restart_guard; ++i) {
            model_master& m = dressed.peers[i]->master;
            const std::string marker =
                m.run_id + dressed.settings.guard->fingerprint + " since=1700000000000000";
            m.put("redlock:admitted", {.value = marker, .end = {}});
            proofs[i] = "$" + std::to_string(marker.size()) + "\r\n" + marker + "\r\n";
        }
        // The canned answers have no role.
        for (auto& p : dressed.peers) {
            p->master.role.clear();
        }
        dressed.start();
        now = dressed.now;
    }

    /// Returns the buffers as the engine does.
    void write(unsigned node)
    {
        std::string used = std::exchange(c.network().take_output(node), {});
        used.clear();
        c.network().on_written(node, std::move(used));
    }

    void everybody_says(std::string_view bytes)
    {
        (void)c.network().take_written();
        for (unsigned i = 0; i < 3; ++i) {
            write(i);
            c.network().on_bytes(now, i, bytes);
        }
        (void)c.network().take_written();
    }

    void everybody_grants()
    {
        everybody_says(ok);
        for (unsigned i = 0; i < 3; ++i) {
            if (!proofs[i].empty()) {
                c.network().on_bytes(now, i, proofs[i]);
            }
        }
    }

    core::operation* finished()
    {
        core::operation* op = c.operations().take_finished(now);
        if (op != nullptr) {
            c.operations().recycle(*op);
        }
        return op;
    }

    /// False if something went wrong.
    bool cycle(std::string_view name)
    {
        now += std::chrono::microseconds{100};
        core::operation& taken = c.operations().acquire(now, name, {});
        everybody_grants();
        return renew_and_release(taken);
    }

    bool fenced_cycle(std::string_view name)
    {
        now += std::chrono::microseconds{100};
        core::operation& taken = c.operations().acquire(now, name, {.fencing = true});
        everybody_says("+OK\r\n:1700000000000000\r\n");
        return renew_and_release(taken);
    }

    /// The counters are gone. The client gives them a ttl and aligns them.
    bool raised_cycle(std::string_view name)
    {
        now += std::chrono::microseconds{100};
        core::operation& taken = c.operations().acquire(now, name, {.fencing = true});
        everybody_says("+OK\r\n:7\r\n");
        everybody_says(":8\r\n:1700000000000000\r\n");
        return renew_and_release(taken);
    }

    bool renew_and_release(core::operation& taken)
    {
        core::lease* l = taken.subject;
        if (finished() != &taken || taken.error) {
            return false;
        }
        core::operation& renewed = c.operations().extend(now, *l, 10s, nullptr);
        everybody_says(yes);
        if (finished() != &renewed || renewed.error) {
            return false;
        }
        core::operation& released = c.operations().release(now, *l, nullptr);
        everybody_says(yes);
        return finished() == &released && !released.error;
    }

    /// The acquire is refused once, waits, and then gets the lock.
    bool contended_cycle(std::string_view name)
    {
        now += std::chrono::microseconds{100};
        core::operation& taken = c.operations().acquire(now, name, {});
        everybody_says(nil);
        everybody_says(no);
        now = c.next_deadline();
        c.on_time(now);
        if (c.snapshot().unanswered != 6) {
            return false;
        }
        everybody_says("+OK\r\n:9999\r\n");
        return drop(taken);
    }

    bool drop(core::operation& taken)
    {
        core::lease* l = taken.subject;
        if (finished() != &taken || taken.error) {
            return false;
        }
        c.operations().drop(now, *l);
        everybody_says(yes);
        return true;
    }

    void say(unsigned node, std::string_view bytes) { c.network().on_bytes(now, node, bytes); }

    /// A node that the core wants to write these words to, and whether it asks for notifications.
    /// Throws all output away.
    struct output {
        unsigned node = 0;
        bool begins = false;
    };
    output taken_output(std::string_view what)
    {
        output found;
        (void)c.network().take_written();
        for (unsigned i = 0; i < 3; ++i) {
            const std::string& bytes = c.network().take_output(i);
            if (bytes.find(what) != std::string::npos) {
                found = {i, bytes.find("TRACKING") != std::string::npos};
            }
            write(i);
        }
        return found;
    }

    /// The acquire takes a ticket, hears that the lock is free, and gets it. `is_new`: it is
    /// refused first. `others_wait`: the client hears that, so the next acquire takes a ticket at
    /// once.
    bool queued_cycle(std::string_view name, bool is_new, bool others_wait)
    {
        if (is_new) {
            now += std::chrono::seconds{3};  // the client ends its notifications
            c.on_time(now);
            if (const output over = taken_output("OFF"); over.begins) {
                say(over.node, ok);
            }
        } else {
            now += std::chrono::microseconds{100};
        }
        core::operation& taken = c.operations().acquire(now, name, {});
        if (is_new) {
            (void)taken_output("SET");
            for (unsigned i = 0; i < 3; ++i) {
                say(i, nil);
            }
        }
        const output asked = taken_output(base::queue_suffix);
        for (unsigned i = 0; is_new && i < 3; ++i) {
            say(i, no);
        }
        say(asked.node, "*5\r\n:0\r\n$0\r\n\r\n:9999\r\n:7\r\n:0\r\n");
        const output watched = taken_output("PTTL");
        say(asked.node, watched.begins ? "+OK\r\n+OK\r\n:9999\r\n" : "+OK\r\n:9999\r\n");
        say(asked.node, ">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nr\r\n");
        (void)taken_output("SET");
        for (unsigned i = 0; i < 3; ++i) {
            say(i, ok);
        }
        (void)taken_output(base::queue_suffix);
        say(asked.node, others_wait ? ":1\r\n" : ":0\r\n");
        return c.snapshot().notified_attempts_refused == 0 && drop(taken);
    }
};

}  // namespace

TEST_CASE("an acquire with a renewal and a release allocates nothing", "[core]")
{
    config c = without_health_checks();
    if (GENERATE(false, true)) {
        c.restart_guard = guard_config{.max_ttl = 10s};
    }
    bare_world w{c};
    const std::string name = "a-resource/with-a-name-longer-than-a-small-string";
    for (int i = 0; i < 100; ++i) {
        REQUIRE(w.cycle(name));
    }
    const std::uint64_t before = allocated_here().blocks;
    bool went_well = true;
    for (int i = 0; i < 1000; ++i) {
        went_well = w.cycle(name) && went_well;
    }
    CHECK(allocated_here().blocks - before == 0);
    CHECK(went_well);
    CHECK(w.dressed.is_idle());
}

TEST_CASE("a renewal that succeeds and calls config::on_renewal allocates nothing", "[core]")
{
    bare_world w;
    core::operation& taken = w.c.operations().acquire(w.now, "r", {.keep_alive = keep_alive{}});
    w.everybody_grants();
    REQUIRE(w.finished() == &taken);
    unsigned told = 0;
    const auto renew = [&] {
        w.now = w.c.next_deadline();
        w.c.on_time(w.now);
        (void)w.c.network().take_written();
        if (w.c.network().has_output(0)) {
            w.everybody_says(yes);
        }
        core::renewal_news news;
        while (w.c.take_news(news)) {
            told += news.outcome == renewal_outcome::renewed && news.report == nullptr ? 1U : 0U;
            w.c.forget(news);
        }
    };
    while (told < 100) {
        renew();
    }
    const std::uint64_t before = allocated_here().blocks;
    while (told < 1000) {
        renew();
    }
    CHECK(allocated_here().blocks - before == 0);
    CHECK(w.c.snapshot().renewed == told);
}

TEST_CASE("an acquire with a fencing token allocates nothing", "[core][fencing]")
{
    bare_world w;
    for (int i = 0; i < 100; ++i) {
        REQUIRE(w.fenced_cycle("r"));
        REQUIRE(w.raised_cycle("r"));
    }
    const std::uint64_t before = allocated_here().blocks;
    bool went_well = true;
    for (int i = 0; i < 1000; ++i) {
        went_well = w.fenced_cycle("r") && w.raised_cycle("r") && went_well;
    }
    CHECK(allocated_here().blocks - before == 0);
    CHECK(went_well);
    CHECK(w.dressed.core->snapshot().counter_alignments == 1100);
    CHECK(w.dressed.is_idle());
}

TEST_CASE("an acquire that tries again allocates nothing", "[core]")
{
    enum class kind { by_chance, refused, behind_others };
    const kind what = GENERATE(kind::by_chance, kind::refused, kind::behind_others);
    bare_world w{what == kind::by_chance ? without_notifications() : with_queue()};
    if (what == kind::behind_others) {
        REQUIRE(w.queued_cycle("r", true, true));
    }
    const auto cycle = [&] {
        switch (what) {
            case kind::by_chance: return w.contended_cycle("r");
            case kind::refused: return w.queued_cycle("r", true, false);
            default: return w.queued_cycle("r", false, true);
        }
    };
    for (int i = 0; i < 100; ++i) {
        REQUIRE(cycle());
    }
    const std::uint64_t before = allocated_here().blocks;
    bool went_well = true;
    for (int i = 0; i < 1000; ++i) {
        went_well = cycle() && went_well;
    }
    CHECK(allocated_here().blocks - before == 0);
    CHECK(went_well);
    CHECK(w.dressed.is_idle());
}

TEST_CASE("many locks at once leave nothing in use when they end", "[core]")
{
    running_world w;
    w.set_ways(1ms, 0ms);
    std::vector<call*> taken;
    for (unsigned i = 0; i < 500; ++i) {
        taken.push_back(&w.acquire("r" + std::to_string(i % 250), {.timeout = 20ms}));
    }
    CHECK(w.core->snapshot().in_flight == 500);
    w.advance(100ms);
    unsigned held = 0;
    for (call* c : taken) {
        REQUIRE(c->completions == 1);
        if (c->held != nullptr) {
            ++held;
            w.drop(*c->held);
        }
    }
    CHECK(held == 250);
    w.advance(10ms);
    CHECK(w.keys() == 0);
    CHECK(w.is_idle());
    CHECK(w.core->network().is_quiet());
}

TEST_CASE("a quiet client wakes up only for its health checks", "[core]")
{
    running_world w{3, {.stall_timeout = 3s, .ping_interval = 4s}};
    w.drop(w.lock("r"));
    call& cancelled = w.acquire("r");
    w.drop(*cancelled.held);
    CHECK(w.core->next_deadline() == w.now + 3s);
    const std::uint64_t before = w.core->snapshot().commands;
    w.advance(3s);
    CHECK(w.core->snapshot().commands == before);
}

TEST_CASE("a round that all nodes answered leaves no timer", "[core]")
{
    manual_world w;
    (void)w.acquire("r");
    CHECK(w.core->next_deadline() == w.now + w.settings.node_timeout);
    for (unsigned i = 0; i < 3; ++i) {
        w.answer(i, ok);
    }
    CHECK(w.core->next_deadline() > w.now + w.settings.node_timeout);
}
