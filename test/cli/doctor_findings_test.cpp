#include "cli/doctor/clocks.hpp"
#include "cli/doctor/connection.hpp"
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

/// The facts about a healthy node.
node_facts healthy(std::size_t index)
{
    node_facts f;
    f.node = "redis://10.0.0." + std::to_string(index + 1) + ":6379";
    f.reached = contact::whole;
    f.protocol = 3;
    f.role = "master";
    f.run_id = std::string(40, static_cast<char>('a' + index));
    f.ready_since = boot_clock::time_point(std::chrono::seconds(index));
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

/// Findings as "severity code", each with its place: the number of the node, counted from 1, or 0
/// for all.
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

/// The findings about one node with changed facts, without the warning that a single node gives.
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

/// Requires that the doctor has one finding about this node, and returns it.
finding only_finding(const node_facts& node, const config& c = plain(1))
{
    std::vector<finding> found;
    judge_node(node, base::make_settings(c), found);
    REQUIRE(found.size() == 1);
    return found.front();
}

bool has_acl_advice(const finding& f)
{
    return f.advice.find("Permit ") != std::string::npos;
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

TEST_CASE("the doctor has no findings about healthy nodes", "[cli][doctor]")
{
    const auto count = GENERATE(std::size_t{3}, std::size_t{5});
    const auto nodes = all_healthy(count);
    CHECK(told(nodes, plain(count)).empty());
    const verdict v = concluded(nodes, plain(count));
    CHECK(v.exit_status == 0);
    CHECK(v.are == verdict::locks::available);
    CHECK(v.text == (count == 3 ? "3 nodes, 2 needed, 3 well: locks can be acquired."
                                : "5 nodes, 3 needed, 5 well: locks can be acquired."));
}

TEST_CASE("nodes that cannot be used are counted against the majority", "[cli][doctor]")
{
    auto nodes = all_healthy(5);
    nodes[1] = dead(1);
    CHECK(told(nodes, plain(5)) == lines{"2 error unreachable"});
    CHECK(concluded(nodes, plain(5)).are == verdict::locks::available);

    nodes[4] = dead(4);
    CHECK(told(nodes, plain(5)) ==
          lines{"2 error unreachable", "5 error unreachable", "0 warning no-spare"});
    CHECK(concluded(nodes, plain(5)).text == "5 nodes, 3 needed, 3 well: locks can be acquired.");
    CHECK(concluded(nodes, plain(5)).exit_status == 2);

    nodes[3] = dead(3);
    CHECK(told(nodes, plain(5)).front() == "0 error no-quorum");
    CHECK(concluded(nodes, plain(5)).text == "5 nodes, 3 needed, 2 well: no lock can be acquired.");
}

TEST_CASE("the doctor warns of an even number of nodes and of a single node", "[cli][doctor]")
{
    CHECK(told(all_healthy(4), plain(4)) == lines{"0 warning even"});
    CHECK(told(all_healthy(2), plain(2)) == lines{"0 warning even"});
    CHECK(told(all_healthy(1), plain(1)) == lines{"0 note one-node"});
    CHECK(concluded(all_healthy(1), plain(1)).exit_status == 0);
    CHECK(concluded(all_healthy(4), plain(4)).exit_status == 1);
}

TEST_CASE("the doctor has one finding for each reason why it cannot talk to a node",
          "[cli][doctor]")
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
    CHECK(told_of([](node_facts& f) {
              f.unusable = "the server refused a trial release (BUSY)";
          }) == lines{"1 error unusable"});
    CHECK(told_of([](node_facts& f) {
              f.unusable = "the server refused a trial release (LOADING)";
          }) == lines{"1 error loading"});
    CHECK(told_of([](node_facts& f) {
              f.closes_at_hello = true;
              f.protocol = 2;
              for (const needed n :
                   {needed::hello, needed::client_tracking, needed::client_caching}) {
                  f[n].is = outcome::untried;
              }
          }) == lines{"1 warning no-hello"});
}

TEST_CASE("the doctor reports a role other than master in the server's word", "[cli][doctor]")
{
    auto nodes = all_healthy(3);
    nodes[1].role = "active-replica";
    nodes[1].unusable = "has the role 'active-replica', and only a master has a vote";
    const auto found = judge(nodes, base::make_settings(plain(3)));
    REQUIRE(found.size() == 2);
    CHECK(found[0].code == "role");
    CHECK(found[0].text.starts_with(nodes[1].unusable));
    CHECK(found[1].code == "no-spare");
    CHECK(concluded(nodes, plain(3)).usable == 2);
}

TEST_CASE("the doctor says why a node cannot be used and what helps", "[cli][doctor]")
{
    struct row {
        const char* unusable;
        const char* advice;
    };
    const auto r =
        GENERATE(row{"the server refused the database", "databases"},
                 row{"the server refused the greeting (DENIED)", "protected-mode"},
                 row{"runs a script for too long (BUSY)", "SCRIPT KILL"},
                 row{"the server refused a trial release (MOVED)", "cluster-enabled no"},
                 row{"is a node of a cluster that is down (CLUSTERDOWN)", "cluster-enabled no"},
                 row{"the server refused a trial release (NOREPLICAS)", "min-replicas"},
                 row{"the server refused a trial release (OOM)", "maxmemory"},
                 row{"the server has too many clients", "maxclients"},
                 row{"the answer to a trial release is not valid", "another kind of server"},
                 row{"a reply came out of turn", "another kind of server"},
                 row{"the restart guard's marker is no text", "delete it"},
                 row{"the restart guard's marker cannot be read", "delete it"},
                 row{"INFO has no run_id, which the restart guard needs", "+info"},
                 row{"its maxmemory_policy may evict locks: the restart guard needs noeviction",
                     "Set maxmemory-policy noeviction"},
                 row{"the server refused the greeting", "server's log"});
    auto f = healthy(0);
    f.unusable = r.unusable;
    const finding found = only_finding(f);
    CHECK(found.code == "unusable");
    CHECK(found.advice.find(r.advice) != std::string::npos);
}

TEST_CASE("the doctor believes nothing else of a node that answers senselessly", "[cli][doctor]")
{
    node_facts f = healthy(0);
    f.unusable = "the answer to a trial release is not valid";
    f[needed::get].is = outcome::refused;
    f.info->eviction = "allkeys-lru";
    f.info->max_memory = 1000;
    f.kept = keeps::nothing;
    CHECK(only_finding(f).code == "unusable");
}

TEST_CASE("the doctor explains a TLS failure without OpenSSL's own text and says what helps",
          "[cli][doctor]")
{
    struct row {
        const char* trouble;
        const char* told;
        const char* advice;
    };
    const auto r =
        GENERATE(row{"TLS: certificate verify failed (SSL routines): it is not for a.b",
                     "certificate verify failed: it is not for a.b", "--server-name"},
                 row{"TLS: certificate verify failed (SSL routines): certificate has expired",
                     "certificate verify failed: certificate has expired", "renew the certificate"},
                 row{"TLS: tlsv13 alert certificate required (SSL routines)",
                     "tlsv13 alert certificate required", "--cert-file"},
                 row{"TLS: wrong version number (SSL routines)", "wrong version number",
                     "whether that port speaks TLS"});
    auto f = dead(0);
    f.has_tls = true;
    f.trouble = r.trouble;
    const finding found = only_finding(f);
    CHECK(found.text == "does not agree on TLS: " + std::string(r.told) + ".");
    CHECK(found.advice.find(r.advice) != std::string::npos);
}

TEST_CASE("a node that does not finish the TLS handshake is reported as a node without TLS",
          "[cli][doctor]")
{
    auto f = dead(0);
    f.has_tls = true;
    f.reached = contact::broken;
    f.trouble = unfinished_tls;
    const finding found = only_finding(f);
    CHECK(found.code == "tls");
    CHECK(found.text.ends_with(": the server does not seem to speak TLS on this port."));
    CHECK(found.advice.find("tls-port") != std::string::npos);
}

TEST_CASE("the doctor suggests TLS for a node that closes before it has answered", "[cli][doctor]")
{
    auto f = dead(0);
    f.reached = contact::broken;
    f.trouble = "Connection reset by peer";
    f.unanswered = "CLIENT SETNAME, SCRIPT LOAD";
    CHECK(only_finding(f).text ==
          "accepts connections, but breaks off before any answer: Connection reset by peer.");
    CHECK(only_finding(f).advice.find("wants TLS (rediss://)") != std::string::npos);
    CHECK(only_finding(f).advice.find("a server to forward to") != std::string::npos);
    f.has_tls = true;
    CHECK(only_finding(f).advice.find("rediss://") == std::string::npos);
    f.has_tls = false;
    f.unanswered.clear();
    f.latency.samples = 1;
    CHECK(only_finding(f).text == "accepts connections, but breaks off: Connection reset by peer.");
    CHECK(only_finding(f).advice.find("TLS") == std::string::npos);
    f.trouble = "leaves commands unanswered";
    CHECK(only_finding(f).text == "accepts connections, but leaves commands unanswered.");
}

TEST_CASE("the doctor says what helps where bytes are no replies", "[cli][doctor]")
{
    auto f = dead(0);
    f.reached = contact::broken;
    f.trouble = std::string(foreign_protocol) + "unknown type";
    f.unanswered = "HELLO";
    CHECK(only_finding(f).code == "protocol");
    CHECK(only_finding(f).text == "does not speak the protocol of Redis: unknown type.");
    CHECK(only_finding(f).advice ==
          "Check host and port: another kind of server listens there, or the port wants TLS "
          "(rediss://).");
    f.has_tls = true;
    CHECK(only_finding(f).advice.ends_with("listens there."));

    f.has_answered = true;
    f.unanswered = "EVALSHA, INFO";
    CHECK(only_finding(f).code == "protocol");
    CHECK(only_finding(f).text ==
          "does not speak the protocol of Redis: unknown type, in its answers to EVALSHA, INFO.");
    CHECK(only_finding(f).advice.starts_with("Name the server itself: "));
}

TEST_CASE("the doctor has one finding about a user who may neither track nor cache",
          "[cli][doctor]")
{
    auto f = healthy(0);
    f[needed::client_tracking].is = f[needed::client_caching].is = outcome::forbidden;
    const finding found = only_finding(f);
    CHECK(found.text.starts_with("does not permit CLIENT TRACKING and CLIENT CACHING: "));
    CHECK(found.advice.ends_with(": +client|tracking +client|caching."));
}

TEST_CASE("the doctor omits CLIENT CACHING if it fails only because CLIENT TRACKING is missing",
          "[cli][doctor]")
{
    auto f = healthy(0);
    f[needed::client_tracking].is = outcome::forbidden;
    f[needed::client_caching] = {outcome::refused, "ERR CLIENT CACHING can be called only when"};
    CHECK(only_finding(f).text.starts_with("does not permit CLIENT TRACKING: "));
}

TEST_CASE("a cluster node or a sentinel or a replica does not count as a node", "[cli][doctor]")
{
    auto nodes = all_healthy(3);
    nodes[0].mode = "cluster";
    nodes[0].unusable = "is a node of a cluster, not an independent master";
    nodes[1].mode = "sentinel";
    nodes[1].unusable = "is a sentinel, not a master";
    nodes[2].role = "slave";
    nodes[2].info->master = "10.0.0.9:6379";
    // A replica refuses writes, and that is no further finding.
    nodes[2][needed::set] = {outcome::failed, "READONLY"};
    CHECK(told(nodes, plain(3)) ==
          lines{"0 error no-quorum", "1 error cluster", "2 error sentinel", "3 error replica"});
    CHECK(concluded(nodes, plain(3)).usable == 0);
}

TEST_CASE("the doctor warns of attached replicas", "[cli][doctor]")
{
    CHECK(told_of([](node_facts& f) { f.info->replicas = 2; }) == lines{"1 warning replicas"});
}

TEST_CASE("a server that is listed under two names has one vote", "[cli][doctor]")
{
    auto nodes = all_healthy(3);
    nodes[2].run_id = nodes[0].run_id;
    const auto found = judge(nodes, base::make_settings(plain(3)));
    REQUIRE(found.size() == 2);
    CHECK(found[0].code == "same-server");
    CHECK(found[0].node == nodes[2].node);
    CHECK(found[0].text.find(nodes[0].node) != std::string::npos);
    CHECK(found[1].code == "no-spare");

    // A client keeps the vote of the name that was ready first, so the doctor names the other one.
    std::swap(nodes[0].ready_since, nodes[2].ready_since);
    const auto swapped = judge(nodes, base::make_settings(plain(3)));
    CHECK(swapped[0].node == nodes[0].node);
    CHECK(swapped[0].text.find(nodes[2].node) != std::string::npos);
    CHECK(concluded(nodes, plain(3)).usable == 2);

    // A node that no client uses takes no vote from another name of the same server.
    nodes[2].ready_since = boot_clock::time_point::max();
    nodes[2].unusable = "the server refused the database";
    CHECK(told(nodes, plain(3)) == lines{"3 error unusable", "0 warning no-spare"});

    // A node that hides its run id can't be recognized under another name.
    nodes[2] = healthy(2);
    nodes[0].run_id.clear();
    nodes[2].run_id.clear();
    CHECK(told(nodes, plain(3)).empty());
}

TEST_CASE("a node that may evict locks is reported as breaking exclusion", "[cli][doctor]")
{
    auto nodes = all_healthy(3);
    nodes[1].info->eviction = "volatile-lru";
    CHECK(told(nodes, plain(3)).empty());  // without maxmemory it doesn't evict

    nodes[1].info->max_memory = 100 << 20;
    CHECK(told(nodes, plain(3)) == lines{"2 error evicts"});
    const verdict v = concluded(nodes, plain(3));
    CHECK(v.are == verdict::locks::available_unsafely);
    CHECK(v.text ==
          "3 nodes, 2 needed, 3 usable, 2 well: locks can be acquired, but two clients may "
          "hold the same one.");

    nodes[1].info->eviction.clear();
    CHECK(told(nodes, plain(3)) == lines{"2 error evicts"});
    CHECK(judge(nodes, base::make_settings(plain(3)))[0].text.starts_with("may evict keys"));

    nodes[1].info->eviction = "noeviction";
    CHECK(told(nodes, plain(3)).empty());
}

TEST_CASE("the doctor warns of memory that is nearly full", "[cli][doctor]")
{
    const auto percent = GENERATE(89U, 90U, 101U);
    const auto found = told_of([&](node_facts& f) {
        f.info->max_memory = 1'000'000;
        f.info->used_memory = percent * 10'000;
    });
    CHECK(found == (percent < 90 ? lines{} : lines{"1 warning memory"}));
}

TEST_CASE("the doctor warns of a disk that does not take writes", "[cli][doctor]")
{
    const auto* status = GENERATE("aof_last_write_status:err", "rdb_last_bgsave_status:hmm");
    node_facts f = healthy(0);
    f.info->failed_write = status;
    const finding found = only_finding(f);
    CHECK(found.code == "disk");
    CHECK(found.text.find(status) != std::string::npos);
    CHECK(found.text.starts_with("may have failed") == std::string(status).ends_with(":hmm"));
}

TEST_CASE("a word that the doctor does not know for loading is a warning", "[cli][doctor]")
{
    node_facts f = healthy(0);
    f.info->loading = "2";
    CHECK(only_finding(f).text.find("loading:2") != std::string::npos);
    CHECK(is_usable(f, base::make_settings(plain(1))));
}

TEST_CASE("the doctor notes an unreadable configuration where it matters", "[cli][doctor]")
{
    const auto kept = GENERATE(keeps::nothing_or_snapshots, keeps::everything);
    const auto with = [&](node_facts& f) {
        f[needed::config_get].is = outcome::forbidden;
        f.kept = kept;
    };
    CHECK(told_of(with, guarded(1)) ==
          (kept == keeps::everything ? lines{} : lines{"1 note no-config"}));
}

TEST_CASE("the doctor warns of keys lost at a restart unless the restart guard is on",
          "[cli][doctor]")
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

TEST_CASE("the doctor notes an append-only file whose time of writing is unknown", "[cli][doctor]")
{
    const auto with = [](node_facts& f) { f.kept = keeps::appended; };
    CHECK(told_of(with) == lines{"1 note persistence-unknown"});
    CHECK(told_of(with, guarded(1)).empty());
    CHECK(told_of([](node_facts& f) {
              f.kept = keeps::appended;
              f.is_durable = true;
          }) == lines{"1 warning persistence-unknown"});
}

TEST_CASE("the doctor rates each forbidden command by its weight", "[cli][doctor]")
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
                 row{needed::getrange, "1 note forbidden", "GETRANGE", true},
                 row{needed::del, "1 error forbidden", "DEL", true},
                 row{needed::pttl, "1 error forbidden", "PTTL", true},
                 row{needed::pexpire, "1 error forbidden", "PEXPIRE", false},
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
    const finding found = only_finding(f);
    CHECK(found.text.find(std::string(" ") + r.name) != std::string::npos);
}

TEST_CASE("a command that a server does not know weighs as much as a forbidden one",
          "[cli][doctor]")
{
    const auto [what, told] =
        GENERATE(table<needed, const char*>({{needed::del, "1 error unknown-command"},
                                             {needed::eval, "1 warning unknown-command"},
                                             {needed::script_load, "1 note unknown-command"}}));
    CHECK(told_of([&](node_facts& f) { f[what].is = outcome::unknown; }) == lines{told});
}

TEST_CASE("the doctor quotes a refusal that it does not know", "[cli][doctor]")
{
    const auto [what, told] =
        GENERATE(table<needed, const char*>({{needed::pexpire, "1 error refused-command"},
                                             {needed::client_tracking, "1 warning refused-command"},
                                             {needed::script_load, "1 note refused-command"}}));
    auto f = healthy(0);
    f[what] = {outcome::refused, "ERR unsupported command"};
    CHECK(told_of([&](node_facts& n) { n[what] = f[what]; }) == lines{told});
    const finding found = only_finding(f);
    CHECK(found.text.find("ERR unsupported command") != std::string::npos);
    CHECK(told_of([](node_facts& n) {
              n[needed::eval].is = n[needed::evalsha].is = outcome::refused;
          }) == lines{"1 error no-scripts"});
}

TEST_CASE("without fencing a user needs no permission to count", "[cli][doctor]")
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

    // If tokens are wanted, locks without tokens are still available.
    auto nodes = all_healthy(3);
    std::for_each(nodes.begin(), nodes.end(), forbid);
    const auto found = judge(nodes, base::make_settings(plain(3)));
    CHECK(found.front().text.starts_with("No lock with a fencing token can be acquired: 0 of 3 "));
    const verdict v = concluded(nodes, plain(3));
    CHECK(v.are == verdict::locks::unavailable);
    CHECK(v.text.ends_with("locks can be acquired without fencing tokens only (--no-fencing)."));
}

TEST_CASE("the doctor says that locks which cannot be released end with their ttl", "[cli][doctor]")
{
    auto nodes = all_healthy(3);
    nodes[0][needed::del].is = outcome::forbidden;
    CHECK(concluded(nodes, plain(3)).are == verdict::locks::available);
    nodes[1][needed::del].is = outcome::forbidden;
    const verdict v = concluded(nodes, plain(3));
    CHECK(v.are == verdict::locks::available_until_ttl);
    CHECK(v.exit_status == 2);
    CHECK(v.text.ends_with("not released: each stays until its ttl has passed."));

    // The server's own compare-and-delete replaces DEL.
    nodes[1].deletes_by = core::compare_and_delete::delex;
    nodes[1][needed::native_delete].is = outcome::went;
    CHECK(concluded(nodes, plain(3)).are == verdict::locks::available);
}

TEST_CASE("a node without GET is used if it has its own compare-and-delete", "[cli][doctor]")
{
    const bool has_own = GENERATE(true, false);
    auto c = plain(1);
    c.fencing = false;
    auto nodes = all_healthy(1);
    nodes[0].deletes_by = core::compare_and_delete::delifeq;
    nodes[0][needed::native_delete].is = has_own ? outcome::went : outcome::forbidden;
    nodes[0][needed::get].is = outcome::forbidden;
    const auto all = judge(nodes, base::make_settings(c));
    const auto reading = std::find_if(all.begin(), all.end(), [](const finding& f) {
        return f.text.find("GET:") != f.text.npos;
    });
    REQUIRE(reading != all.end());
    CHECK((reading->text.find("clients do not use such a node") == std::string::npos) == has_own);
    CHECK(concluded(nodes, c).are ==
          (has_own ? verdict::locks::available_without_renewal : verdict::locks::unavailable));
}

TEST_CASE("the doctor reports locks without renewal when no majority of the nodes can renew",
          "[cli][doctor]")
{
    const auto what = GENERATE(needed::pttl, needed::pexpire);
    auto c = plain(3);
    c.fencing = what == needed::pttl;
    auto nodes = all_healthy(3);
    nodes[0][what].is = outcome::forbidden;
    CHECK(concluded(nodes, c).are == verdict::locks::available);
    nodes[1][what].is = outcome::unknown;
    nodes[1][needed::del].is = nodes[2][needed::del].is = outcome::forbidden;
    const verdict v = concluded(nodes, c);
    CHECK(v.are == verdict::locks::available_without_renewal);
    CHECK(v.exit_status == 2);
    CHECK(v.text.ends_with(
        "locks can be acquired, but not renewed: the holder loses each when its ttl has passed."));
}

TEST_CASE("a node with its own compare-and-delete but without scripts leaves locks without renewal",
          "[cli][doctor]")
{
    auto c = plain(1);
    c.fencing = false;
    auto nodes = all_healthy(1);
    nodes[0].deletes_by = core::compare_and_delete::delifeq;
    nodes[0][needed::native_delete].is = outcome::went;
    nodes[0][needed::eval].is = nodes[0][needed::evalsha].is = outcome::forbidden;
    CHECK(concluded(nodes, c).are == verdict::locks::available_without_renewal);
}

TEST_CASE("without PEXPIRE the doctor does not advise to disable fencing tokens", "[cli][doctor]")
{
    auto nodes = all_healthy(3);
    for (node_facts& f : nodes) {
        f[needed::pexpire].is = outcome::forbidden;
    }
    const verdict v = concluded(nodes, plain(3));
    CHECK(v.are == verdict::locks::unavailable);
    CHECK(v.text.ends_with(
        "no lock with a fencing token can be acquired, and no lock without one can be renewed."));
}

TEST_CASE("without PEXPIRE no lock is extended and a resource gets one token", "[cli][doctor]")
{
    auto f = healthy(0);
    f[needed::pexpire].is = outcome::forbidden;
    const auto text = [&](bool fencing) {
        auto c = plain(1);
        c.fencing = fencing;
        CHECK(is_usable(f, base::make_settings(c)) != fencing);
        return only_finding(f, c).text;
    };
    CHECK(text(false) ==
          "does not permit PEXPIRE: locks cannot be renewed or extended there, so redlock run "
          "loses its lock.");
    CHECK(text(true).find("fencing token there only once") != std::string::npos);
}

TEST_CASE("the doctor explains a failed trial release by the missing command", "[cli][doctor]")
{
    const auto forbid = [](std::initializer_list<needed> all) {
        return [=](node_facts& f) {
            f.unusable = "the server refused a trial release";
            for (const needed n : all) {
                f[n].is = outcome::forbidden;
            }
        };
    };
    CHECK(told_of(forbid({needed::get})) == lines{"1 error forbidden"});
    CHECK(told_of(forbid({needed::eval, needed::evalsha})) == lines{"1 error no-scripts"});
    CHECK(told_of(forbid({needed::eval, needed::script_load})) == lines{"1 error no-scripts"});
    CHECK(told_of(forbid({needed::eval})).front() == "1 error unusable");
}

TEST_CASE("the doctor reports no protocol for a node that was silent from the start",
          "[cli][doctor]")
{
    CHECK(told_of([](node_facts& f) {
              f = dead(0);
              f.reached = contact::broken;
          }) == lines{"1 error silent"});
}

TEST_CASE("the doctor's advice uses the words of the command line", "[cli][doctor]")
{
    auto nodes = all_healthy(4);
    for (node_facts& f : nodes) {
        f.has_tls = true;
        f.kept = keeps::nothing;
        f.clock->rate = 0.5;
        f.latency = {100, 60ms, 80ms, 90ms};
        f[needed::pexpire].is = outcome::forbidden;
    }
    nodes[0] = dead(0);
    nodes[0].has_tls = true;
    nodes[0].trouble = "TLS: certificate verify failed";
    nodes[1].clock->offset = 2h;
    nodes[2].clock->offset = 4h;
    nodes[3].admitted = admittance::other_configuration;
    auto c = guarded(4);
    c.restart_guard->admit_new_nodes = true;
    c.tls.insecure_skip_verification = true;
    auto found = judge(nodes, base::make_settings(c));
    nodes[3].admitted = admittance::not_guarded;  // as without the guard
    const auto more = judge(nodes, base::make_settings(plain(4)));
    found.insert(found.end(), more.begin(), more.end());
    for (const finding& f : found) {
        CAPTURE(f.code, f.text, f.advice);
        for (const char* const field :
             {"drift_factor", "node_timeout", "restart_guard,", "admit_new_nodes", "ca_file",
              "server_name", "config::fencing", "(config::restart_guard)"}) {
            CHECK(f.text.find(field) == std::string::npos);
            CHECK(f.advice.find(field) == std::string::npos);
        }
    }
}

TEST_CASE("the doctor says that a node without EVAL keeps no labels", "[cli][doctor]")
{
    auto f = healthy(0);
    f[needed::eval].is = outcome::forbidden;
    for (const config& c : {plain(1), guarded(1)}) {
        const finding found = only_finding(f, c);
        CHECK(found.weight == (c.restart_guard ? severity::error : severity::warning));
        CHECK(found.text.find("the labels of holders (--label) are not kept there") !=
              std::string::npos);
    }
    f[needed::evalsha].is = outcome::forbidden;
    CHECK(only_finding(f).text.ends_with("nor have fencing tokens or labels."));
}

TEST_CASE("the doctor has one finding if no script can run", "[cli][doctor]")
{
    CHECK(told_of([](node_facts& f) {
              f[needed::eval].is = outcome::forbidden;
              f[needed::evalsha].is = outcome::unknown;
          }) == lines{"1 error no-scripts"});
}

TEST_CASE("the doctor distinguishes scripts that are forbidden, unknown and refused",
          "[cli][doctor]")
{
    struct row {
        trial eval;
        trial digest;
        const char* told;
        const char* advice;
    };
    const trial forbidden{outcome::forbidden};
    const trial unknown{outcome::unknown};
    const trial refused{outcome::refused, "ERR no"};
    const auto r = GENERATE_COPY(
        row{forbidden, forbidden, "permits neither EVAL nor EVALSHA, so ",
            "Permit them to the user that clients log in as: +eval +evalsha."},
        row{unknown, unknown, "knows neither EVAL nor EVALSHA, so ",
            "Use a newer server, or one that does not rename or hide the commands."},
        row{refused, refused, "refuses EVAL and EVALSHA (ERR no), so ",
            "Check what is in front of the server: a proxy may pass only some commands."},
        row{unknown, refused, "does not know EVAL and refuses EVALSHA (ERR no), so ",
            "Use a newer server, or one that does not rename or hide EVAL. Check what is in front "
            "of the server: a proxy may pass only some commands."},
        row{forbidden, unknown, "does not permit EVAL and does not know EVALSHA, so ",
            "Permit EVAL to the user that clients log in as: +eval. Use a newer server, or one "
            "that does not rename or hide EVALSHA."});
    auto f = healthy(0);
    f[needed::eval] = r.eval;
    f[needed::evalsha] = r.digest;
    const finding found = only_finding(f);
    CHECK(found.code == "no-scripts");
    CHECK(found.text.starts_with(r.told));
    CHECK(found.advice == r.advice);

    auto other = healthy(0);
    other.unusable = "the server refused a trial release";
    other[needed::eval] = r.eval;
    other[needed::script_load] = r.digest;
    const finding without = only_finding(other);
    CHECK(without.code == "no-scripts");
    CHECK(has_acl_advice(without) == has_acl_advice(found));
    const char* const verb = r.digest.is == outcome::forbidden ? "permit"
                             : r.digest.is == outcome::unknown ? "know"
                                                               : "refuses";
    CHECK(without.text.find(verb) != std::string::npos);
}

TEST_CASE("the doctor advises on permissions only where INFO or CONFIG is not permitted",
          "[cli][doctor]")
{
    const trial how = GENERATE(trial{outcome::forbidden}, trial{outcome::unknown},
                               trial{outcome::refused, "ERR no"});
    const needed what = GENERATE(needed::info, needed::config_get);
    const keeps kept = GENERATE(keeps::nothing_or_snapshots, keeps::appended);
    auto f = healthy(0);
    f[what] = how;
    f.kept = what == needed::info ? keeps::everything : kept;
    auto c = plain(1);
    if (kept == keeps::nothing_or_snapshots) {
        c = guarded(1);
    }
    const finding found = only_finding(f, c);
    CAPTURE(found.code, found.text, found.advice);
    const std::string name = what == needed::info ? "INFO" : "CONFIG GET";
    CHECK(found.text.starts_with((how.is == outcome::forbidden ? "does not permit " + name
                                  : how.is == outcome::unknown ? "does not know " + name
                                                               : "refuses " + name + " (ERR no)")));
    CHECK(has_acl_advice(found) == (how.is == outcome::forbidden));
}

TEST_CASE("a node with its own compare-and-delete can be used without DEL", "[cli][doctor]")
{
    const auto forbid = [](node_facts& f) {
        f.deletes_by = core::compare_and_delete::delifeq;
        f[needed::native_delete].is = outcome::went;
        f[needed::del].is = outcome::forbidden;
    };
    CHECK(told_of(forbid) == lines{"1 warning forbidden"});
    auto f = healthy(0);
    forbid(f);
    CHECK(gives_back(f));
    const auto texts = [](const node_facts& node) {
        std::vector<finding> found;
        judge_node(node, base::make_settings(plain(1)), found);
        std::string all;
        for (const finding& one : found) {
            all += one.text;
        }
        return all;
    };
    CHECK(texts(f).find("locks of several resources can be acquired there, but not released") !=
          std::string::npos);
    auto scriptless = f;
    scriptless[needed::eval].is = scriptless[needed::evalsha].is = outcome::forbidden;
    CHECK(texts(scriptless).find("released, renewed") == std::string::npos);
    scriptless[needed::native_delete].is = outcome::forbidden;
    CHECK(texts(scriptless).find("released, renewed") != std::string::npos);
    CHECK(texts(scriptless).find("does not permit DELIFEQ: ") != std::string::npos);
    f[needed::native_delete].is = outcome::forbidden;
    CHECK_FALSE(gives_back(f));
    CHECK(is_usable(f, base::make_settings(plain(1))));
}

TEST_CASE("the doctor reports forbidden keys once", "[cli][doctor]")
{
    CHECK(told_of([](node_facts& f) {
              for (const needed n : {needed::set, needed::get, needed::pttl, needed::evalsha}) {
                  f[n].is = outcome::forbidden_key;
              }
          }) == lines{"1 error forbidden-key"});
}

TEST_CASE("the doctor's advice on a forbidden key depends on the key it tried", "[cli][doctor]")
{
    auto c = plain(1);
    c.key_prefix = "app:";
    node_facts f = healthy(0);
    f[needed::set].is = outcome::forbidden_key;
    const finding own = only_finding(f, c);
    CHECK(own.text.find("(app:redlock:doctor:...)") != std::string::npos);
    CHECK(own.advice.find("--resource") < own.advice.find("~app:*."));
    f.resource = "orders/x";
    f.of_resource.is_known = true;
    CHECK(told_of([&](node_facts& known) { known = f; }, c).empty());
    f.of_resource.forbids_counter = true;
    const finding counter = only_finding(f, c);
    CHECK(counter.text ==
          "does not permit app:orders/x:fencing: no lock of orders/x can be acquired there with a "
          "fencing token.");
    CHECK(counter.advice.ends_with(": ~app:orders/x:fencing."));
    CHECK_FALSE(is_usable(f, base::make_settings(c)));
    CHECK(is_usable_without_tokens(f, base::make_settings(c)));
    f.of_resource.forbids_lock = f.of_resource.forbids_label = true;
    const finding all = only_finding(f, c);
    CHECK(all.text.find("app:orders/x and app:orders/x:fencing: no lock") != std::string::npos);
    CHECK(all.advice.ends_with(
        ": ~app:orders/x ~app:orders/x:fencing ~app:orders/x:redlock:holder."));
    CHECK_FALSE(is_usable_without_tokens(f, base::make_settings(c)));
    f.of_resource.forbids_lock = f.of_resource.forbids_counter = false;
    const finding label = only_finding(f, c);
    CHECK(label.weight == severity::note);
    CHECK(label.text.find("app:orders/x:redlock:holder: the labels") != std::string::npos);
}

TEST_CASE("the doctor reports what blocks the named resource", "[cli][doctor]")
{
    node_facts f = healthy(0);
    f.resource = "job";
    f.of_resource.is_known = true;
    auto c = plain(1);
    SECTION("a counter that is none")
    {
        f.of_resource.counter_fault = "has a value that is no number";
        const finding found = only_finding(f, c);
        CHECK(found.code == "counter");
        CHECK(found.text.starts_with("job:fencing is no fencing counter: it has a value"));
        CHECK_FALSE(is_usable(f, base::make_settings(c)));
        CHECK(is_usable_without_tokens(f, base::make_settings(c)));
        c.fencing = false;
        CHECK(told_of([&](node_facts& known) { known = f; }, c).empty());
    }
    SECTION("a key that is no lock")
    {
        const bool has_no_end = GENERATE(true, false);
        (has_no_end ? f.of_resource.is_endless : f.of_resource.is_foreign) = true;
        const finding found = only_finding(f, c);
        CHECK(found.code == "foreign-key");
        CHECK(found.text.starts_with(has_no_end ? "job has no ttl" : "job has another type"));
        CHECK_FALSE(is_usable_without_tokens(f, base::make_settings(c)));
    }
}

TEST_CASE("the doctor says why clients form no queue at a node", "[cli][doctor]")
{
    node_facts f = healthy(0);
    f[needed::queue].is = outcome::forbidden;
    auto c = plain(1);
    c.key_prefix = "app:";
    SECTION("commands that are missing for several reasons")
    {
        f[needed::zadd].is = f[needed::zrem].is = outcome::forbidden;
        f[needed::zrank].is = outcome::unknown;
        f[needed::zcard] = {outcome::refused, "ERR no"};
        const finding found = only_finding(f, c);
        CHECK(found.weight == severity::warning);
        CHECK(found.code == "no-queue");
        CHECK(found.text ==
              "does not permit ZADD and ZREM, and does not know ZRANK, and refuses ZCARD (ERR no): "
              "clients that wait for a lock form no queue there, and may get it in any order.");
        CHECK(found.advice.starts_with(
            "Permit it to the user that clients log in as: +zadd +zrem. Use a newer server"));
        CHECK(is_usable(f, base::make_settings(c)));
    }
    SECTION("scripts that are refused")
    {
        f[needed::queue] = {outcome::refused, "ERR no"};
        const finding found = only_finding(f, c);
        CHECK(found.text.starts_with("refuses the scripts of the queue (ERR no): clients"));
        CHECK_FALSE(has_acl_advice(found));
    }
    SECTION("keys that are not permitted")
    {
        f[needed::queue].is = outcome::forbidden_key;
        const finding found = only_finding(f, c);
        CHECK(found.text.starts_with("does not permit keys that end with :redlock:queue and "));
        CHECK(found.advice.ends_with(": ~app:*."));
        f.resource = "job";
        f.of_resource.is_known = true;
        CHECK(told_of([&](node_facts& known) { known = f; }, c).empty());
        f.of_resource.forbids_ticket = true;
        CHECK(only_finding(f, c).advice.ends_with(": ~app:job:*:redlock:ticket."));
        f.of_resource.forbids_lock = f.of_resource.forbids_queue = true;
        const finding all = only_finding(f, c);
        CHECK(all.code == "forbidden-key");
        CHECK(all.advice.ends_with(": ~app:job ~app:job:redlock:queue ~app:job:*:redlock:ticket."));
    }
    SECTION("an answer that says nothing")
    {
        f[needed::queue] = {GENERATE(outcome::untried, outcome::failed), "OOM"};
        CHECK(told_of([&](node_facts& known) { known = f; }, c).empty());
    }
    SECTION("a node that takes no locks has only that finding")
    {
        f[needed::set].is = outcome::forbidden;
        CHECK(told_of([&](node_facts& known) { known = f; }, c) == lines{"1 error forbidden"});
    }
    c.fair_queue = false;
    f.of_resource = {};
    f[needed::set].is = outcome::went;
    CHECK(told_of([&](node_facts& known) { known = f; }, c).empty());
}

TEST_CASE("the doctor notes a PTTL that works in scripts only", "[cli][doctor]")
{
    node_facts f = healthy(0);
    f[needed::pttl] = {outcome::went, "ERR unsupported", true};
    f[needed::get] = {outcome::went, "ERR unsupported", true};
    const finding found = only_finding(f);
    CHECK(found.weight == severity::note);
    CHECK(found.text == "refuses PTTL outside of scripts (ERR unsupported): waiters poll.");
}

TEST_CASE("the doctor says why a server refuses writes", "[cli][doctor]")
{
    struct row {
        const char* error;
        const char* advice;
    };
    const auto r = GENERATE(row{"OOM command not allowed", "maxmemory"},
                            row{"NOREPLICAS Not enough good replicas to write.", "min-replicas"},
                            row{"MISCONF Errors writing to the AOF file", "disk"},
                            row{"READONLY You can't write", "an independent server"},
                            row{"MASTERDOWN Link with MASTER is down", "an independent server"},
                            row{"MOVED 123 10.0.0.2:6379", "cluster-enabled no"},
                            row{"ASK 123 10.0.0.2:6379", "cluster-enabled no"},
                            row{"CLUSTERDOWN The cluster is down", "cluster-enabled no"},
                            row{"TRYAGAIN Multiple keys request", "cluster-enabled no"},
                            row{"BUSY Redis is busy running a script.", "SCRIPT KILL"},
                            row{"NOAUTH Authentication required.", "user and password"},
                            row{"LOADING Redis is loading the dataset", "INFO persistence"},
                            row{"ERR something else", "until then"});
    auto f = healthy(0);
    f[needed::set] = {outcome::failed, r.error};
    const finding found = only_finding(f);
    CHECK(found.code == "refuses-writes");
    CHECK(found.text.find(r.error) != std::string::npos);
    CHECK(found.advice.find(r.advice) != std::string::npos);
}

TEST_CASE("RESP2 alone is a note and a forbidden HELLO is a warning", "[cli][doctor]")
{
    const auto is = GENERATE(outcome::unknown, outcome::went, outcome::forbidden, outcome::refused);
    const auto with = [&](node_facts& f) {
        f.protocol = 2;
        f[needed::hello].is = is;
        f[needed::client_tracking].is = outcome::untried;
        f[needed::client_caching].is = outcome::untried;
    };
    CHECK(told_of(with) == lines{is == outcome::forbidden ? "1 warning forbidden"
                                 : is == outcome::refused ? "1 warning refused-command"
                                                          : "1 note resp2"});
    auto c = plain(1);
    c.release_notifications = false;
    CHECK(told_of(with, c).empty());
}

TEST_CASE("the doctor compares latencies with node_timeout", "[cli][doctor]")
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

TEST_CASE("the doctor compares a clock's rate with drift_factor", "[cli][doctor]")
{
    struct row {
        double rate;
        double precision;
        const char* told;
    };
    const auto r = GENERATE(row{0.009, 0.0001, nullptr}, row{0.011, 0.0001, "1 error clock-rate"},
                            row{-0.011, 0.0001, "1 warning clock-rate"}, row{0.011, 0.002, nullptr},
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
    const bool is_wrong = concluded(nodes, plain(3)).are == verdict::locks::available_unsafely;
    CHECK(is_wrong == (r.told != nullptr && std::string_view(r.told) == "1 error clock-rate"));
}

TEST_CASE("the doctor reports a date that differs from the others and dates that all differ",
          "[cli][doctor]")
{
    auto nodes = all_healthy(3);
    nodes[0].clock->offset = 1100ms;
    nodes[1].clock->offset = 200ms;
    CHECK(told(nodes, plain(3)).size() == 1);  // dates may differ by one second

    nodes[0].clock->offset = -1h;
    CHECK(told(nodes, plain(3)) == lines{"1 warning date"});
    auto c = plain(3);
    c.fencing = false;
    CHECK(told(nodes, c) == lines{"1 note date"});

    nodes[1].clock->offset = 1h;
    CHECK(told(nodes, plain(3)) == lines{"0 error dates-apart"});
    const auto found = judge(nodes, base::make_settings(plain(3)));
    CHECK(found[0].text.find("(" + nodes[1].node + " is 2.0 hours ahead of " + nodes[0].node +
                             ")") != std::string::npos);
    CHECK(told(nodes, c) == lines{"2 note date", "3 note date"});
}

TEST_CASE("the doctor reports clocks whose rates differ and which of them gains", "[cli][doctor]")
{
    auto nodes = all_healthy(3);
    nodes[0].clock->rate = -0.006;
    nodes[2].clock->rate = 0.006;
    CHECK(told(nodes, plain(3)) == lines{"3 error clock-drift"});
    const auto found = judge(nodes, base::make_settings(plain(3)));
    CHECK(
        found[0].text.starts_with("has a clock that gains 1.2 % (within 20 ppm) on the clock of " +
                                  nodes[0].node + ", and --drift allows 1.0 %:"));
    CHECK(concluded(nodes, plain(3)).are == verdict::locks::available_unsafely);

    // If the round trips are too long to decide, the doctor says nothing.
    nodes[0].clock->rate_precision = 0.003;
    CHECK(told(nodes, plain(3)).empty());

    // A clock that is wrong by the local one is not reported again.
    nodes[0].clock->rate_precision = 0;
    nodes[2].clock->rate = 0.02;
    CHECK(told(nodes, plain(3)) == lines{"3 error clock-rate"});
}

TEST_CASE("the doctor compares the nodes' clocks with each other", "[cli][doctor]")
{
    using texts = std::vector<std::string>;
    const auto c = plain(3);
    const auto lines_of = [](const std::vector<node_facts>& nodes, const config& given) {
        return compare_clocks(nodes, base::make_settings(given)).lines;
    };
    auto nodes = all_healthy(3);
    const std::string a = nodes[0].node;
    const std::string b = nodes[1].node;
    CHECK(lines_of(nodes, c) ==
          texts{"Dates: within 0.10 ms of each other, less than the 1.0 s that fencing tokens "
                "tolerate.",
                "Clock rates: within 20 ppm of each other, less than the 1.0 % of --drift."});

    nodes[0].clock->offset = 20ms;
    nodes[0].clock->rate = 0.002;
    nodes[1].clock->offset = -10ms;
    nodes[1].clock->rate = -0.001;
    CHECK(lines_of(nodes, c) ==
          texts{"Dates: " + a + " is 30 ms ahead of " + b +
                    " (within 0.10 ms), less than the 1.0 s that fencing tokens tolerate.",
                "Clock rates: " + a + " gains 0.30 % on " + b +
                    " (within 20 ppm), less than the 1.0 % of --drift."});

    // The clocks run apart, so the doctor knows their offset only to within their drift.
    for (node_facts& f : nodes) {
        f.clock->watched = 20s;
    }
    CHECK(lines_of(nodes, c)[0] ==
          "Dates: within 90 ms of each other, less than the 1.0 s that fencing tokens tolerate.");
    for (node_facts& f : nodes) {
        f.clock->watched = 0s;
    }

    nodes[0].clock->offset = 2h;
    nodes[0].clock->rate = 0.02;
    CHECK(lines_of(nodes, c) == texts{"Dates: " + a + " is 2.0 hours ahead of " + b +
                                          " (within 0.10 ms); a majority agrees to within the 1.0 "
                                          "s that fencing tokens tolerate.",
                                      "Clock rates: " + a + " gains 2.1 % on " + b +
                                          " (within 20 ppm), more than the 1.0 % of --drift."});
    CHECK(compare_clocks(nodes, base::make_settings(c)).rates_matter);

    nodes[1].clock->offset = -2h;
    nodes[1].clock->rate.reset();
    nodes[0].clock->rate = 0.002;
    nodes[0].clock->rate_precision = 0.02;
    CHECK(lines_of(nodes, c) ==
          texts{"Dates: " + a + " is 4.0 hours ahead of " + b +
                    " (within 0.10 ms); no majority agrees to within the 1.0 s that fencing tokens "
                    "tolerate.",
                "Clock rates: within 2.2 % of each other, not known well enough for the 1.0 % of "
                "--drift."});
    CHECK(compare_clocks(nodes, base::make_settings(c)).dates_matter);
    auto without = c;
    without.fencing = false;
    CHECK(lines_of(nodes, without)[0] ==
          "Dates: " + a + " is 4.0 hours ahead of " + b + " (within 0.10 ms).");

    nodes[1].clock.reset();
    nodes[2].clock.reset();
    CHECK(lines_of(nodes, c).empty());
}

TEST_CASE("the doctor notes dates that agree with each other but not with the local one",
          "[cli][doctor]")
{
    auto nodes = all_healthy(3);
    for (node_facts& f : nodes) {
        f.clock->offset = 5min;
    }
    CHECK(told(nodes, plain(3)) == lines{"0 note our-date"});
}

TEST_CASE("the restart guard's state of a node decides whether the node has a vote",
          "[cli][doctor]")
{
    auto nodes = all_healthy(3);
    for (node_facts& f : nodes) {
        f.admitted = admittance::admitted;
    }
    CHECK(told(nodes, guarded(3)).empty());

    nodes[0].admitted = admittance::not_admitted;
    CHECK(told(nodes, guarded(3)) == lines{"1 warning not-admitted"});
    auto others = all_healthy(3);
    others[1].guard_of_others = "";
    CHECK(told(others, plain(3)) == lines{"2 warning unguarded"});
    CHECK(concluded(nodes, guarded(3)).are == verdict::locks::available);

    nodes[1].admitted = admittance::not_admitted;
    CHECK(concluded(nodes, guarded(3)).are == verdict::locks::available_later);
    auto c = guarded(3);
    c.restart_guard->admit_new_nodes = true;
    CHECK(concluded(nodes, c).are == verdict::locks::available);
    CHECK(told(nodes, c).front() == "0 warning admits-new-nodes");

    nodes[1].admitted = admittance::other_configuration;
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

TEST_CASE("the doctor warns of a certificate that no client verifies", "[cli][doctor]")
{
    auto c = plain(1);
    c.tls.insecure_skip_verification = true;
    CHECK(told_of([](node_facts& f) { f.has_tls = true; }, c) == lines{"1 warning unverified"});
    CHECK(told_of([](node_facts&) {}, c).empty());
}
