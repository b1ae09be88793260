#include "core/node/admission.hpp"
#include "fenced.hpp"
#include "testing/wire.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cstdint>
#include <string>
#include <string_view>

using namespace redlock;
using namespace redlock::test;
using testing::wire::bulk;

namespace {

const std::string marker_key = "redlock:admitted";
/// The longest ttl would allow a slack of more than a quarter.
constexpr std::int64_t slack = 1'000'000;

config guarded()
{
    config c;
    c.node_timeout = 500ms;
    c.restart_guard = guard_config{.max_ttl = 10s};
    return c;
}

/// Admitted nodes, each with a date of its own.
struct admitted_world : bench_world {
    explicit admitted_world(unsigned nodes = 3) : bench_world(nodes, guarded())
    {
        for (unsigned i = 0; i < nodes; ++i) {
            peers[i]->master.put(marker_key, {.value = marker(i, since(i)), .end = {}});
        }
        start();
    }

    [[nodiscard]] std::int64_t since(unsigned node) const { return begun - 1000 * node; }
    [[nodiscard]] std::string marker(unsigned node, std::int64_t admitted) const
    {
        return peers[node]->master.run_id + settings.guard->fingerprint +
               " since=" + std::to_string(admitted);
    }

    void put_counters(std::int64_t above_the_least)
    {
        for (unsigned i = 0; i < peers.size(); ++i) {
            const std::int64_t value = since(i) - slack + above_the_least;
            peers[i]->master.put(counter, {.value = std::to_string(value), .end = now + 24h});
        }
    }

    /// Answers by hand the SET, the counter after it and then the marker.
    void grant(unsigned node, std::int64_t value, std::int64_t admitted)
    {
        answer(node, ok);
        answer(node, number(value));
        answer(node, bulk(marker(node, admitted)));
    }
    void grant(unsigned node, std::int64_t value) { grant(node, value, since(node)); }

    const std::int64_t begun = date_of(now);
};

core::admission admission_of(const base::guard_settings& g, const std::string& run)
{
    core::admission a(&g);
    a.on_connected(run);
    return a;
}

}  // namespace

TEST_CASE("a marker says when its node was admitted", "[core][guard]")
{
    const base::guard_settings g{.max_ttl = 1s, .quarantine = 1s, .fingerprint = " of=all"};
    const std::string run(40, 'a');
    core::admission a = admission_of(g, run);
    CHECK(a.admitted_us() == 0);
    CHECK(a.undated_marker() == run + " of=all since=");
    for (const std::int64_t date : {std::int64_t{1}, std::int64_t{1'700'000'000'000'000},
                                    std::int64_t{9'999'999'999'999'999}}) {
        const std::string marker = run + " of=all since=" + std::to_string(date);
        for (int times = 0; times < 2; ++times) {
            CHECK(a.judge(marker) == core::marker_says::admitted);
            CHECK(a.admitted_us() == date);
        }
        CHECK(a.undated_marker() == run + " of=all since=");
    }
    a.on_connected(std::string(40, 'b'));
    CHECK(a.admitted_us() == 0);
    CHECK(a.judge(run + " of=all since=1") == core::marker_says::not_admitted);
}

TEST_CASE("a marker with an invalid date counts as one of another configuration", "[core][guard]")
{
    const base::guard_settings g{.max_ttl = 1s, .quarantine = 1s, .fingerprint = " of=all"};
    const std::string run(40, 'a');
    core::admission a = admission_of(g, run);
    // An admission that the client already knows does not change that.
    for (const bool knows : {false, true}) {
        for (const std::string rest :
             {"", " of=all", " of=all since", " of=all since=", " of=all since=0",
              " of=all since=-5", " of=all since=+5", " of=all since=5x", " of=all since= 5",
              " of=all since=12345678901234567", " of=all since=99999999999999999999999",
              " of=some since=5"}) {
            CAPTURE(rest, knows);
            CHECK(a.judge(run + rest) == core::marker_says::other_configuration);
        }
        CHECK(a.judge(std::nullopt) == core::marker_says::not_admitted);
        CHECK(a.judge("") == core::marker_says::not_admitted);
        CHECK(a.judge(run + " of=all since=5") == core::marker_says::admitted);
    }
}

TEST_CASE("a node is admitted from the date that its own clock shows", "[core][guard]")
{
    bench_world w{1, guarded()};
    w.peers[0]->master.date_offset = 77s;
    w.start();
    w.advance(11s);
    REQUIRE(w.core->snapshot().nodes_quarantined == 0);
    const instant admitted = w.now - 11s + 10s + 100ms + 2ms;
    CHECK(w.peers[0]->master.value(w.now, marker_key) ==
          w.peers[0]->master.run_id + w.settings.guard->fingerprint +
              " since=" + std::to_string(date_of(admitted + 77s)));
}

TEST_CASE("a counter from before the admission is no vote and is aligned", "[core][fencing]")
{
    admitted_world w;
    w.put_counters(-2);  // the INCR leaves them one below the limit
    w.advance(3s);
    CHECK(w.lock("r", fenced).fencing_token == static_cast<std::uint64_t>(date_of(w.now)));
    CHECK(w.core->snapshot().counter_alignments == 1);
    for (unsigned i = 0; i < 3; ++i) {
        const words& raised = w.peers[i]->log.back();
        REQUIRE(raised.at(1) == resp::align_script.sha1);
        CHECK(raised.back() == std::to_string(w.since(i) - slack));
    }
}

TEST_CASE("a counter from after the admission votes", "[core][fencing]")
{
    admitted_world w{1};
    w.put_counters(-1);
    CHECK(w.lock("r", fenced).fencing_token == static_cast<std::uint64_t>(w.begun - slack));
    CHECK(w.core->snapshot().counter_alignments == 0);
}

TEST_CASE("without the restart guard every seeded counter votes", "[core][fencing]")
{
    running_world w{1};
    w.peers[0]->master.put(counter, {.value = "1000000000000000", .end = w.now + 24h});
    CHECK(w.lock("r", fenced).fencing_token == 1'000'000'000'000'001U);
}

TEST_CASE("an acquire under the restart guard seeds no counter", "[core][fencing]")
{
    admitted_world w{1};
    w.manual();
    SECTION("of one resource")
    {
        (void)w.acquire("r", fenced);
        const words& counts = w.peers[0]->asked.at(1);
        REQUIRE(counts.at(1) == resp::count_script.sha1);
        CHECK(counts.at(4) == "0");
    }
    SECTION("of several resources")
    {
        (void)w.acquire(strings{"r", "s"}, fenced);
        const words& takes = w.peers[0]->asked.at(0);
        REQUIRE(takes.at(1) == resp::take_script.sha1);
        CHECK(takes.at(3 + 4 + 3) == "0");
    }
}

TEST_CASE("the date that comes with a vote decides whether the vote counts", "[core][fencing]")
{
    admitted_world w{1};
    w.manual();
    const call& c = w.acquire("r", fenced);
    const std::int64_t later = w.begun + 5'000'000;
    w.grant(0, w.begun, later);
    REQUIRE_FALSE(c.done());
    REQUIRE(w.peers[0]->asked.size() == 1);
    CHECK(w.peers[0]->asked[0].back() == std::to_string(later - slack));
    w.answer(0, number(later));
    CHECK(token_of(c) == static_cast<std::uint64_t>(later));
}

TEST_CASE("an alignment raises an old counter to the votes of the others", "[core][fencing]")
{
    admitted_world w;
    w.manual();
    const call& c = w.acquire("r", fenced);
    w.grant(0, w.begun - 2 * slack);
    w.grant(1, w.begun + 7);
    REQUIRE(w.peers[0]->asked.size() == 1);
    CHECK(w.peers[0]->asked[0][6] == std::to_string(w.begun + 7));
    w.answer(0, number(w.begun + 7));
    CHECK(token_of(c) == static_cast<std::uint64_t>(w.begun + 7));
}

TEST_CASE("a node whose date is before its admission does not vote with a new counter",
          "[core][fencing]")
{
    admitted_world w{1};
    w.manual();
    w.with_report = true;
    const call& c = w.acquire("r", once);
    w.grant(0, 1);
    w.answer(0, ":-2\r\n");
    REQUIRE(w.pending(0) == strings{"EVALSHA"});
    SECTION("if an alignment raised the counter")
    {
        w.answer(0, number(w.begun - slack - 1));
    }
    SECTION("if no alignment could raise it")
    {
        w.answer(0, number(-(w.begun - slack - 1)));
    }
    REQUIRE(c.done());
    CHECK(c.error == errc::unavailable);
    CHECK(c.report.nodes[0].error == "this node's date is too early for a new fencing counter");
    CHECK(w.core->snapshot().counter_alignments == 1);
}

TEST_CASE("a node that is in quarantine by now gets no alignment", "[core][fencing]")
{
    admitted_world w;
    w.manual();
    const call& c = w.acquire("r", fenced);
    w.grant(0, w.begun + 5);
    model_master& m = w.peers[0]->master;
    m.run_id.back() = m.run_id.back() == '9' ? 'a' : static_cast<char>(m.run_id.back() + 1);
    w.peers[0]->automatic = true;
    w.close(0);
    w.advance(300ms);
    REQUIRE(w.ready() == 3);
    REQUIRE(w.core->snapshot().nodes_quarantined == 1);
    const std::size_t before = w.peers[0]->log.size();
    w.grant(1, w.begun + 9);
    CHECK(w.peers[0]->log.size() == before);
    w.grant(2, w.begun + 9);
    CHECK(token_of(c) == static_cast<std::uint64_t>(w.begun + 9));
}
