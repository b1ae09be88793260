#include "cli/doctor/findings.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::cli;
using namespace std::chrono_literals;

namespace {

using outcome = trial::outcome;

config plain(std::size_t nodes)
{
    config c;
    for (std::size_t i = 0; i < nodes; ++i) {
        c.nodes.push_back("redis://10.0.0." + std::to_string(i + 1));
    }
    return c;
}

/// A master that nothing is wrong with.
node_facts healthy(std::size_t index)
{
    node_facts f;
    f.node = "redis://10.0.0." + std::to_string(index + 1) + ":6379";
    f.reached = contact::whole;
    f.protocol = 3;
    f.run_id = std::string(40, static_cast<char>('a' + index));
    f.kept = keeps::everything;
    f.info.emplace();
    f.info->role = "master";
    f.info->eviction = "noeviction";
    for (trial& t : f.trials) {
        t.is = outcome::went;
    }
    f[needed::native_delete].is = outcome::untried;
    f.latency = {100, 100us, 200us, 300us};
    f.clock = clock_facts{0ns, 50us, 1e-6, 1e-5};
    return f;
}

std::vector<node_facts> all_healthy(std::size_t count)
{
    std::vector<node_facts> nodes;
    for (std::size_t i = 0; i < count; ++i) {
        nodes.push_back(healthy(i));
    }
    return nodes;
}

node_facts dead(std::size_t index)
{
    node_facts f;
    f.node = healthy(index).node;
    f.trouble = "Connection refused";
    return f;
}

/// Findings as "severity code", each with its place: the number of the node, counted from 1, or 0.
std::vector<std::string> told(const std::vector<node_facts>& nodes, const config& c)
{
    std::vector<std::string> lines;
    for (const finding& f : judge(nodes, base::make_settings(c))) {
        const auto at = std::find_if(nodes.begin(), nodes.end(),
                                     [&](const node_facts& n) { return n.node == f.node; });
        const auto number = f.node.empty() ? 0 : at - nodes.begin() + 1;
        lines.push_back(std::to_string(number) + " " + to_string(f.weight) + " " + f.code);
        CHECK_FALSE(f.text.empty());
        CHECK(f.text.back() == '.');
        CHECK_FALSE(f.advice.empty());
        CHECK(f.advice.back() == '.');
    }
    return lines;
}

using lines = std::vector<std::string>;

/// What is told of one master of one whose facts were changed, but for that it is one only.
template <class Change>
lines told_of(Change change, config c = plain(1))
{
    auto nodes = all_healthy(1);
    change(nodes[0]);
    auto all = told(nodes, c);
    std::erase(all, "0 note one-node");
    std::erase(all, "0 error no-quorum");
    return all;
}

verdict concluded(const std::vector<node_facts>& nodes, const config& c)
{
    const auto s = base::make_settings(c);
    return conclude(nodes, judge(nodes, s), s);
}

config guarded(std::size_t nodes)
{
    config c = plain(nodes);
    c.restart_guard = guard_config{.max_ttl = 30s};
    return c;
}

}  // namespace

TEST_CASE("of masters that are well nothing is told", "[cli][doctor]")
{
    const auto count = GENERATE(std::size_t{3}, std::size_t{5});
    const auto nodes = all_healthy(count);
    CHECK(told(nodes, plain(count)).empty());
    const verdict v = concluded(nodes, plain(count));
    CHECK(v.exit_status == 0);
    CHECK(v.are == verdict::locks::had);
    CHECK(v.text == (count == 3 ? "3 masters, 2 needed, 3 well: locks can be had."
                                : "5 masters, 3 needed, 5 well: locks can be had."));
}

TEST_CASE("nodes that cannot be used are counted against the majority", "[cli][doctor]")
{
    auto nodes = all_healthy(5);
    nodes[1] = dead(1);
    CHECK(told(nodes, plain(5)) == lines{"2 error unreachable"});
    CHECK(concluded(nodes, plain(5)).are == verdict::locks::had);

    nodes[4] = dead(4);
    CHECK(told(nodes, plain(5)) ==
          lines{"2 error unreachable", "5 error unreachable", "0 warning no-spare"});
    CHECK(concluded(nodes, plain(5)).text == "5 masters, 3 needed, 3 well: locks can be had.");
    CHECK(concluded(nodes, plain(5)).exit_status == 2);

    nodes[3] = dead(3);
    CHECK(told(nodes, plain(5)).front() == "0 error no-quorum");
    CHECK(concluded(nodes, plain(5)).text == "5 masters, 3 needed, 2 well: no lock can be had.");
}

TEST_CASE("an even number of nodes, and a single one, are told of", "[cli][doctor]")
{
    CHECK(told(all_healthy(4), plain(4)) == lines{"0 warning even"});
    CHECK(told(all_healthy(2), plain(2)) == lines{"0 warning even"});
    CHECK(told(all_healthy(1), plain(1)) == lines{"0 note one-node"});
    CHECK(concluded(all_healthy(1), plain(1)).exit_status == 0);
    CHECK(concluded(all_healthy(4), plain(4)).exit_status == 1);
}

TEST_CASE("why there is no conversation has a word of its own", "[cli][doctor]")
{
    CHECK(told_of([](node_facts& f) { f = dead(0); }) == lines{"1 error unreachable"});
    CHECK(told_of([](node_facts& f) {
              f = dead(0);
              f.has_tls = true;
          }) == lines{"1 error unreachable"});
    CHECK(told_of([](node_facts& f) {
              f = dead(0);
              f.has_tls = true;
              f.trouble = "TLS: certificate verify failed: certificate has expired";
          }) == lines{"1 error tls"});
    CHECK(told_of([](node_facts& f) {
              f.reached = contact::broken;
              f.trouble = "leaves commands unanswered";
          }) == lines{"1 error silent"});
    CHECK(told_of([](node_facts& f) {
              f.unusable = "the server refused the greeting (WRONGPASS)";
              f.login_refused = true;
          }) == lines{"1 error login"});
    CHECK(told_of([](node_facts& f) { f.unusable = "a trial release was refused (BUSY)"; }) ==
          lines{"1 error unusable"});
}

TEST_CASE("what is no independent master is no node", "[cli][doctor]")
{
    auto nodes = all_healthy(3);
    nodes[0].mode = "cluster";
    nodes[0].unusable = "is a node of a cluster, not an independent master";
    nodes[1].mode = "sentinel";
    nodes[1].unusable = "is a sentinel, not a master";
    nodes[2].is_replica = true;
    nodes[2].info->master = "10.0.0.9:6379";
    // A replica refuses to write, and that is no news.
    nodes[2][needed::set] = {outcome::failed, "READONLY"};
    CHECK(told(nodes, plain(3)) ==
          lines{"0 error no-quorum", "1 error cluster", "2 error sentinel", "3 error replica"});
    CHECK(concluded(nodes, plain(3)).usable == 0);
}

TEST_CASE("replicas that are attached are a warning", "[cli][doctor]")
{
    CHECK(told_of([](node_facts& f) { f.info->replicas = 2; }) == lines{"1 warning replicas"});
}

TEST_CASE("one server under two names has one vote", "[cli][doctor]")
{
    auto nodes = all_healthy(3);
    nodes[2].run_id = nodes[0].run_id;
    const auto found = judge(nodes, base::make_settings(plain(3)));
    REQUIRE(found.size() == 2);
    CHECK(found[0].code == "same-server");
    CHECK(found[0].node == nodes[2].node);
    CHECK(found[0].text.find(nodes[0].node) != std::string::npos);
    CHECK(found[1].code == "no-spare");

    // Who does not tell is nobody's twin.
    nodes[0].run_id.clear();
    nodes[2].run_id.clear();
    CHECK(told(nodes, plain(3)).empty());
}

TEST_CASE("a master that may throw locks away breaks exclusion", "[cli][doctor]")
{
    auto nodes = all_healthy(3);
    nodes[1].info->eviction = "volatile-lru";
    CHECK(told(nodes, plain(3)).empty());  // without a bound it does not

    nodes[1].info->max_memory = 100 << 20;
    CHECK(told(nodes, plain(3)) == lines{"2 error evicts"});
    const verdict v = concluded(nodes, plain(3));
    CHECK(v.are == verdict::locks::had_unsafely);
    CHECK(v.text ==
          "3 masters, 2 needed, 3 usable, 2 well: locks can be had, but two clients may "
          "hold the same one.");

    nodes[1].info->eviction = "noeviction";
    CHECK(told(nodes, plain(3)).empty());
}

TEST_CASE("memory that is nearly full is a warning", "[cli][doctor]")
{
    const auto percent = GENERATE(89U, 90U, 101U);
    const auto found = told_of([&](node_facts& f) {
        f.info->max_memory = 1'000'000;
        f.info->used_memory = percent * 10'000;
    });
    CHECK(found == (percent < 90 ? lines{} : lines{"1 warning memory"}));
}

TEST_CASE("what a restart forgets is a warning, unless the restart guard is on", "[cli][doctor]")
{
    const auto kept =
        GENERATE(keeps::nothing, keeps::nothing_or_snapshots, keeps::snapshots, keeps::by_and_by,
                 keeps::all_but_a_second, keeps::all_but_in_rewrites);
    const auto with = [&](node_facts& f) { f.kept = kept; };
    CHECK(told_of(with) == lines{"1 warning forgets"});
    CHECK(told_of(with, guarded(1)).empty());
    CHECK(told_of(
              [&](node_facts& f) {
                  f.kept = kept;
                  f.is_durable = true;
              },
              guarded(1)) == lines{"1 error not-durable"});
}

TEST_CASE("an append-only file of which nobody knows when it is written is a note", "[cli][doctor]")
{
    const auto with = [](node_facts& f) { f.kept = keeps::appended; };
    CHECK(told_of(with) == lines{"1 note persistence-unknown"});
    CHECK(told_of(with, guarded(1)).empty());
}

TEST_CASE("each command that is not permitted is told of by its weight", "[cli][doctor]")
{
    struct row {
        needed what;
        const char* told;
        const char* name;
        bool usable;
    };
    const auto r =
        GENERATE(row{needed::set, "1 error forbidden", "SET", false},
                 row{needed::get, "1 error forbidden", "GET", false},
                 row{needed::del, "1 error forbidden", "DEL", false},
                 row{needed::pttl, "1 error forbidden", "PTTL", true},
                 row{needed::pexpire, "1 error forbidden", "PEXPIRE", true},
                 row{needed::incr, "1 error forbidden", "INCR", false},
                 row{needed::time, "1 error forbidden", "TIME", false},
                 row{needed::eval, "1 warning forbidden", "EVAL", true},
                 row{needed::evalsha, "1 note forbidden", "EVALSHA", true},
                 row{needed::script_load, "1 note forbidden", "SCRIPT LOAD", true},
                 row{needed::ping, "1 note forbidden", "PING", true},
                 row{needed::client_tracking, "1 warning forbidden", "CLIENT TRACKING", true},
                 row{needed::client_caching, "1 warning forbidden", "CLIENT CACHING", true},
                 row{needed::info, "1 note no-info", "INFO", true});
    CAPTURE(r.name);
    const auto forbid = [&](node_facts& f) { f[r.what].is = outcome::forbidden; };
    CHECK(told_of(forbid) == lines{r.told});

    auto f = healthy(0);
    forbid(f);
    const auto s = base::make_settings(plain(1));
    CHECK(is_usable(f, s) == r.usable);
    std::vector<finding> found;
    judge_node(f, s, found);
    REQUIRE(found.size() == 1);
    CHECK(found[0].text.find(std::string(" ") + r.name) != std::string::npos);
}

TEST_CASE("without fencing nobody needs to count", "[cli][doctor]")
{
    auto c = plain(1);
    c.fencing = false;
    const auto forbid = [](node_facts& f) {
        f[needed::incr].is = outcome::forbidden;
        f[needed::time].is = outcome::forbidden;
    };
    CHECK(told_of(forbid, c).empty());
    auto f = healthy(0);
    forbid(f);
    CHECK(is_usable(f, base::make_settings(c)));
}

TEST_CASE("without any script there is one finding", "[cli][doctor]")
{
    CHECK(told_of([](node_facts& f) {
              f[needed::eval].is = outcome::forbidden;
              f[needed::evalsha].is = outcome::unknown;
          }) == lines{"1 error no-scripts"});
}

TEST_CASE("a delete of the server's own does without DEL", "[cli][doctor]")
{
    const auto forbid = [](node_facts& f) {
        f.deletes_by = core::compare_and_delete::delifeq;
        f[needed::native_delete].is = outcome::went;
        f[needed::del].is = outcome::forbidden;
    };
    CHECK(told_of(forbid) == lines{"1 warning forbidden"});
    auto f = healthy(0);
    forbid(f);
    CHECK(is_usable(f, base::make_settings(plain(1))));
    f[needed::native_delete].is = outcome::forbidden;
    CHECK_FALSE(is_usable(f, base::make_settings(plain(1))));
}

TEST_CASE("keys that are forbidden are told of once", "[cli][doctor]")
{
    CHECK(told_of([](node_facts& f) {
              for (const needed n : {needed::set, needed::get, needed::pttl, needed::evalsha}) {
                  f[n].is = outcome::forbidden_key;
              }
          }) == lines{"1 error forbidden-key"});
}

TEST_CASE("a server that refuses to write tells why", "[cli][doctor]")
{
    auto f = healthy(0);
    f[needed::set] = {outcome::failed, "OOM command not allowed"};
    std::vector<finding> found;
    judge_node(f, base::make_settings(plain(1)), found);
    REQUIRE(found.size() == 1);
    CHECK(found[0].code == "refuses-writes");
    CHECK(found[0].text.find("OOM command not allowed") != std::string::npos);
}

TEST_CASE("RESP2 alone is a note, and HELLO that is forbidden a warning", "[cli][doctor]")
{
    const auto is = GENERATE(outcome::unknown, outcome::went, outcome::forbidden);
    const auto with = [&](node_facts& f) {
        f.protocol = 2;
        f[needed::hello].is = is;
        f[needed::client_tracking].is = outcome::untried;
        f[needed::client_caching].is = outcome::untried;
    };
    CHECK(told_of(with) ==
          lines{is == outcome::forbidden ? "1 warning forbidden" : "1 note resp2"});
    auto c = plain(1);
    c.wake_ups = false;
    CHECK(told_of(with, c).empty());
}

TEST_CASE("answers are measured against node_timeout", "[cli][doctor]")
{
    struct row {
        std::chrono::milliseconds median;
        std::chrono::milliseconds p99;
        const char* told;
    };
    const auto r = GENERATE(row{1ms, 24ms, nullptr}, row{1ms, 25ms, "1 note slow"},
                            row{1ms, 50ms, "1 warning slow"}, row{50ms, 60ms, "1 error slow"});
    auto f = healthy(0);
    const auto with = [&](node_facts& n) { n.latency = {100, r.median, r.p99, r.p99}; };
    CHECK(told_of(with) == (r.told == nullptr ? lines{} : lines{r.told}));
    with(f);
    CHECK(is_usable(f, base::make_settings(plain(1))) == (r.median < 50ms));
}

TEST_CASE("a clock's rate is measured against drift_factor", "[cli][doctor]")
{
    struct row {
        double rate;
        double precision;
        const char* told;
    };
    const auto r = GENERATE(row{0.009, 0.0001, nullptr}, row{0.011, 0.0001, "1 error clock-rate"},
                            row{-0.011, 0.0001, "1 error clock-rate"}, row{0.011, 0.002, nullptr},
                            row{0.001, 0.02, "1 note clock-rate-unknown"},
                            row{0.2, 0.02, "1 error clock-rate"});
    CAPTURE(r.rate, r.precision);
    const auto with = [&](node_facts& f) {
        f.clock->rate = r.rate;
        f.clock->rate_precision = r.precision;
    };
    CHECK(told_of(with) == (r.told == nullptr ? lines{} : lines{r.told}));
    auto nodes = all_healthy(3);
    with(nodes[0]);
    const bool is_wrong = concluded(nodes, plain(3)).are == verdict::locks::had_unsafely;
    CHECK(is_wrong == (r.told != nullptr && std::string_view(r.told) == "1 error clock-rate"));
}

TEST_CASE("a date that is not the others' is told of, and so is one that nobody shares",
          "[cli][doctor]")
{
    auto nodes = all_healthy(3);
    nodes[0].clock->offset = 1100ms;
    nodes[1].clock->offset = 200ms;
    CHECK(told(nodes, plain(3)).size() == 1);  // one second is what they may be apart

    nodes[0].clock->offset = -1h;
    CHECK(told(nodes, plain(3)) == lines{"1 warning date"});
    auto c = plain(3);
    c.fencing = false;
    CHECK(told(nodes, c) == lines{"1 note date"});

    nodes[1].clock->offset = 1h;
    const auto all = told(nodes, plain(3));
    CHECK(all.front() == "0 error dates-apart");
    CHECK(told(nodes, c).front() != "0 error dates-apart");
}

TEST_CASE("dates that agree with each other and not with ours are a note", "[cli][doctor]")
{
    auto nodes = all_healthy(3);
    for (node_facts& f : nodes) {
        f.clock->offset = 5min;
    }
    CHECK(told(nodes, plain(3)) == lines{"0 note our-date"});
}

TEST_CASE("what the restart guard thinks of a node decides of its vote", "[cli][doctor]")
{
    auto nodes = all_healthy(3);
    for (node_facts& f : nodes) {
        f.admitted = admittance::admitted;
    }
    CHECK(told(nodes, guarded(3)).empty());

    nodes[0].admitted = admittance::not_admitted;
    CHECK(told(nodes, guarded(3)) == lines{"1 warning not-admitted"});
    CHECK(concluded(nodes, guarded(3)).are == verdict::locks::had);

    nodes[1].admitted = admittance::not_admitted;
    CHECK(concluded(nodes, guarded(3)).are == verdict::locks::had_later);
    auto c = guarded(3);
    c.restart_guard->admit_new_masters = true;
    CHECK(concluded(nodes, c).are == verdict::locks::had);
    CHECK(told(nodes, c).front() == "0 warning admits-new-masters");

    nodes[1].admitted = admittance::other_configuration;
    nodes[1].disagreement = "is admitted by clients whose restart_guard differs";
    CHECK(told(nodes, guarded(3)).front() == "2 error guard");
    CHECK(concluded(nodes, guarded(3)).usable == 2);
}

TEST_CASE("under the restart guard TIME and EVAL are needed by the guard too", "[cli][doctor]")
{
    CHECK(told_of([](node_facts& f) { f[needed::eval].is = outcome::forbidden; }, guarded(1)) ==
          lines{"1 error forbidden"});
    auto c = guarded(1);
    c.fencing = false;
    CHECK(told_of([](node_facts& f) { f[needed::time].is = outcome::forbidden; }, c) ==
          lines{"1 error forbidden"});
}

TEST_CASE("a certificate that nobody looks at is a warning", "[cli][doctor]")
{
    auto c = plain(1);
    c.tls.insecure_skip_verification = true;
    CHECK(told_of([](node_facts& f) { f.has_tls = true; }, c) == lines{"1 warning unverified"});
    CHECK(told_of([](node_facts&) {}, c).empty());
}
