#include "harness.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

using namespace redlock;
using namespace redlock::test;

namespace {

std::string held_by(std::string_view owner, int ttl)
{
    std::string reply = "*2\r\n$" + std::to_string(owner.size()) + "\r\n";
    return reply.append(owner) + "\r\n:" + std::to_string(ttl) + "\r\n";
}

/// These replies are for inspections alone, and not for their questions about a queue.
const config without_queue{.fair_queue = false};

constexpr std::string_view nobody = "*2\r\n_\r\n:-2\r\n";
constexpr std::string_view foreign_kind =
    "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n";

/// Inspects while the nodes answer in turn. The nodes without a reply time out.
inspection inspected(unsigned nodes, const std::vector<std::string>& replies, nanos took = {})
{
    manual_world w{nodes, without_queue};
    call& c = w.inspect("r");
    w.now += took;
    for (unsigned i = 0; i < replies.size() && !c.done(); ++i) {
        w.answer(i, replies[i]);
    }
    w.advance(50ms);
    REQUIRE(c.completions == 1);
    CHECK_FALSE(c.error);
    return c.found;
}

enum class said : unsigned { a, b, empty, failed };
constexpr unsigned kinds = 4;

lock_state final_state(const std::vector<said>& all)
{
    const std::size_t quorum = all.size() / 2 + 1;
    std::array<std::size_t, kinds> count{};
    for (const said s : all) {
        ++count[static_cast<unsigned>(s)];
    }
    const std::size_t members = std::max(count[0], count[1]);
    if (members >= quorum) {
        return lock_state::held;
    }
    return members + count[3] < quorum ? lock_state::free : lock_state::unknown;
}

/// The state that is certain for any answer of the other nodes.
std::optional<lock_state> certain(std::vector<said> all, std::size_t nodes)
{
    if (all.size() == nodes) {
        return final_state(all);
    }
    std::optional<lock_state> only;
    for (unsigned k = 0; k < kinds; ++k) {
        all.push_back(static_cast<said>(k));
        const auto then = certain(all, nodes);
        all.pop_back();
        if (!then || (only && *only != *then)) {
            return std::nullopt;
        }
        only = then;
    }
    return only;
}

}  // namespace

TEST_CASE("p11: the remaining ttl is the quorum-th largest answer", "[core][pitfall][p11]")
{
    const inspection found =
        inspected(5, {held_by("x", 100), held_by("x", 200), held_by("x", 9000)}, 10ms);
    CHECK(found.state == lock_state::held);
    CHECK(found.owner_known);
    // 100 ms less 1 % and 2 ms, less the 10 ms since the request.
    CHECK(found.remaining == ms(87));
    CHECK(found.agreeing == 3);
    CHECK(found.silent == 2);
}

TEST_CASE("p11: the first quorum that agrees decides by the least of its ttls",
          "[core][pitfall][p11]")
{
    running_world w{3};
    for (unsigned i = 0; i < 3; ++i) {
        w.peers[i]->master.put("r", {.value = "x", .end = w.now + 1s * (i + 1)});
        w.peers[i]->way_back = 1ms;
    }
    call& c = w.inspect("r");
    w.advance(5ms);
    REQUIRE(c.done());
    // The second answer makes a quorum with 1000 and 2000, whose quorum-th largest value is the
    // least. Later answers don't matter.
    CHECK(c.found.remaining == ms(1000 - 12 - 1));
}

TEST_CASE("p12: the remaining ttls of a quorum may differ", "[core][pitfall][p12]")
{
    for (const int off : {1, 10, 999, 1000}) {
        const inspection found = inspected(3, {held_by("x", 5000), held_by("x", 5000 + off)});
        CHECK(found.state == lock_state::held);
        CHECK(found.remaining == ms(5000 - 52));
    }
}

TEST_CASE("p41: an inspection takes a missing answer neither for free nor for held",
          "[core][pitfall][p41]")
{
    CHECK(inspected(3, {std::string(nobody)}).state == lock_state::unknown);
    CHECK(inspected(3, {}).state == lock_state::unknown);
    CHECK(inspected(3, {std::string(nobody), std::string(nobody)}).state == lock_state::free);
    CHECK(inspected(3, {held_by("x", 1), std::string(broken), std::string(broken)}).state ==
          lock_state::unknown);
    CHECK(inspected(3, {held_by("x", 1), held_by("y", 1), std::string(nobody)}).state ==
          lock_state::free);
}

TEST_CASE("p40: a key of another type has an unknown holder", "[core][pitfall][p40]")
{
    const inspection found = inspected(3, {std::string(foreign_kind), std::string(foreign_kind)});
    CHECK(found.state == lock_state::held);
    CHECK_FALSE(found.owner_known);
    CHECK_FALSE(found.remaining);
}

TEST_CASE("a key without a ttl is held without an end", "[core]")
{
    const inspection found = inspected(3, {held_by("x", -1), held_by("x", -1)});
    CHECK(found.state == lock_state::held);
    CHECK_FALSE(found.remaining);
}

TEST_CASE("an inspection limits an extreme remaining ttl and reports a used-up one as zero",
          "[core]")
{
    const std::string forever = "*2\r\n$1\r\nx\r\n:9223372036854775807\r\n";
    CHECK(inspected(1, {forever}).remaining <= base::max_ttl);
    CHECK(inspected(1, {held_by("x", 1)}).remaining == ms(0));
}

TEST_CASE("an inspection ends at the answer that makes it certain", "[core]")
{
    constexpr unsigned nodes = 3;
    for (unsigned n = 0; n < kinds * kinds * kinds; ++n) {
        manual_world w{nodes, without_queue};
        call& c = w.inspect("r");
        std::vector<said> all;
        for (unsigned i = 0, rest = n; i < nodes && !c.done(); ++i, rest /= kinds) {
            const auto next = static_cast<said>(rest % kinds);
            all.push_back(next);
            switch (next) {
                case said::a: w.answer(i, held_by("a", 10)); break;
                case said::b: w.answer(i, held_by("b", 10)); break;
                case said::empty: w.answer(i, nobody); break;
                case said::failed: w.answer(i, broken); break;
            }
            const auto known = certain(all, nodes);
            CAPTURE(n, i);
            REQUIRE(c.done() == known.has_value());
            if (known) {
                REQUIRE(c.found.state == *known);
            }
        }
        REQUIRE(c.done());
    }
}

TEST_CASE("an inspection reports the client's own lock as held", "[core]")
{
    running_world w;
    core::lease& l = w.lock("r", {.ttl = 10s});
    call& c = w.inspect("r");
    CHECK(c.found.state == lock_state::held);
    CHECK(c.found.remaining == ms(10'000 - 102));
    (void)w.release(l);
    CHECK(w.inspect("r").found.state == lock_state::free);
    CHECK(w.is_idle());
}

TEST_CASE("an inspection accepts no owner that is longer than its request allows", "[core]")
{
    const bool is_too_long = GENERATE(false, true);
    manual_world w{1, without_queue};
    call& c = w.inspect("r");
    w.answer(0, held_by(std::string(is_too_long ? 65 : 64, 'x'), 1000));
    CHECK(c.done());
    CHECK(c.found.state == (is_too_long ? lock_state::unknown : lock_state::held));
    CHECK(w.peers[0]->closes == (is_too_long ? 1 : 0));
}

TEST_CASE("an inspection fails the node that answers with nonsense", "[core]")
{
    for (const std::string_view reply :
         {":1\r\n", "*1\r\n:1\r\n", "*2\r\n:1\r\n:1\r\n", "*2\r\n_\r\n_\r\n", "+OK\r\n", "_\r\n"}) {
        CAPTURE(reply);
        manual_world w{1, without_queue};
        call& c = w.inspect("r");
        w.answer(0, reply);
        CHECK(c.done());
        CHECK(c.found.state == lock_state::unknown);
        CHECK(w.peers[0]->closes == 1);
    }
}

TEST_CASE("an inspection of all nodes waits for each node that is not dead", "[core]")
{
    bench_world w{5, without_queue};
    w.with_report = true;
    w.start();
    w.manual();
    call& c = w.inspect("r", true);
    for (unsigned i = 0; i < 4; ++i) {
        w.answer(i, held_by("x", 1000));
        CHECK_FALSE(c.done());
    }
    const bool is_last_silent = GENERATE(false, true);
    if (is_last_silent) {
        w.advance(50ms);
    } else {
        w.answer(4, nobody);
    }
    REQUIRE(c.done());
    CHECK(c.found.state == lock_state::held);
    CHECK(c.found.agreeing == 4);
    CHECK(c.found.silent == (is_last_silent ? 1 : 0));
    CHECK(c.report.nodes[4].outcome ==
          (is_last_silent ? node_outcome::timed_out : node_outcome::refused));
    CHECK(w.is_idle() != is_last_silent);  // the last request may still be open
}

TEST_CASE("a report says which nodes have keys of one owner and hides who that is", "[core]")
{
    const std::string long_one(64, 'x');
    using key_group = std::optional<unsigned>;
    constexpr key_group none;
    struct vote {
        std::vector<std::string> replies;
        std::vector<key_group> key_groups;
        key_group majority;
    };
    const std::string empty(nobody);
    const std::string foreign(foreign_kind);
    const vote votes[] = {
        {{held_by("x", 10), held_by("y", 10), held_by("z", 10)}, {0, 1, 2}, none},
        {{held_by("x", 10), held_by("y", 99), held_by("x", 20)}, {0, 1, 0}, 0},
        {{held_by("x", 10), held_by("y", 99), held_by("y", 20)}, {0, 1, 1}, 1},
        {{empty, held_by("y", 10), held_by("y", 10)}, {none, 0, 0}, 0},
        {{empty, held_by("y", 10), empty}, {none, 0, none}, none},
        {{std::string(broken), empty, held_by("z", 10)}, {none, none, 0}, none},
        {{foreign, held_by("", 10), foreign}, {0, 1, 0}, 0},
        {{held_by("", 10), foreign, foreign}, {0, 1, 1}, 1},
        {{held_by(long_one, 10), held_by(long_one, -1), held_by("x", 10)}, {0, 0, 1}, 0},
        {{empty, empty, empty}, {none, none, none}, none},
    };
    for (const auto& [replies, key_groups, majority] : votes) {
        CAPTURE(replies);
        bench_world w{3, without_queue};
        w.with_report = true;
        w.start();
        w.manual();
        call& c = w.inspect("r", true);
        for (unsigned i = 0; i < 3; ++i) {
            w.answer(i, replies[i]);
        }
        REQUIRE(c.done());
        CHECK(c.found.holder_group == majority);
        for (unsigned i = 0; i < 3; ++i) {
            CHECK(c.report.nodes[i].key_group == key_groups[i]);
            CHECK(c.report.nodes[i].error.find('x') == std::string::npos);
        }
    }
}

TEST_CASE("the largest group of keys is no majority if most nodes have no key or no answer",
          "[core]")
{
    CHECK(inspected(5, {held_by("x", 9), held_by("x", 9), std::string(nobody), std::string(nobody),
                        std::string(nobody)})
              .holder_group == std::nullopt);
    CHECK(inspected(5, {held_by("x", 9), held_by("x", 9)}).holder_group == std::nullopt);
    // Groups have the numbers of a report, with a report or without.
    CHECK(inspected(5, {held_by("y", 9), held_by("x", 9), held_by("x", 9), held_by("x", 9)})
              .holder_group == 1U);
}

TEST_CASE("a report of an inspection carries no groups into its next use", "[core]")
{
    running_world w{1};
    core::lease& l = w.lock("r", {.ttl = 10s});
    report same;
    call look;
    w.core->operations().inspect(w.now, "r", {.report = &same}).user = &look;
    w.settle();
    REQUIRE(look.done());
    CHECK(same.nodes.at(0).key_group == 0U);
    call extension;
    w.core->operations().extend(w.now, l, 10s, &same).user = &extension;
    w.settle();
    REQUIRE(extension.done());
    CHECK(same.nodes.at(0).key_group == std::nullopt);
}

TEST_CASE("an inspection for an owner token says which keys belong to that owner", "[core]")
{
    running_world w;
    core::lease& l = w.lock("r");
    w.with_report = true;
    CHECK_FALSE(w.inspect("r").found.own_group);
    CHECK_FALSE(w.inspect("r", true, std::string(40, 'a')).found.own_group);
    CHECK_FALSE(w.inspect("r", true, "no token").found.own_group);
    call& held = w.inspect("r", true, l.token.view());
    CHECK(held.found.own_group == 0u);
    CHECK(held.found.holder_group == held.found.own_group);
    // Another owner has the first two nodes.
    for (unsigned i = 0; i < 2; ++i) {
        w.peers[i]->master.lose("r");
        w.peers[i]->master.put("r", {.value = std::string(40, 'b'), .end = w.now + 10s});
    }
    call& kept = w.inspect("r", true, l.token.view());
    CHECK(kept.found.own_group == 1u);
    CHECK(kept.found.holder_group == 0u);
    CHECK(kept.report.nodes[2].key_group == kept.found.own_group);
}
