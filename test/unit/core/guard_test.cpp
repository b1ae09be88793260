#include "core/node/info.hpp"
#include "harness.hpp"
#include "testing/wire.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

using namespace redlock;
using namespace redlock::test;
using testing::wire::bulk;

namespace {

constexpr auto longest = 10s;
/// The allowance for drift is added.
constexpr nanos quarantine = 10s + 100ms + 2ms;
const std::string marker_key = "redlock:admitted";

config guarded()
{
    config c;
    c.restart_guard = guard_config{.max_ttl = longest};
    return c;
}

std::string marker_of(const bench_world& w, unsigned node, std::int64_t date = date_of(instant{}))
{
    return w.peers[node]->master.run_id + w.settings.guard->fingerprint +
           " since=" + std::to_string(date);
}

void put_marker(bench_world& w, unsigned node)
{
    w.peers[node]->master.put(marker_key, {.value = marker_of(w, node), .end = {}});
}

void admit_all(bench_world& w)
{
    for (unsigned i = 0; i < w.peers.size(); ++i) {
        put_marker(w, i);
    }
}

struct admitted_world : bench_world {
    explicit admitted_world(unsigned nodes) : bench_world(nodes, guarded())
    {
        admit_all(*this);
        start();
    }
};

std::size_t quarantined(const bench_world& w)
{
    return w.core->snapshot().nodes_quarantined;
}

/// Restarts the server with its keys or without them.
void restart(bench_world& w, unsigned node, bool keeps_keys)
{
    model_master& m = w.peers[node]->master;
    m.run_id.back() = m.run_id.back() == '9' ? 'a' : static_cast<char>(m.run_id.back() + 1);
    m.flush_scripts();
    if (!keeps_keys) {
        m.flush_keys();
    }
    w.close(node);
    w.advance(100ms);
    REQUIRE(w.ready() == w.peers.size());
}

std::size_t pending_keys(const model_master& m)
{
    return static_cast<std::size_t>(
        std::count_if(m.all().begin(), m.all().end(),
                      [](const auto& k) { return k.first.starts_with("redlock:pending:"); }));
}

const acquire_options at_once{.timeout = 0ms, .max_attempts = 1};

}  // namespace

TEST_CASE("a client finds each field of INFO by its name", "[core][guard]")
{
    const std::string_view info = "# Server\r\nredis_version:7\r\nrun_id:abc\r\nempty:\r\nlast:1";
    CHECK(core::info_field(info, "run_id") == "abc");
    CHECK(core::info_field(info, "redis_version") == "7");
    CHECK(core::info_field(info, "last") == "1");
    CHECK(core::info_field(info, "empty").empty());
    CHECK(core::info_field(info, "run").empty());
    CHECK(core::info_field(info, "id").empty());
    CHECK(core::info_field("", "run_id").empty());
    CHECK(core::info_field("run_id", "run_id").empty());

    const std::string digits(40, 'a');
    CHECK(core::run_id_of("run_id:" + digits) == digits);
    CHECK(core::run_id_of("run_id:" + std::string(40, '0')).empty());
    CHECK(core::run_id_of("x:1\nrun_id:" + digits + "\n") == digits);
    CHECK(core::run_id_of("run_id:" + digits + "a").empty());
    CHECK(core::run_id_of("run_id:" + std::string(40, 'A')).empty());
    CHECK(core::run_id_of("run_id:" + std::string(39, 'a')).empty());
}

TEST_CASE("a server may evict if it has a memory limit and a policy for it", "[core][guard]")
{
    for (const std::string_view evicts : {"maxmemory:1\r\nmaxmemory_policy:allkeys-lru\r\n",
                                          "maxmemory:1\r\nmaxmemory_policy:volatile-ttl\r\n",
                                          "maxmemory_policy:volatile-ttl\r\n"}) {
        CHECK(core::memory_fault(evicts).find("may evict locks") != std::string_view::npos);
    }
    for (const std::string_view says_nothing :
         {"used_memory:1\r\n", "maxmemory:0\r\n", "maxmemory:1\r\nmaxmemory_policy:\r\n", ""}) {
        CHECK(core::memory_fault(says_nothing).starts_with("INFO has no maxmemory_policy"));
    }
    CHECK(core::memory_fault("maxmemory:1\r\nmaxmemory_policy:noeviction\r\n").empty());
    CHECK(core::memory_fault("maxmemory_policy:noeviction\r\n").empty());
    CHECK(core::memory_fault("maxmemory:0\r\nmaxmemory_policy:allkeys-lru\r\n").empty());
}

TEST_CASE("a client shows only those numbers of a foreign marker that clients compare",
          "[core][guard]")
{
    const std::string run(40, 'a');
    CHECK(core::disagreement(run + " nodes=5 max_ttl=1000 drift=999999999 x=\x1b[31m", run)
              .ends_with("(theirs: 5 nodes, max_ttl 1 s, drift_factor 0.999999999)"));
    for (const std::string& rest :
         {std::string("\x1b[31m"), std::string(200, 'x'), std::string("nodes=5 max_ttl=1"),
          std::string("nodes=5 max_ttl=-1 drift=0"), std::string("nodes=x max_ttl=1 drift=0"),
          std::string("nodes=5 max_ttl=9223372036854775807 drift=0")}) {
        CHECK(core::disagreement(run + " " + rest, run).ends_with("differs"));
    }
}

TEST_CASE("an admitted node votes and proves its admission each time", "[core][guard]")
{
    admitted_world w{3};
    CHECK(quarantined(w) == 0);
    core::lease& l = w.lock("r", {.ttl = longest});
    CHECK(l.counted == 0b111);
    CHECK(l.granted == 0b111);
    for (unsigned i = 0; i < 3; ++i) {
        const auto& log = w.peers[i]->log;
        REQUIRE(log.size() >= 2);
        CHECK(log[log.size() - 2][0] == "SET");
        CHECK(log.back() == words{"GET", marker_key});
    }
    // An extend of a held lock needs no proof.
    const std::size_t asked = w.count(0, "GET");
    CHECK_FALSE(w.extend(l, longest).error);
    CHECK(w.count(0, "GET") == asked);
    CHECK(w.release(l).released == release_result::released);
    CHECK(w.is_idle());
    CHECK(w.log_lines.empty());
}

TEST_CASE("a node without a marker stays in quarantine to the nanosecond", "[core][guard]")
{
    running_world w{1, guarded()};
    CHECK(quarantined(w) == 1);
    CHECK(w.ready() == 1);
    CHECK(pending_keys(w.peers[0]->master) == 1);
    const auto [key, pending] =
        *std::find_if(w.peers[0]->master.all().begin(), w.peers[0]->master.all().end(),
                      [](const auto& k) { return k.first.starts_with("redlock:pending:"); });
    CHECK(pending.value == w.peers[0]->master.run_id);
    CHECK(*pending.end - w.now == 2 * quarantine + 1min);

    w.with_report = true;
    call& refused = w.acquire("r", at_once);
    REQUIRE(refused.done());
    CHECK(refused.error == errc::unavailable);
    const node_report& told = refused.report.nodes.at(0);
    CHECK(told.outcome == node_outcome::quarantined);
    CHECK(told.quarantine == ms(10'102));
    CHECK(told.error.find("marker is missing") != std::string::npos);
    CHECK(w.count(0, "SET") == 1);  // the pending key

    w.advance(quarantine - 1ns);
    CHECK(quarantined(w) == 1);
    CHECK(w.acquire("r", at_once).report.nodes.at(0).quarantine == ms(1));
    w.advance(1ns);
    CHECK(quarantined(w) == 0);
    CHECK(w.peers[0]->master.value(w.now, marker_key) == marker_of(w, 0, date_of(w.now)));
    CHECK(pending_keys(w.peers[0]->master) == 0);
    (void)w.lock("r", {.ttl = longest});
    CHECK(w.lines_with("may have forgotten locks, and does not vote for 10102 ms") == 1);
    CHECK(w.lines_with("is admitted") == 1);
    CHECK(w.log_lines.size() == 2);
    // The client asks the node nothing more.
    const std::size_t before = w.peers[0]->log.size();
    w.advance(4s);
    CHECK(w.peers[0]->log.size() == before);
    CHECK(w.core->next_deadline() == w.now + 1s);
}

TEST_CASE("a client closes an idle connection whose node returns an invalid marker",
          "[core][guard]")
{
    const std::string_view reply = GENERATE(":1\r\n", "*1\r\n$3\r\nGET\r\n");
    admitted_world w{1};
    w.manual();
    w.advance(5s);
    REQUIRE(w.pending(0) == std::vector<std::string>{"GET"});
    w.answer(0, reply);
    CHECK(w.peers[0]->closes == 1);
    CHECK(w.core->snapshot().protocol_errors == 1);
}

TEST_CASE("a client asks an idle node for its marker and so notices a loss", "[core][guard]")
{
    admitted_world w{1};
    w.peers[0]->master.flush_keys();
    w.advance(5s - 1ns);
    CHECK(quarantined(w) == 0);
    w.advance(1ns);
    CHECK(quarantined(w) == 1);
    CHECK(w.count(0, "PING") == 0);
    w.advance(quarantine);
    CHECK(quarantined(w) == 0);
}

TEST_CASE("the quarantine begins when the client knows that the pending key exists",
          "[core][guard]")
{
    bench_world w{1, guarded()};
    w.peers[0]->way_there = 10ms;
    w.peers[0]->way_back = 10ms;
    w.start();
    w.advance(40ms);  // the handshake
    const instant begun = w.now;
    REQUIRE(w.ready() == 1);
    w.advance(20ms + quarantine + 20ms - 1ns);
    CHECK(quarantined(w) == 1);
    w.advance(1ns);
    CHECK(quarantined(w) == 0);
    CHECK(w.now - begun == quarantine + 40ms);
}

TEST_CASE("a grant without a marker after it is no vote", "[core][guard]")
{
    admitted_world w{3};
    w.manual();
    call& c = w.acquire("r", at_once);
    for (unsigned i = 0; i < 3; ++i) {
        CHECK(w.pending(i) == std::vector<std::string>{"SET", "GET"});
        w.answer(i, ok);
    }
    CHECK_FALSE(c.done());
    w.answer(0, bulk(marker_of(w, 0)));
    w.answer(1, nil);
    CHECK_FALSE(c.done());
    CHECK(quarantined(w) == 1);
    SECTION("because its marker names another run")
    {
        w.answer(2, bulk(std::string(40, '0') + w.settings.guard->fingerprint));
        REQUIRE(c.done());
        CHECK(c.error == errc::unavailable);
        CHECK(quarantined(w) == 2);
    }
    SECTION("because its marker cannot be read")
    {
        w.answer(2, "-ERR broken\r\n");
        REQUIRE(c.done());
        CHECK(c.error == errc::unavailable);
        CHECK(quarantined(w) == 1);
    }
    SECTION("a majority of proven votes is enough")
    {
        w.answer(2, bulk(marker_of(w, 2)));
        REQUIRE(c.held != nullptr);
        CHECK(c.held->counted == 0b101);
    }
}

TEST_CASE("a node that loses its keys while it runs has no vote from its next answer on",
          "[core][guard]")
{
    admitted_world w{1};
    w.peers[0]->master.flush_keys();
    w.with_report = true;
    call& c = w.acquire("r", at_once);
    REQUIRE(c.done());
    CHECK(c.error == errc::unavailable);
    CHECK(c.report.nodes[0].outcome == node_outcome::quarantined);
    CHECK(w.peers[0]->master.find(w.now, "r") == nullptr);  // released
    CHECK(w.peers[0]->connects == 1);
    w.advance(quarantine);
    (void)w.lock("r", {.ttl = longest});
}

TEST_CASE("keys that are lost again restart the quarantine", "[core][guard]")
{
    running_world w{1, guarded()};
    w.advance(quarantine - 1s);
    w.peers[0]->master.flush_keys();
    w.advance(1s);
    CHECK(quarantined(w) == 1);
    CHECK(pending_keys(w.peers[0]->master) == 1);
    w.advance(quarantine - 1ns);
    CHECK(quarantined(w) == 1);
    w.advance(1ns);
    CHECK(quarantined(w) == 0);
}

TEST_CASE("another run of the server restarts the quarantine although the pending key is there",
          "[core][guard]")
{
    running_world w{1, guarded()};
    w.advance(quarantine - 1s);
    restart(w, 0, true);
    CHECK(pending_keys(w.peers[0]->master) == 2);
    w.advance(quarantine - 101ms);
    CHECK(quarantined(w) == 1);
    w.advance(101ms);
    CHECK(quarantined(w) == 0);
    CHECK(w.lines_with("may have forgotten locks") == 2);
}

TEST_CASE("a quarantine continues without a connection and ends once another client admits",
          "[core][guard]")
{
    running_world w{1, guarded()};
    SECTION("while the connection is lost")
    {
        w.advance(5s);
        w.close(0);
        w.advance(quarantine - 5s - 1ns);
        CHECK(quarantined(w) == 1);
        w.advance(1ns);
        CHECK(quarantined(w) == 0);
        CHECK(w.lines_with("may have forgotten locks") == 1);
    }
    SECTION("while the connection is up")
    {
        w.advance(3s);
        put_marker(w, 0);
        w.advance(1s);
        CHECK(quarantined(w) == 0);
    }
    SECTION("while the node is away for longer than its pending key lives")
    {
        w.lose(0);
        w.advance(2 * quarantine + 2min);
        w.peers[0]->master.expire(w.now);
        w.peers[0]->dial = peer::dialling::at_once;
        w.advance(3s);
        CHECK(quarantined(w) == 1);
        w.advance(quarantine);
        CHECK(quarantined(w) == 0);
    }
}

TEST_CASE("a kept or restored marker of another run admits no node", "[core][guard]")
{
    admitted_world w{1};
    CHECK(quarantined(w) == 0);
    restart(w, 0, true);
    CHECK(quarantined(w) == 1);
    CHECK(w.lines_with("it was restarted") == 1);
    w.with_report = true;
    CHECK(w.acquire("r", at_once).report.nodes.at(0).outcome == node_outcome::quarantined);
    w.advance(quarantine);
    CHECK(quarantined(w) == 0);
}

TEST_CASE("a grant whose connection fails before its proof is no vote", "[core][guard]")
{
    admitted_world w{1};
    w.manual();
    w.with_report = true;
    call& c = w.acquire("r", at_once);
    CHECK(w.pending(0) == std::vector<std::string>{"SET", "GET", "PTTL"});
    w.answer(0, ok);
    SECTION("because the node closes it")
    {
        w.close(0);
        REQUIRE(c.done());
        CHECK(c.report.nodes[0].outcome == node_outcome::disconnected);
    }
    SECTION("because the node is too slow")
    {
        w.advance(50ms);
        REQUIRE(c.done());
        CHECK(c.report.nodes[0].outcome == node_outcome::timed_out);
        w.answer(0, bulk(marker_of(w, 0)));
        CHECK(w.core->snapshot().late_replies == 1);
    }
    CHECK(c.error == errc::unavailable);
}

TEST_CASE("an extend counts keys that were proven before or are proven after it", "[core][guard]")
{
    admitted_world w{3};
    w.manual();
    call& c = w.acquire("r", {.ttl = longest});
    for (const unsigned i : {0U, 1U}) {
        w.answer(i, ok);
        w.answer(i, bulk(marker_of(w, i)));
    }
    core::lease& l = *c.held;
    SECTION("a late grant counts too")
    {
        w.answer(2, ok);
        w.answer(2, bulk(marker_of(w, 2)));
        CHECK(l.counted == 0b111);
    }
    SECTION("the key of a node in quarantine does not count")
    {
        w.answer(2, ok);
        w.answer(2, nil);
        CHECK(l.counted == 0b011);
        w.peers[2]->asked.clear();
        call& e = w.extend(l, longest);
        CHECK(w.pending(0) == std::vector<std::string>{"EVALSHA"});
        CHECK(w.pending(2) == std::vector<std::string>{"EVALSHA", "GET"});
        w.answer(0, yes);
        w.answer(1, no);
        w.answer(2, yes);
        CHECK_FALSE(e.done());
        SECTION("while it is in quarantine")
        {
            w.answer(2, nil);
            REQUIRE(e.done());
            CHECK(e.error == errc::unavailable);
            CHECK(l.counted == 0b011);
        }
        SECTION("until it shows that it is admitted")
        {
            w.answer(2, bulk(marker_of(w, 2)));
            REQUIRE(e.done());
            CHECK_FALSE(e.error);
            CHECK(l.counted == 0b111);
        }
    }
}

TEST_CASE("an extend is proven after its second try if the node forgot the script", "[core][guard]")
{
    admitted_world w{1};
    const auto token = w.lock("r", {.ttl = longest}).token;
    w.manual();
    call& a = w.adopt("r", token, longest);
    CHECK(w.pending(0) == std::vector<std::string>{"EVALSHA", "GET"});
    w.answer(0, "-NOSCRIPT No matching script.\r\n");
    w.answer(0, bulk(marker_of(w, 0)));
    CHECK_FALSE(a.done());
    CHECK(w.pending(0) == std::vector<std::string>{"EVAL", "GET"});
    w.answer(0, yes);
    CHECK_FALSE(a.done());
    w.answer(0, bulk(marker_of(w, 0)));
    REQUIRE(a.done());
    CHECK_FALSE(a.error);
}

TEST_CASE("an adopt counts admitted nodes only", "[core][guard]")
{
    admitted_world w{3};
    core::lease& l = w.lock("r", {.ttl = longest});
    for (const unsigned i : {1U, 2U}) {
        const auto key = *w.peers[i]->master.find(w.now, "r");
        restart(w, i, false);
        w.peers[i]->master.put("r", key);
    }
    CHECK(w.adopt("r", l.token, longest).error == errc::unavailable);
    put_marker(w, 1);
    CHECK_FALSE(w.adopt("r", l.token, longest).error);
}

TEST_CASE("a node in quarantine gets releases but is not asked who holds a lock", "[core][guard]")
{
    admitted_world w{1};
    core::lease& l = w.lock("r", {.ttl = longest});
    restart(w, 0, true);
    CHECK(quarantined(w) == 1);
    CHECK(w.inspect("r").found.state == lock_state::unknown);
    // Its key is still the one whose grant counted.
    CHECK_FALSE(w.extend(l, longest).error);
    CHECK(w.release(l).released == release_result::released);
}

TEST_CASE("the restart guard does not apply to a durable node", "[core][guard]")
{
    config c = guarded();
    c.nodes = {"redis://10.0.0.1?durable=1"};
    running_world w{1, c};
    CHECK(quarantined(w) == 0);
    restart(w, 0, true);
    core::lease& l = w.lock("r", {.ttl = longest});
    CHECK_FALSE(w.extend(l, longest).error);
    CHECK(w.count(0, "GET") == 0);
}

TEST_CASE("with admit_new_nodes a client admits a new node at once and only once", "[core][guard]")
{
    config c = guarded();
    c.restart_guard->admit_new_nodes = true;
    bench_world w{1, c};
    SECTION("a new node")
    {
        w.start();
        CHECK(quarantined(w) == 0);
        CHECK(w.lines_with("admit_new_nodes is set") == 1);
        CHECK(w.log_levels.at(0) == log_level::warning);
        (void)w.lock("r", {.ttl = longest});
        restart(w, 0, false);
        CHECK(quarantined(w) == 1);
    }
    SECTION("a node that was admitted before is not new")
    {
        w.peers[0]->master.put(marker_key, {.value = std::string(40, '0') + " nodes=1", .end = {}});
        w.start();
        CHECK(quarantined(w) == 1);
    }
    SECTION("a node that cannot be admitted at once waits in quarantine")
    {
        w.peers[0]->master.is_full = true;
        w.start();
        w.peers[0]->master.is_full = false;
        w.advance(5s);
        CHECK(quarantined(w) == 1);
        w.advance(quarantine);
        CHECK(quarantined(w) == 0);
    }
}

TEST_CASE("a client does not use a node on which its guard cannot work and says why",
          "[core][guard]")
{
    bench_world w{1, guarded()};
    model_master& m = w.peers[0]->master;
    put_marker(w, 0);
    std::string_view why;
    SECTION("the node forbids INFO")
    {
        m.refusals["INFO"] = "NOPERM this user has no permissions to run the 'info' command";
        why = "the server refused INFO, which the restart guard needs (NOPERM)";
    }
    SECTION("the node gives no run id")
    {
        m.run_id = "0";
        why = "no run_id";
    }
    SECTION("the node may evict")
    {
        m.maxmemory = "1000000";
        m.maxmemory_policy = "volatile-lru";
        why = "maxmemory_policy may evict";
    }
    SECTION("the node does not say whether it may evict")
    {
        m.maxmemory_policy.clear();
        why = "INFO has no maxmemory_policy, which the restart guard needs";
    }
    SECTION("clients allow for another drift")
    {
        config theirs = guarded();
        theirs.nodes = node_urls(1);
        theirs.drift_factor = 0.02;
        m.put(marker_key, {.value = m.run_id + base::make_settings(theirs).guard->fingerprint +
                                    " since=1700000000000000",
                           .end = {}});
        why = "(theirs: 1 node, max_ttl 10 s, drift_factor 0.02)";
    }
    SECTION("the marker has no date")
    {
        m.put(marker_key, {.value = m.run_id + w.settings.guard->fingerprint, .end = {}});
        why = "(theirs: 1 node, max_ttl 10 s, drift_factor 0.01)";
    }
    SECTION("clients have different configurations")
    {
        m.put(marker_key, {.value = m.run_id + " nodes=5 max_ttl=10500 drift=0", .end = {}});
        why = "(theirs: 5 nodes, max_ttl 10500 ms, drift_factor 0)";
    }
    SECTION("the marker is malformed")
    {
        m.put(marker_key, {.value = {}, .end = {}, .foreign_kind = true});
        why = "marker cannot be read (WRONGTYPE)";
    }
    w.start();
    CHECK(w.ready() == 0);
    REQUIRE(w.log_levels.size() == 1);
    CHECK(w.log_levels[0] == log_level::error);
    CHECK(w.log_lines[0].find(why) != std::string::npos);
    w.with_report = true;
    CHECK(w.acquire("r", at_once).report.nodes.at(0).error.find(why) != std::string::npos);
    w.advance(5s);
    CHECK(w.log_lines.size() == 1);
}

TEST_CASE("a vote also reveals that clients have different configurations", "[core][guard]")
{
    admitted_world w{1};
    w.peers[0]->master.put(
        marker_key, {.value = w.peers[0]->master.run_id + " nodes=1 max_ttl=5 drift=1", .end = {}});
    w.with_report = true;
    call& c = w.acquire("r", at_once);
    REQUIRE(c.done());
    CHECK(c.error == errc::unavailable);
    CHECK(c.report.nodes[0].outcome == node_outcome::disconnected);
    CHECK(c.report.nodes[0].error.find("theirs: 1 node, max_ttl 5 ms, drift_factor 0.000000001") !=
          std::string::npos);
    CHECK(w.log_levels.at(0) == log_level::error);
    w.advance(1s);
    CHECK(w.ready() == 0);
}

TEST_CASE("a client retries a refused pending key and says so once", "[core][guard]")
{
    bench_world w{1, guarded()};
    w.peers[0]->master.is_full = true;
    w.start();
    w.advance(10s);
    CHECK(quarantined(w) == 1);
    CHECK(w.lines_with("cannot be admitted: OOM") == 1);
    CHECK(w.count(0, "SET") <= 12);
    w.peers[0]->master.is_full = false;
    w.advance(2s);
    w.with_report = true;
    const std::string told = w.acquire("r", at_once).report.nodes.at(0).error;
    CHECK(told == "its marker is missing, or names another run of it");
    w.advance(quarantine);
    CHECK(quarantined(w) == 0);
    CHECK(w.is_idle());
}

TEST_CASE("a waiter gets the lock when the quarantine ends", "[core][guard]")
{
    running_world w{3, guarded()};
    call& c = w.acquire("r", {.ttl = longest, .timeout = 20s});
    w.advance(quarantine - 1ns);
    CHECK_FALSE(c.done());
    w.advance(1s);
    CHECK(c.held != nullptr);
}
