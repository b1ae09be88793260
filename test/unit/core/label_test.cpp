#include "harness.hpp"
#include "resp/scripts.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <string>

using namespace redlock;
using namespace redlock::test;

namespace {

constexpr std::string_view label_key = "r:redlock:holder";

acquire_options labelled()
{
    acquire_options o;
    o.label = "backup on web1";
    return o;
}

acquire_options one_attempt()
{
    acquire_options o;
    o.timeout = 0ms;
    return o;
}

std::size_t labels(const bench_world& w, std::string_view key = label_key)
{
    return static_cast<std::size_t>(std::ranges::count_if(
        w.peers, [&](const auto& p) { return p->master.find(w.now, key) != nullptr; }));
}

std::size_t sent(const bench_world& w, std::string_view name)
{
    std::size_t sum = 0;
    for (unsigned node = 0; node < w.peers.size(); ++node) {
        sum += w.count(node, name);
    }
    return sum;
}

/// How often a node got the text of the script that stores labels.
std::size_t texts_sent(const bench_world& w)
{
    std::size_t sum = 0;
    for (const auto& p : w.peers) {
        sum += static_cast<std::size_t>(std::ranges::count_if(p->log, [](const words& command) {
            return command.size() > 1 && command[0] == "EVAL" &&
                   command[1] == resp::label_script.text;
        }));
    }
    return sum;
}

}  // namespace

TEST_CASE("a lock without a label costs no command for it", "[core][label]")
{
    running_world w;
    core::lease& l = w.lock("r");
    (void)w.extend(l, 20s);
    (void)w.release(l);
    CHECK(sent(w, "SET") == 3);
    CHECK(sent(w, "GETRANGE") == 0);
}

TEST_CASE("an inspection names the holder by its label", "[core][label]")
{
    running_world w;
    core::lease& l = w.lock("r", labelled());
    CHECK(labels(w) == 3);
    for (const auto& p : w.peers) {
        CHECK(p->master.find(w.now, label_key)->end <= p->master.find(w.now, "r")->end);
        CHECK(p->master.find(w.now, label_key)->value.find(l.token.view()) == std::string::npos);
    }
    CHECK(w.inspect("r").found.holder_label == "backup on web1");
    (void)w.release(l);
    CHECK(labels(w) == 0);
    const call& free = w.inspect("r");
    CHECK(free.found.state == lock_state::free);
    CHECK(free.found.holder_label.empty());
}

TEST_CASE("a contended acquire with a report names the holder", "[core][label]")
{
    running_world w;
    const bool of_several = GENERATE(false, true);
    CAPTURE(of_several);
    const std::vector<std::string> both{"q", "r"};
    (void)w.lock("r", labelled());
    w.with_report = true;
    call& c = of_several ? w.acquire(both, one_attempt()) : w.acquire("r", one_attempt());
    REQUIRE(c.done());
    CHECK(c.error == errc::contended);
    CHECK(c.report.holder_label == "backup on web1");
    CHECK(c.report.holder_ttl);
    // A node without an answer about the label has not voted.
    CHECK(std::ranges::all_of(c.report.nodes, [&](const node_report& n) {
        return n.refused_resource == (of_several && n.outcome == node_outcome::refused ? "r" : "");
    }));
    w.with_report = false;
    const auto before = sent(w, "GETRANGE");
    CHECK((of_several ? w.acquire(both, one_attempt()) : w.acquire("r", one_attempt())).error ==
          errc::contended);
    CHECK(sent(w, "GETRANGE") == before);
}

TEST_CASE("a node that refuses in time and gives the label later is not late", "[core][label]")
{
    config c;
    c.node_timeout = 50ms;
    bench_world w(3, c);
    w.start();
    (void)w.lock("r", labelled());
    const std::vector<std::string> both{"q", "r"};
    (void)w.acquire(both, one_attempt());  // from now on the nodes know the script
    w.set_ways(15ms, 15ms);
    w.with_report = true;
    call& late = w.acquire(both, one_attempt());
    w.advance(1s);
    REQUIRE(late.done());
    CHECK(late.error == errc::contended);
    CHECK(std::ranges::all_of(late.report.nodes, [](const node_report& n) {
        return n.outcome == node_outcome::refused && n.refused_resource == "r";
    }));
    CHECK(w.core->snapshot().node_timeouts == 0);
}

TEST_CASE("each resource of a lock shows the label", "[core][label]")
{
    running_world w;
    call& c = w.acquire(std::vector<std::string>{"q", "r"}, labelled());
    REQUIRE(c.held != nullptr);
    CHECK(labels(w) == 3);
    CHECK(labels(w, "q:redlock:holder") == 3);
    CHECK(w.inspect("q").found.holder_label == "backup on web1");
    (void)w.extend(*c.held, 1min);
    CHECK(w.peers[0]->master.find(w.now, "q:redlock:holder")->end > w.now + 50s);
    (void)w.release(*c.held);
    CHECK(labels(w) + labels(w, "q:redlock:holder") == 0);
}

TEST_CASE("a label lives as long as its lock even after an extend", "[core][label]")
{
    running_world w;
    acquire_options o = labelled();
    o.ttl = 4s;
    o.keep_alive = keep_alive{};
    core::lease& l = w.lock("r", o);
    w.advance(1min);
    CHECK(w.inspect("r").found.holder_label == "backup on web1");
    w.drop(l);
    w.advance(1s);
    CHECK(labels(w) == 0);
    CHECK(w.is_idle());
}

TEST_CASE("an adopted lock keeps its label", "[core][label]")
{
    const bool of_several = GENERATE(false, true);
    CAPTURE(of_several);
    const std::vector<std::string> resources =
        of_several ? std::vector<std::string>{"q", "r"} : std::vector<std::string>{"r"};
    running_world w;
    const call& c = w.acquire(resources, labelled());
    REQUIRE(c.held != nullptr);
    call& a = w.adopt(resources, c.held->token, 1min);
    REQUIRE(a.held != nullptr);
    CHECK(labels(w) == 3);
    CHECK(w.peers[0]->master.find(w.now, label_key)->end > w.now + 50s);
    CHECK(w.inspect("r").found.holder_label == "backup on web1");
    (void)w.release(*a.held);
    CHECK(labels(w) + labels(w, "q:redlock:holder") == 0);
}

TEST_CASE("an adopt leaves the label of another holder", "[core][label]")
{
    running_world w;
    core::lease& l = w.lock("r");
    for (const auto& p : w.peers) {
        p->master.put(std::string(label_key), {.value = "01234567 another", .end = {}});
    }
    call& a = w.adopt("r", l.token, 20s);
    REQUIRE(a.held != nullptr);
    (void)w.release(*a.held);
    CHECK(labels(w) == 3);
}

TEST_CASE("a failed attempt leaves the holder's label as it is", "[core][label]")
{
    running_world w;
    core::lease& l = w.lock("r", labelled());
    acquire_options o = one_attempt();
    o.label = "another";
    CHECK(w.acquire("r", o).error == errc::contended);
    CHECK(w.inspect("r").found.holder_label == "backup on web1");
    // The label of an earlier holder must not name a later holder without a label.
    for (const auto& p : w.peers) {
        p->master.lose("r");
    }
    (void)w.lock("r", one_attempt());
    CHECK(labels(w) == 3);
    CHECK(w.inspect("r").found.holder_label.empty());
    // A late release leaves a later holder's label.
    for (const auto& p : w.peers) {
        p->master.lose("r");
    }
    o.label = "later";
    core::lease& later = w.lock("r", o);
    (void)w.release(l);
    CHECK(w.inspect("r").found.holder_label == "later");
    (void)w.release(later);
}

TEST_CASE("a label replaces no key of another program", "[core][label]")
{
    running_world w;
    const auto value =
        GENERATE(as<std::string>{}, "theirs", "", "0123abcX label", "0123abcd0 label");
    for (const auto& p : w.peers) {
        p->master.put(std::string(label_key), {.value = value, .end = {}});
    }
    core::lease& l = w.lock("r", labelled());
    w.with_report = true;
    call& found = w.inspect("r", true);
    CHECK(found.found.holder_label.empty());
    const std::string told =
        value.empty() ? "" : "r:redlock:holder has something other than the label of a holder";
    CHECK(std::ranges::all_of(found.report.nodes, [&](const node_report& n) {
        return n.outcome == node_outcome::granted && n.error == told;
    }));
    CHECK(w.acquire("r", one_attempt()).report.holder_label.empty());
    CHECK_FALSE(w.extend(l, 20s).error);
    (void)w.release(l);
    for (const auto& p : w.peers) {
        const auto* there = p->master.find(w.now, label_key);
        REQUIRE(there != nullptr);
        CHECK(there->value == value);
    }
}

TEST_CASE("an inspection names the wrong type of a label's key and no earlier label",
          "[core][label]")
{
    running_world w;
    w.with_report = true;
    const bool is_foreign = GENERATE(true, false);
    for (const auto& p : w.peers) {
        p->master.put(
            std::string(label_key),
            {.value = is_foreign ? "" : "01234567 earlier", .end = {}, .foreign_kind = is_foreign});
    }
    for (const auto outcome : {node_outcome::refused, node_outcome::granted}) {
        const call& c = w.inspect("r", true);
        CHECK(c.report.nodes[0].outcome == outcome);
        CHECK(
            c.report.nodes[0].error ==
            (is_foreign ? "r:redlock:holder has something other than the label of a holder" : ""));
        if (outcome == node_outcome::refused) {
            (void)w.lock("r");
        }
    }
}

TEST_CASE("a node gets the script of the labels once and then its digest", "[core][label]")
{
    running_world w;
    const auto cycle = [&w] {
        core::lease& l = w.lock("r", labelled());
        const std::size_t stored = labels(w);
        (void)w.release(l);
        return stored;
    };
    CHECK(cycle() == 3);
    CHECK(texts_sent(w) == 3);
    CHECK(cycle() == 3);
    CHECK(texts_sent(w) == 3);
    SECTION("a node that forgot the script gets it with the next label")
    {
        w.flush_scripts();
        CHECK(cycle() == 0);
        CHECK(cycle() == 3);
        CHECK(texts_sent(w) == 6);
    }
    SECTION("a new connection may lead to another server")
    {
        w.close(0);
        w.advance(3s);
        CHECK(cycle() == 3);
        CHECK(texts_sent(w) == 4);
    }
}

TEST_CASE("a node that refuses the label keeps its vote", "[core][label]")
{
    running_world w;
    for (const auto& p : w.peers) {
        p->master.put(std::string(label_key), {.value = {}, .end = {}, .foreign_kind = true});
        p->master.refusals["GETRANGE"] = "NOPERM this user has no permissions to run it";
    }
    core::lease& l = w.lock("r", labelled());
    w.with_report = true;
    call& c = w.acquire("r", one_attempt());
    CHECK(c.error == errc::contended);
    CHECK(c.report.holder_label.empty());
    CHECK(c.report.nodes[0].outcome == node_outcome::refused);
    CHECK(w.inspect("r").found.state == lock_state::held);
    CHECK(w.extend(l, 20s).error == error_code{});
    CHECK(w.release(l).released == release_result::released);
    CHECK(w.core->snapshot().node_errors == 0);
    CHECK(w.core->snapshot().disconnects == 0);
}

TEST_CASE("a client shows the label of another program without harm to a terminal", "[core][label]")
{
    running_world w;
    core::lease& l = w.lock("r");
    const std::string tie(l.token.view().substr(0, 8));
    const std::string longest(max_label_size, 'x');
    const std::pair<std::string, std::string> cases[] = {
        {tie + " \x1b[2J", "\\x1b[2J"},
        {tie + " " + longest + longest, longest},
        {tie + " " + std::string(std::size_t{2} << 20, 'x'), longest},
        {"untied", ""},
        {tie + " ", ""},
        {tie, ""},
        {"", ""},
    };
    for (const auto& [value, shown] : cases) {
        for (const auto& p : w.peers) {
            p->master.put(std::string(label_key), {.value = value, .end = {}});
        }
        CHECK(w.inspect("r").found.holder_label == shown);
        w.with_report = true;
        CHECK(w.acquire("r", one_attempt()).report.holder_label == shown);
        w.with_report = false;
    }
    CHECK(w.core->snapshot().disconnects == 0);
}

TEST_CASE("a label that outlives its lock names no holder", "[core][label]")
{
    running_world w;
    core::lease& l = w.lock("r", labelled());
    const std::string stored = w.peers[0]->master.find(w.now, label_key)->value;
    (void)w.release(l);
    const bool is_foreign = GENERATE(false, true);
    for (const auto& p : w.peers) {
        p->master.put(std::string(label_key), {.value = stored, .end = {}});
        if (is_foreign) {
            p->master.put("r", {.value = {}, .end = {}, .foreign_kind = true});
        }
    }
    w.with_report = true;
    const call& c = w.inspect("r");
    CHECK(c.found.state == (is_foreign ? lock_state::held : lock_state::free));
    CHECK(c.found.holder_label.empty());
    CHECK(c.report.holder_label.empty());
}
