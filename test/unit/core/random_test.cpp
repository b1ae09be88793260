#include "harness.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <map>
#include <new>
#include <random>
#include <set>
#include <string>
#include <utility>

using namespace redlock;
using namespace redlock::test;

namespace {

/// All events in a random order that a seed repeats.
class play {
public:
    explicit play(std::uint32_t seed, unsigned fail_every = 0)
        : random_(seed),
          w_(1 + below(5), configured(), seed)
    {
        w_.fail_every = fail_every;
        for (auto& p : w_.peers) {
            p->master.has_delifeq = below(4) == 0;
            p->master.knows_hello = below(8) != 0;
        }
        w_.start();
    }

    /// Adds the statistics of all plays, which show that the plays test something.
    static void add(stats& sum, const stats& s)
    {
        sum.acquired += s.acquired;
        sum.contended += s.contended;
        sum.unavailable += s.unavailable;
        sum.timed_out += s.timed_out;
        sum.cancelled += s.cancelled;
        sum.released += s.released;
        sum.extended += s.extended;
        sum.late_grants += s.late_grants;
        sum.counter_alignments += s.counter_alignments;
        sum.script_reloads += s.script_reloads;
        sum.disconnects += s.disconnects;
    }

    [[nodiscard]] stats snapshot() const { return w_.core->snapshot(); }
    /// Operations that had no memory to begin.
    [[nodiscard]] unsigned refused() const { return refused_; }
    /// Operations that began and failed for lack of memory.
    [[nodiscard]] std::size_t starved() const
    {
        return static_cast<std::size_t>(std::count_if(
            w_.calls.begin(), w_.calls.end(),
            [](const call& c) { return c.error == boost::system::errc::not_enough_memory; }));
    }

    void run(unsigned steps)
    {
        for (unsigned i = 0; i < steps; ++i) {
            try {
                step();
            } catch (const std::bad_alloc&) {
                ++refused_;
            }
            check();
        }
        heal();
    }

private:
    std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_()) % n; }

    config configured()
    {
        config c;
        c.reconnect_backoff_max = ms(100);
        c.stall_timeout = ms(200);
        c.max_pending_releases = 1000;
        c.release_notifications = below(2) == 0;
        return c;
    }

    peer& any_peer() { return *w_.peers[below(static_cast<std::uint32_t>(w_.peers.size()))]; }

    void step()
    {
        switch (below(12)) {
            case 0:
            case 1: acquire(); return;
            case 2: end_one(); return;
            case 3: renew_one(); return;
            case 4: cancel_one(); return;
            case 5: lose_one(); return;
            case 6: any_peer().dial = static_cast<peer::dialling>(below(3)); return;
            case 7: upset(any_peer()); return;
            case 8: (void)watch(w_.inspect(name()), nanos{}); return;
            case 9: thaw_one(); return;
            case 10: w_.advance(ms(below(20))); return;
            case 11: w_.advance(ms(below(150))); return;
        }
    }

    std::string name() { return below(3) == 0 ? "b" : "a"; }

    void acquire()
    {
        const auto deadline = ms(below(3) * below(200));
        w_.with_report = below(4) == 0;
        const acquire_options options{.ttl = ttl, .timeout = deadline, .fencing = below(2) == 0};
        const std::string resource = name();
        call& c = watch(w_.acquire(resource, options), deadline);
        if (*options.fencing) {
            floors_[&c] = largest_[resource];
        }
    }

    call& watch(call& c, nanos deadline)
    {
        due_[&c] = c.begun + deadline + w_.settings.node_timeout;
        return c;
    }

    core::lease* take_held()
    {
        if (held_.empty()) {
            return nullptr;
        }
        std::swap(held_[below(static_cast<std::uint32_t>(held_.size()))], held_.back());
        core::lease* l = held_.back();
        held_.pop_back();
        return l;
    }

    void end_one()
    {
        if (core::lease* l = take_held()) {
            if (below(2) == 0) {
                w_.drop(*l);
                return;
            }
            try {
                (void)watch(w_.release(*l), nanos{});
            } catch (const std::bad_alloc&) {
                w_.drop(*l);
                throw;
            }
        }
    }

    void renew_one()
    {
        if (core::lease* l = take_held()) {
            held_.push_back(l);
            (void)watch(w_.extend(*l, ttl), nanos{});
        }
    }

    void cancel_one()
    {
        for (call& c : w_.calls) {
            if (!c.done() && below(2) == 0) {
                w_.cancel(c);
                REQUIRE(c.done());
                return;
            }
        }
    }

    void lose_one()
    {
        const auto node = below(static_cast<std::uint32_t>(w_.peers.size()));
        if (w_.peers[node]->connected) {
            w_.go_astray(node, below(4), ms(below(3) * below(200)));
            w_.close(node);
        }
    }

    void thaw_one()
    {
        const auto node = below(static_cast<std::uint32_t>(w_.peers.size()));
        w_.thaw(node);
        w_.peers[node]->master.refusals.clear();
        w_.settle();
    }

    void upset(peer& p)
    {
        p.way_there = ms(below(2) * below(70));
        p.way_back = ms(below(2) * below(70));
        p.master.date_offset = ms(below(2) * below(100));
        switch (below(8)) {
            case 0: p.frozen = true; return;
            case 1: p.master.refusals["SET"] = "OOM command not allowed"; return;
            case 2: p.master.refusals["EVALSHA"] = "LOADING Redis is loading"; return;
            case 3: p.master.flush_scripts(); return;
            case 4: p.master.refusals["DELIFEQ"] = "NOPERM no permissions to run this"; return;
            case 5: p.master.refusals["INCR"] = "NOPERM no permissions to run this"; return;
            case 6: ahead_of_all(p.master); return;
            case 7: return;
        }
    }

    /// A counter far above the others.
    void ahead_of_all(model_master& m)
    {
        const std::string key = name() + std::string(base::counter_suffix);
        if (m.find(w_.now, key) != nullptr) {
            const std::int64_t far = std::stoll(m.value(w_.now, key)) + below(1'000'000'000);
            m.put(key, {.value = std::to_string(far), .end = w_.now + 24h});
        }
    }

    void collect()
    {
        for (; collected_ < w_.calls.size() && w_.calls[collected_].done(); ++collected_) {
            note(w_.calls[collected_]);
        }
        for (std::size_t i = collected_; i < w_.calls.size(); ++i) {
            note(w_.calls[i]);
        }
    }

    void note(call& c)
    {
        if (c.held != nullptr) {
            check_token(c);
            held_.push_back(std::exchange(c.held, nullptr));
        }
    }

    /// The token is larger than all tokens that were known when the acquire began, and no other
    /// lease has it.
    void check_token(const call& c)
    {
        const std::uint64_t token = c.held->fencing_token;
        const auto floor = floors_.find(&c);
        REQUIRE((token != 0) == (floor != floors_.end()));
        if (floor != floors_.end()) {
            REQUIRE(token > floor->second);
            REQUIRE(tokens_.insert({c.held->resource, token}).second);
            largest_[c.held->resource] = std::max(largest_[c.held->resource], token);
        }
    }

    void check()
    {
        collect();
        for (const auto& [c, by] : due_) {
            REQUIRE(c->completions <= 1);
            REQUIRE((c->done() ? c->ended <= by : w_.now <= by));
        }
        std::map<std::string, unsigned> believed;
        for (const core::lease* l : held_) {
            if (l->valid_until() <= w_.now) {
                continue;
            }
            REQUIRE(++believed[l->resource] == 1);
            std::size_t with_key = 0;
            for (const auto& p : w_.peers) {
                with_key += p->master.value(w_.now, l->resource) == l->token.view() ? 1u : 0u;
            }
            REQUIRE(with_key >= w_.settings.quorum);
        }
    }

    /// Releases everything and lets everything work again. No key may be left before it could have
    /// expired.
    void heal()
    {
        w_.fail_every = 0;
        for (unsigned i = 0; i < w_.peers.size(); ++i) {
            peer& p = *w_.peers[i];
            p.dial = peer::dialling::at_once;
            p.way_there = p.way_back = {};
            p.master.refusals.clear();
            w_.thaw(i);
        }
        w_.advance(ms(1000));
        check();
        while (core::lease* l = take_held()) {
            w_.drop(*l);
        }
        w_.advance(ms(3000));
        for (const call& c : w_.calls) {
            REQUIRE(c.completions == 1);
        }
        // A release without memory counts as dropped, and its key expires.
        REQUIRE((w_.keys() == 0 || w_.core->snapshot().pending_releases_dropped > 0));
        REQUIRE(w_.core->network().is_quiet());
        w_.advance(ttl + ms(2000));
        REQUIRE(w_.is_idle());
        REQUIRE(w_.core->snapshot().nodes_ready == w_.peers.size());
    }

    /// Long enough that no key expires before heal() has checked.
    static constexpr auto ttl = std::chrono::milliseconds{30'000};

    std::mt19937 random_;
    bench_world w_;
    std::vector<core::lease*> held_;
    std::map<const call*, instant> due_;
    /// For acquires with a fencing token: the largest token that was known before.
    std::map<const call*, std::uint64_t> floors_;
    std::map<std::string, std::uint64_t> largest_;
    std::set<std::pair<std::string, std::uint64_t>> tokens_;
    std::size_t collected_ = 0;
    unsigned refused_ = 0;
};

}  // namespace

TEST_CASE("in any order of events operations end and leases exclude and keys are released",
          "[core]")
{
    constexpr std::uint32_t seeds = 1000;
    stats sum;
    for (std::uint32_t seed = 0; seed < seeds; ++seed) {
        CAPTURE(seed);
        play p(seed);
        p.run(120);
        play::add(sum, p.snapshot());
    }
    for (const std::uint64_t often :
         {sum.acquired, sum.timed_out, sum.cancelled, sum.released, sum.extended, sum.disconnects,
          sum.unavailable, sum.counter_alignments}) {
        CHECK(often > seeds / 2);
    }
    for (const std::uint64_t now_and_then : {sum.contended, sum.late_grants, sum.script_reloads}) {
        CHECK(now_and_then > seeds / 20);
    }
}

TEST_CASE("operations end and leases exclude and keys are released when memory is scarce", "[core]")
{
    constexpr std::uint32_t seeds = 1000;
    std::size_t refused = 0;
    std::size_t starved = 0;
    std::uint64_t acquired = 0;
    for (std::uint32_t seed = 0; seed < seeds; ++seed) {
        CAPTURE(seed);
        play p(seed, 1 + seed % 17);
        p.run(100);
        refused += p.refused();
        starved += p.starved();
        acquired += p.snapshot().acquired;
    }
    CHECK(refused > seeds / 2);
    CHECK(starved > seeds / 20);
    CHECK(acquired > seeds / 2);
}
