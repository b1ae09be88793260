#include "fenced.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;

namespace {

const std::vector<std::string> both{"r", "s"};
const std::string script_of_take(resp::take_script.sha1);

std::string value(bench_world& w, unsigned node, const std::string& key)
{
    return w.peers[node]->master.value(w.now, key);
}

core::lease& take(bench_world& w, const std::vector<std::string>& names,
                  const acquire_options& o = {})
{
    call& c = w.acquire(names, o);
    w.advance(5ms);
    REQUIRE(c.done());
    REQUIRE(c.held != nullptr);
    return *c.held;
}

}  // namespace

TEST_CASE("one command acquires several resources and one command releases them", "[core][group]")
{
    running_world w;
    core::lease& l = take(w, both, {.ttl = 3s, .fencing = false});
    for (unsigned i = 0; i < 3; ++i) {
        CHECK(value(w, i, "r") == l.token.view());
        CHECK(value(w, i, "s") == l.token.view());
        // A node without the script gets it once.
        CHECK(w.count(i, "EVALSHA") == 1);
        CHECK(w.count(i, "EVAL") == 1);
        CHECK(w.count(i, "SET") == 0);
    }
    CHECK(l.fencing_token == 0);
    CHECK(std::ranges::equal(l.resources(), both));

    call& extended = w.extend(l, 10s);
    w.advance(5ms);
    CHECK(extended.done());
    CHECK_FALSE(extended.error);
    w.advance(5s);
    CHECK(w.keys() == 6);

    call& released = w.release(l);
    w.advance(5ms);
    CHECK(released.released == release_result::released);
    CHECK(w.keys() == 0);
    CHECK(w.is_idle());
}

TEST_CASE("an acquire of several resources takes none and names the one that is held",
          "[core][group]")
{
    const auto names =
        GENERATE(std::vector<std::string>{"a", "r", "b"}, std::vector<std::string>{"r", "b"},
                 std::vector<std::string>{"b", "r"});
    running_world w;
    w.with_report = true;
    core::lease& holder = w.lock("r", {.ttl = 7s});
    call& c = w.acquire(names, {.timeout = 0ms});
    w.advance(5ms);
    CHECK(c.error == errc::contended);
    for (const node_report& n : c.report.nodes) {
        if (n.outcome == node_outcome::refused) {
            CHECK(n.refused_resource == "r");
            CHECK(n.holder_ttl > 6s);
        }
    }
    CHECK(std::ranges::count(c.report.nodes, "r", &node_report::refused_resource) >= 2);
    w.advance(5ms);
    CHECK(w.keys() == 3);
    w.drop(holder);
    w.advance(5ms);
    w.drop(take(w, names));
    w.advance(5ms);
    CHECK(w.is_idle());
}

TEST_CASE("a report names the one of several resources whose key has no ttl", "[core][group]")
{
    running_world w;
    w.with_report = true;
    for (const auto& p : w.peers) {
        p->master.write("s", {.value = "another", .end = {}});
    }
    call& c = w.acquire(both, {.timeout = 0ms});
    w.advance(5ms);
    CHECK(c.error == errc::contended);
    for (const node_report& n : c.report.nodes) {
        if (n.outcome == node_outcome::refused) {
            CHECK(n.refused_resource == "s");
            CHECK(n.never_ends);
        }
    }
    CHECK(std::ranges::count(c.report.nodes, true, &node_report::never_ends) >= 2);
}

TEST_CASE("an adopt of several resources changes none and names the one that is not held",
          "[core][group]")
{
    running_world w;
    w.with_report = true;
    core::lease& l = take(w, {"a", "b"}, {.ttl = 3s});
    const auto named =
        GENERATE(std::vector<std::string>{"c", "a", "b", "d"},
                 std::vector<std::string>{"a", "c", "b"}, std::vector<std::string>{"a", "b", "c"});
    call& c = w.adopt(named, l.token, 1h);
    w.advance(5ms);
    CHECK(c.error == errc::lost);
    for (const node_report& n : c.report.nodes) {
        CHECK(n.refused_resource == (n.outcome == node_outcome::refused ? "c" : ""));
    }
    CHECK(std::ranges::count(c.report.nodes, "c", &node_report::refused_resource) >= 2);
    w.advance(3s);
    CHECK(w.keys() == 0);
}

TEST_CASE("an extend of several resources names the one that is lost", "[core][group]")
{
    running_world w;
    w.with_report = true;
    core::lease& l = take(w, both, {.ttl = 3s});
    w.occupy("s");
    call& c = w.extend(l, 1h);
    w.advance(5ms);
    CHECK(c.error == errc::lost);
    CHECK(std::ranges::count(c.report.nodes, "s", &node_report::refused_resource) >= 2);
}

TEST_CASE("a cluster node that wants all keys in one slot is reported in its own words",
          "[core][group]")
{
    running_world w;
    w.with_report = true;
    for (const auto* name : {"EVALSHA", "EVAL"}) {
        w.peers[0]->master.refusals[name] = "CROSSSLOT Keys in request don't hash to the same slot";
    }
    call& one = w.acquire(both, {.ttl = 3s, .timeout = 0ms});
    w.advance(5ms);
    REQUIRE(one.held != nullptr);
    CHECK(one.held->granted == 0b110);
    w.drop(*one.held);
    w.advance(5ms);

    w.peers[1]->master.refusals = w.peers[0]->master.refusals;
    call& other = w.acquire(both, {.ttl = 3s, .timeout = 0ms});
    w.advance(5ms);
    CHECK(other.error == errc::unavailable);
    for (const unsigned i : {0U, 1U}) {
        CHECK(other.report.nodes[i].outcome == node_outcome::failed);
        CHECK(other.report.nodes[i].error.starts_with("CROSSSLOT"));
    }
}

TEST_CASE("two acquires that name the same resources in another order do not block each other",
          "[core][group]")
{
    running_world w;
    call& one = w.acquire({"r", "s", "t"}, {.ttl = 3s, .timeout = 10s});
    call& other = w.acquire({"t", "s", "r"}, {.ttl = 3s, .timeout = 10s});
    w.advance(5ms);
    REQUIRE(one.held != nullptr);
    CHECK_FALSE(other.done());
    w.drop(*one.held);
    w.advance(1s);
    REQUIRE(other.held != nullptr);
    CHECK(other.held->resources().front() == "t");
    w.drop(*other.held);
}

TEST_CASE("a later attempt also asks for all resources", "[core][group]")
{
    running_world w;
    core::lease& holder = w.lock("s", {.ttl = 3s});
    call& c = w.acquire(both, {.ttl = 3s, .timeout = 10s});
    w.advance(50ms);
    REQUIRE_FALSE(c.done());
    w.drop(holder);
    w.advance(1s);
    REQUIRE(c.held != nullptr);
    CHECK(w.core->snapshot().attempts > 2);
    CHECK(w.keys() == 6);
    w.drop(*c.held);
}

TEST_CASE("a token of several resources exceeds every earlier token of each",
          "[core][group][fencing]")
{
    running_world w;
    const auto token_of_lock = [&](const std::vector<std::string>& names) {
        core::lease& l = take(w, names, fenced);
        const std::uint64_t token = l.fencing_token;
        w.drop(l);
        w.advance(5ms);
        return token;
    };
    std::uint64_t last = token_of_lock({"r"});
    for (int i = 0; i < 50; ++i) {
        last = std::max(last, token_of_lock({"s"}));
    }
    for (const auto& names :
         {both, std::vector<std::string>{"t", "s"}, std::vector<std::string>{"t"},
          std::vector<std::string>{"s", "t", "r"}}) {
        // Each lock shares a resource with the one before.
        const std::uint64_t token = token_of_lock(names);
        CHECK(token > last);
        last = token;
    }
    // Before the last lock all counters had the same value.
    CHECK(w.core->snapshot().counter_alignments <= 3);
}

TEST_CASE("one script aligns differing counters while the lease has its keys",
          "[core][group][fencing]")
{
    counting_world w;
    call& c = w.acquire(both, {.ttl = 3s, .fencing = true});
    const words asked = w.peers[0]->asked[0];
    REQUIRE(asked.size() == 14);
    CHECK(asked[1] == script_of_take);
    CHECK(words(asked.begin() + 2, asked.begin() + 7) ==
          words{"4", "r", "s", "r:fencing", "s:fencing"});
    const std::string owner = asked[7];
    const auto granted = [&](unsigned node, std::int64_t value) {
        w.answer(node, "*2\r\n:0\r\n" + number(w.base + value));
    };
    granted(0, 5);
    granted(1, 9);
    REQUIRE(w.peers[0]->asked.size() == 1);
    const words raise = w.peers[0]->asked[0];
    CHECK(raise[1] == resp::align_script.sha1);
    CHECK(words(raise.begin() + 2, raise.begin() + 9) ==
          words{"4", "r", "s", "r:fencing", "s:fencing", owner, std::to_string(w.base + 9)});
    w.answer(0, number(w.base + 9));
    CHECK(token_of(c) == static_cast<std::uint64_t>(w.base + 9));
    w.drop(*c.held);
    w.answer_all();
}

TEST_CASE("a client rejects an unfitting reply to an acquire of several resources", "[core][group]")
{
    const auto* answer =
        GENERATE(":1\r\n", "+OK\r\n", "_\r\n", "*1\r\n:0\r\n", "*2\r\n:3\r\n:5\r\n",
                 "*2\r\n:-1\r\n:5\r\n", "*2\r\n:0\r\n$1\r\n5\r\n");
    CAPTURE(answer);
    counting_world w;
    call& c = w.acquire(both, {.timeout = 0ms, .fencing = false});
    w.answer(0, answer);
    CHECK(w.core->snapshot().protocol_errors == 1);
    w.answer(1, "*2\r\n:0\r\n:0\r\n");
    CHECK_FALSE(c.done());
    w.answer(2, "*2\r\n:2\r\n:500\r\n");
    CHECK(c.error == errc::contended);
}

TEST_CASE("a node that cannot lock several resources fails alone", "[core][group]")
{
    const auto* answer = GENERATE(
        "-OOM command not allowed\r\n", "-ERR a fencing counter is no number\r\n",
        "-NOPERM No permissions to access a key\r\n", "-WRONGTYPE Operation against a key\r\n");
    counting_world w;
    w.with_report = true;
    call& c = w.acquire(both, {.timeout = 0ms, .fencing = false});
    w.answer(0, answer);
    w.answer(1, "*2\r\n:0\r\n:0\r\n");
    w.answer(2, "*2\r\n:0\r\n:0\r\n");
    REQUIRE(c.held != nullptr);
    CHECK(c.report.nodes[0].outcome == node_outcome::failed);
    // The client cannot know which keys the node set.
    w.drop(*c.held);
    CHECK(w.pending(0) == strings{"EVALSHA"});
    w.answer_all();
}

TEST_CASE("a client renews several resources as one lock", "[core][group][keep_alive]")
{
    running_world w;
    core::lease& l = take(w, both, {.ttl = 2s, .keep_alive = keep_alive{}});
    w.advance(20s);
    CHECK(l.valid_until() > w.now);
    CHECK(w.keys() == 6);
    // The loss of one resource loses the lock.
    for (unsigned i = 0; i < 2; ++i) {
        (void)w.peers[i]->master.execute(w.now, w.peers[i]->speaks, {"DEL", "s"});
    }
    w.advance(2s);
    CHECK(w.news.back() == renewal_outcome::lost);
    w.drop(l);
    w.advance(5ms);
    CHECK(w.keys() == 0);
}
