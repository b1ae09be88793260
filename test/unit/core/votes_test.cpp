#include "core/votes.hpp"

#include "harness.hpp"
#include "support/tier.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <optional>

using namespace redlock;
using namespace redlock::test;
using core::verdict;
using core::votes;

namespace {

enum class vote { granted, refused, error, timeout };

constexpr unsigned kinds = 4;

/// The `number`-th of all assignments of votes to nodes.
std::vector<vote> assignment(unsigned nodes, unsigned number)
{
    std::vector<vote> all;
    for (unsigned i = 0; i < nodes; ++i, number /= kinds) {
        all.push_back(static_cast<vote>(number % kinds));
    }
    return all;
}

unsigned assignments(unsigned nodes)
{
    return nodes == 0 ? 1 : kinds * assignments(nodes - 1);
}

struct counts {
    unsigned granted = 0;
    unsigned refused = 0;
    unsigned failed = 0;

    void add(vote v)
    {
        granted += v == vote::granted ? 1u : 0u;
        refused += v == vote::refused ? 1u : 0u;
        failed += v == vote::error || v == vote::timeout ? 1u : 0u;
    }
};

votes cast(unsigned nodes, const counts& c)
{
    votes v{nodes};
    unsigned next = 0;
    for (unsigned i = 0; i < c.granted; ++i) {
        v.grant(next++);
    }
    for (unsigned i = 0; i < c.refused; ++i) {
        v.refuse(next++);
    }
    for (unsigned i = 0; i < c.failed; ++i) {
        v.fail(next++);
    }
    return v;
}

verdict of_extend_when_all_voted(unsigned nodes, const counts& c)
{
    const unsigned quorum = nodes / 2 + 1;
    if (c.granted >= quorum) {
        return verdict::won;
    }
    return c.refused > nodes - quorum ? verdict::refused : verdict::unavailable;
}

verdict of_release_when_all_voted(unsigned nodes, const counts& c)
{
    const unsigned quorum = nodes / 2 + 1;
    if (c.granted >= quorum) {
        return verdict::won;
    }
    if (c.refused > nodes - quorum) {
        return verdict::refused;
    }
    if (c.granted + c.refused < quorum) {
        return verdict::unavailable;
    }
    return c.granted > 0 ? verdict::won : verdict::refused;
}

/// The verdict that is certain for any outcome of the open votes, or `open`.
template <class AllVoted>
verdict certain(unsigned nodes, const counts& c, AllVoted all_voted)
{
    const unsigned open = nodes - c.granted - c.refused - c.failed;
    std::optional<verdict> only;
    for (unsigned g = 0; g <= open; ++g) {
        for (unsigned r = 0; g + r <= open; ++r) {
            const counts full{c.granted + g, c.refused + r, c.failed + open - g - r};
            const verdict v = all_voted(nodes, full);
            if (only && *only != v) {
                return verdict::open;
            }
            only = v;
        }
    }
    return *only;
}

template <class What>
void for_all_counts(unsigned nodes, What what)
{
    for (unsigned g = 0; g <= nodes; ++g) {
        for (unsigned r = 0; g + r <= nodes; ++r) {
            for (unsigned f = 0; g + r + f <= nodes; ++f) {
                what(counts{g, r, f});
            }
        }
    }
}

std::string_view bytes_of(vote v)
{
    switch (v) {
        case vote::granted: return ok;
        case vote::refused: return nil;
        case vote::error: return "-OOM command not allowed when used memory > 'maxmemory'.\r\n";
        case vote::timeout: break;
    }
    return {};
}

/// A node's vote on a SET, followed by the holder's remaining ttl if the client asked for it.
void cast_vote(bench_world& w, unsigned node, vote v)
{
    w.answer(node, bytes_of(v));
    if (w.with_report) {
        w.answer(node, v == vote::refused ? ":5000\r\n" : ":10000\r\n");
    }
}

/// Checks an acquire that has ended. A failed one sent every node a release after its SET, a
/// successful one none. Nothing is left after the last answer.
void check_give_back(bench_world& w, const call& c, const std::vector<vote>& all)
{
    for (unsigned i = 0; i < all.size(); ++i) {
        if (w.count(i, "EVALSHA") != (c.error ? 1u : 0u)) {
            FAIL("node " << i << " was given " << w.count(i, "EVALSHA") << " releases");
        }
    }
    if (c.held != nullptr) {
        w.drop(*c.held);
    }
    for (unsigned i = 0; i < all.size(); ++i) {
        if (all[i] == vote::timeout) {
            cast_vote(w, i, vote::granted);
        }
        w.answer(i, all[i] == vote::granted || all[i] == vote::timeout ? yes : no);
    }
    REQUIRE(w.is_idle());
}

/// Plays one assignment of votes in one order of arrival on an acquire with a single attempt. Late
/// votes arrive too.
void play(const std::vector<vote>& all, const std::vector<unsigned>& order, bool with_report)
{
    const auto nodes = static_cast<unsigned>(all.size());
    const unsigned quorum = nodes / 2 + 1;
    manual_world w{nodes};
    w.with_report = with_report;
    call& c = w.acquire("r", {.ttl = 10s, .timeout = 0ms});
    counts seen;
    bool decided = false;
    for (const unsigned i : order) {
        if (all[i] == vote::timeout) {
            continue;
        }
        cast_vote(w, i, all[i]);
        if (decided) {
            continue;
        }
        seen.add(all[i]);
        decided = seen.granted >= quorum || seen.refused + seen.failed > nodes - quorum;
        if (c.done() != decided) {
            FAIL("decided " << (decided ? "too late" : "too early"));
        }
    }
    if (!decided) {
        w.advance(w.settings.node_timeout - 1ns);
        REQUIRE_FALSE(c.done());
        w.advance(1ns);
        for (const vote v : all) {
            seen.add(v == vote::timeout ? v : vote::granted);
            seen.granted -= v == vote::timeout ? 0u : 1u;
        }
    }
    REQUIRE(c.completions == 1);
    const error_code wanted = seen.granted >= quorum         ? error_code{}
                              : seen.failed > nodes - quorum ? errc::unavailable
                                                             : errc::contended;
    REQUIRE(c.error == wanted);
    if (c.error == errc::contended) {
        REQUIRE(seen.refused > 0);
    }
    check_give_back(w, c, all);
}

}  // namespace

TEST_CASE("p02: the quorum is an integer majority of all nodes", "[core][pitfall][p02]")
{
    constexpr std::array<unsigned, 8> quorum{1, 2, 2, 3, 3, 4, 4, 5};
    for (unsigned nodes = 1; nodes <= quorum.size(); ++nodes) {
        CHECK(votes{nodes}.quorum() == quorum[nodes - 1]);
    }
    CHECK(votes{32}.quorum() == 17);
}

TEST_CASE("p01: an acquire is decided when a majority is certain or impossible",
          "[core][pitfall][p01]")
{
    for (unsigned nodes = 1; nodes <= max_nodes; ++nodes) {
        const unsigned spare = nodes - (nodes / 2 + 1);
        for_all_counts(nodes, [&](const counts& c) {
            const verdict v = cast(nodes, c).of_acquire();
            const bool won = c.granted >= nodes / 2 + 1;
            const bool failed = c.refused + c.failed > spare;
            const verdict wanted = won                ? verdict::won
                                   : !failed          ? verdict::open
                                   : c.failed > spare ? verdict::unavailable
                                                      : verdict::refused;
            REQUIRE(v == wanted);
        });
    }
}

TEST_CASE("an extend or a release is decided when its outcome is certain", "[core]")
{
    for (unsigned nodes = 1; nodes <= max_nodes; ++nodes) {
        for_all_counts(nodes, [&](const counts& c) {
            CAPTURE(nodes, c.granted, c.refused, c.failed);
            const votes v = cast(nodes, c);
            REQUIRE(v.of_extend() == certain(nodes, c, of_extend_when_all_voted));
            REQUIRE(v.of_release() == certain(nodes, c, of_release_when_all_voted));
        });
    }
}

TEST_CASE("a vote belongs to one node up to the last of the largest number", "[core]")
{
    votes v{32};
    v.grant(31);
    v.refuse(0);
    CHECK(v.has_voted(31));
    CHECK(v.has_voted(0));
    CHECK_FALSE(v.has_voted(30));
    CHECK(v.open() == 30);
    CHECK(v.open_nodes() == 0x7ffffffeU);
}

TEST_CASE("the largest number of nodes works like any other", "[core]")
{
    const unsigned nodes = GENERATE(31u, 32u);
    const unsigned quorum = nodes / 2 + 1;
    running_world w{nodes};
    w.with_report = true;
    const auto with_key = [&](unsigned first, unsigned end) {
        for (unsigned i = first; i < end; ++i) {
            w.peers[i]->master.put("r", {.value = "somebody else's", .end = w.now + 1h});
        }
    };
    SECTION("all of them grant and extend and inspect and release")
    {
        core::lease& l = w.lock("r");
        w.settle();
        CHECK(std::popcount(l.granted.load()) == static_cast<int>(nodes));
        CHECK_FALSE(w.extend(l, 10s).error);
        CHECK(w.inspect("r").found.agreeing == quorum);  // which decides
        CHECK(w.release(l).released == release_result::released);
    }
    SECTION("a majority grants")
    {
        with_key(0, nodes - quorum);
        call& c = w.acquire("r", {.timeout = 0ms, .fencing = true});
        REQUIRE(c.held != nullptr);
        CHECK(std::popcount(c.held->granted.load()) == static_cast<int>(quorum));
        CHECK(c.held->fencing_token > 0);
        CHECK(c.report.nodes.size() == nodes);
        CHECK(c.report.nodes.front().outcome == node_outcome::refused);
        CHECK(c.report.nodes.back().outcome == node_outcome::granted);
        w.drop(*c.held);
    }
    SECTION("one node too many refuses")
    {
        with_key(0, nodes - quorum + 1);
        call& c = w.acquire("r", {.timeout = 0ms});
        CHECK(c.error == errc::contended);
        CHECK(c.report.nodes.front().outcome == node_outcome::refused);
    }
    w.flush_keys();
    w.advance(1s);
    CHECK(w.is_idle());
    CHECK(w.keys() == 0);
}

TEST_CASE("p01: an acquire ends at the deciding vote for every assignment of votes",
          "[core][pitfall][p01]")
{
    const unsigned most = plays_a_part() ? 5 : 6;
    for (unsigned nodes = 1; nodes <= most; ++nodes) {
        std::vector<unsigned> order(nodes);
        std::iota(order.begin(), order.end(), 0u);
        for (unsigned n = 0; n < assignments(nodes); ++n) {
            CAPTURE(nodes, n);
            // All assignments in one order already cover all orders of votes. The other orders are
            // for the nodes.
            play(assignment(nodes, n), order, n % 2 == 0);
            play(assignment(nodes, n), order, n % 2 == 1);
            std::rotate(order.begin(), order.begin() + 1, order.end());
        }
    }
}

TEST_CASE("p01: an acquire ends right for every order of arrival on three nodes",
          "[core][pitfall][p01]")
{
    std::vector<unsigned> order{0, 1, 2};
    do {
        for (unsigned n = 0; n < assignments(3); ++n) {
            play(assignment(3, n), order, false);
            play(assignment(3, n), order, true);
        }
    } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("p04: an acquire fails at once after two errors and a refusal of five nodes",
          "[core][pitfall][p04]")
{
    manual_world w{5};
    call& c = w.acquire("r", {.timeout = 0ms});
    w.answer(0, broken);
    w.answer(1, broken);
    CHECK_FALSE(c.done());
    w.answer(2, nil);
    REQUIRE(c.done());
    CHECK(c.error == errc::contended);
}
