#include "core/node/batch.hpp"
#include "harness.hpp"
#include "resp/scripts.hpp"
#include "support/allocation_count.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

using namespace redlock;
using namespace redlock::test;

// Several releases or extends for one node in one script.

namespace {

using names = std::vector<std::string>;

names numbered(std::size_t count)
{
    names all;
    for (std::size_t i = 0; i < count; ++i) {
        all.push_back("r" + std::to_string(i));
    }
    return all;
}

/// A client that has locks and ends turns with several operations.
struct batch_world : running_world {
    explicit batch_world(redlock::config c = {}) : running_world(3, std::move(c)) {}

    void hold(const names& resources)
    {
        for (const std::string& r : resources) {
            held.push_back(&lock(r));
        }
    }
    /// Releases all locks in one turn.
    void release_all()
    {
        for (core::lease* l : held) {
            core->operations().release(now, *l, nullptr).user = &calls.emplace_back();
        }
        held.clear();
        settle();
    }
    void extend_all(nanos ttl)
    {
        for (core::lease* l : held) {
            core->operations().extend(now, *l, ttl, nullptr).user = &calls.emplace_back();
        }
        settle();
    }
    /// The node answers its oldest batch as a user without `+mget` sees it.
    void refuse_batch(unsigned node)
    {
        answer(node,
               "-ERR The user executing the script can't run this command or subcommand script: "
               "1f5b, on @user_script:1.\r\n");
    }
    void forget_log()
    {
        calls.clear();
        for (const auto& p : peers) {
            p->log.clear();
        }
    }
    /// The commands of the node with this script, as text and by its digest.
    [[nodiscard]] std::vector<words> calls_of(const resp::script& s, unsigned node = 0) const
    {
        std::vector<words> all;
        std::ranges::copy_if(peers[node]->log, std::back_inserter(all), [&](const words& w) {
            return w.size() > 1 && (w[1] == s.text || w[1] == s.sha1);
        });
        return all;
    }
    [[nodiscard]] std::ptrdiff_t released(release_result how) const
    {
        return std::ranges::count_if(
            calls, [&](const call& c) { return c.done() && !c.error && c.released == how; });
    }
    [[nodiscard]] std::ptrdiff_t ended(error_code how = {}) const
    {
        return std::ranges::count_if(calls,
                                     [&](const call& c) { return c.done() && c.error == how; });
    }

    std::vector<core::lease*> held;
};

/// How many keys each of the scripts has.
std::vector<std::size_t> sizes(const std::vector<words>& scripts)
{
    std::vector<std::size_t> all;
    for (const words& w : scripts) {
        all.push_back(std::stoul(w.at(2)));
    }
    return all;
}

}  // namespace

TEST_CASE("the releases of one turn go out in one script of at most 64 keys", "[core][batch]")
{
    batch_world w;
    w.hold(numbered(150));
    w.forget_log();
    w.release_all();
    CHECK(w.released(release_result::released) == 150);
    CHECK(w.keys() == 0);
    for (unsigned i = 0; i < 3; ++i) {
        CHECK(sizes(w.calls_of(resp::release_batch_script, i)) ==
              std::vector<std::size_t>{64, 64, 22});
        CHECK(w.peers[i]->log.size() == 3);
    }
    CHECK(w.is_idle());
}

TEST_CASE("the extends of one turn go out in one script of at most 64 keys", "[core][batch]")
{
    batch_world w;
    w.hold(numbered(100));
    w.forget_log();
    w.extend_all(60s);
    CHECK(w.ended() == 100);
    for (unsigned i = 0; i < 3; ++i) {
        CHECK(sizes(w.calls_of(resp::extend_batch_script, i)) == std::vector<std::size_t>{64, 36});
    }
    w.advance(50s);
    CHECK(w.keys() == 300);
}

TEST_CASE("a single release or extend goes out as if there were no batches", "[core][batch]")
{
    batch_world w;
    w.hold({"r"});
    w.forget_log();
    w.extend_all(60s);
    w.release_all();
    CHECK(w.calls_of(resp::extend_script).size() == 1);
    CHECK(w.calls_of(resp::release_script).size() == 1);
    CHECK(w.peers[0]->log.size() == 2);
}

TEST_CASE("the first batch of a connection goes out as its text", "[core][batch]")
{
    batch_world w;
    w.hold(numbered(130));
    w.forget_log();
    w.release_all();
    CHECK(w.count(0, "EVAL") == 1);
    CHECK(w.count(0, "EVALSHA") == 2);
}

TEST_CASE("releases and extends of one turn are batches of their own", "[core][batch]")
{
    batch_world w;
    w.hold(numbered(4));
    w.forget_log();
    for (std::size_t i = 0; i < 4; ++i) {
        auto& operations = w.core->operations();
        core::operation& op = i % 2 == 0 ? operations.release(w.now, *w.held[i], nullptr)
                                         : operations.extend(w.now, *w.held[i], 60s, nullptr);
        op.user = &w.calls.emplace_back();
    }
    w.settle();
    CHECK(w.ended() == 4);
    CHECK(sizes(w.calls_of(resp::release_batch_script)) == std::vector<std::size_t>{2});
    CHECK(sizes(w.calls_of(resp::extend_batch_script)) == std::vector<std::size_t>{2});
    CHECK(w.keys() == 6);
}

TEST_CASE("a batch goes out before a command for one of its keys", "[core][batch]")
{
    batch_world w;
    w.hold({"a", "b", "c"});
    w.forget_log();
    auto& operations = w.core->operations();
    operations.drop(w.now, *w.held[0]);
    operations.drop(w.now, *w.held[1]);
    SECTION("an acquire of the same resource")
    {
        operations.acquire(w.now, "a", acquire_options{}).user = &w.calls.emplace_back();
        operations.drop(w.now, *w.held[2]);
        w.settle();
        REQUIRE(w.peers[0]->log.size() == 3);
        CHECK(w.peers[0]->log[0][2] == "2");
        CHECK(w.peers[0]->log[1][0] == "SET");
        CHECK(w.calls_of(resp::release_script).size() == 1);
        REQUIRE(w.calls.front().done());
        CHECK_FALSE(w.calls.front().error);
        CHECK(w.core->snapshot().attempts == 4);
    }
    SECTION("an acquire of several resources")
    {
        const auto both = std::make_shared<const names>(names{"x", "a"});
        operations.acquire(w.now, both, acquire_options{}).user = &w.calls.emplace_back();
        w.settle();
        CHECK(w.peers[0]->log[0][2] == "2");
        REQUIRE(w.calls.front().done());
        CHECK_FALSE(w.calls.front().error);
        CHECK(w.core->snapshot().attempts == 4);
    }
    SECTION("an acquire of another resource goes out before the batch")
    {
        operations.acquire(w.now, "d", acquire_options{}).user = &w.calls.emplace_back();
        operations.drop(w.now, *w.held[2]);
        w.settle();
        REQUIRE(w.peers[0]->log.size() == 2);
        CHECK(w.peers[0]->log[0][0] == "SET");
        CHECK(w.peers[0]->log[1][2] == "3");
    }
}

TEST_CASE("a release follows the extend of the same lock", "[core][batch]")
{
    batch_world w;
    w.hold({"a", "b"});
    w.forget_log();
    for (core::lease* l : w.held) {
        w.core->operations().extend(w.now, *l, 60s, nullptr).user = &w.calls.emplace_back();
    }
    w.release_all();
    CHECK(w.released(release_result::released) == 2);
    CHECK(w.keys() == 0);
    REQUIRE(w.peers[0]->log.size() == 2);
    CHECK(w.calls_of(resp::extend_batch_script) == std::vector<words>{w.peers[0]->log[0]});
    CHECK(w.calls_of(resp::release_batch_script) == std::vector<words>{w.peers[0]->log[1]});
}

TEST_CASE("each lock of a batch has an answer of its own", "[core][batch]")
{
    batch_world w;
    w.hold(numbered(5));
    for (const auto& p : w.peers) {
        (void)p->master.execute(w.now, p->speaks, {"DEL", "r1"});
        p->master.put("r3", {"value of another type", {}, true});
    }
    w.forget_log();
    SECTION("releases")
    {
        w.release_all();
        CHECK(w.released(release_result::released) == 3);
        CHECK(w.released(release_result::not_held) == 2);
    }
    SECTION("extends")
    {
        w.extend_all(60s);
        CHECK(w.ended() == 3);
        CHECK(w.ended(errc::lost) == 2);
        w.held.erase(w.held.begin() + 3);
        w.held.erase(w.held.begin() + 1);
        w.release_all();
    }
    CHECK(w.keys() == 3);  // of the other type
}

TEST_CASE("after an error of a batch each lock is asked for alone", "[core][batch]")
{
    batch_world w;
    w.hold(numbered(3));
    w.extend_all(20s);
    w.release_all();  // from here on batches go out by digest
    w.hold(numbered(3));
    const bool releases = GENERATE(true, false);
    const auto [error, is_for_good] = GENERATE(table<std::string, bool>(
        {{"-NOSCRIPT No matching script.\r\n", false},
         {"-ERR The user executing the script can't run this command or subcommand script: "
          "1f5b, on @user_script:1.\r\n",
          true}}));
    CAPTURE(releases, error);
    w.manual();
    w.forget_log();
    releases ? w.release_all() : w.extend_all(60s);
    for (unsigned i = 0; i < 3; ++i) {
        REQUIRE(w.pending(i).size() == 1);
        w.answer(i, error);
        CHECK(w.pending(i) == names(3, is_for_good ? "EVALSHA" : "EVAL"));
    }
    for (unsigned i = 0; i < 3; ++i) {
        w.answer(i, yes);
        w.answer(i, no);
        w.answer(i, yes);
    }
    CHECK(w.ended() == (releases ? 3 : 2));
    CHECK(w.released(release_result::not_held) + w.ended(errc::lost) >= 1);
    w.manual(false);
    w.held = {&w.lock("x"), &w.lock("y")};
    w.forget_log();
    w.release_all();
    CHECK(w.calls_of(resp::release_batch_script).empty() == is_for_good);
    CHECK(w.released(release_result::released) == 2);
}

TEST_CASE("a node that permits digests only is asked for each lock alone", "[core][batch]")
{
    batch_world w;
    w.hold(numbered(3));
    w.refuse("EVAL", "NOPERM User locks has no permissions to run the 'eval' command");
    w.forget_log();
    w.extend_all(60s);
    CHECK(w.ended() == 3);
    w.release_all();
    CHECK(w.released(release_result::released) == 3);
    CHECK(w.keys() == 0);
}

TEST_CASE("a node that refuses batches still gets digests", "[core][batch]")
{
    batch_world w;
    w.hold(numbered(2 * core::batch::max_size));
    w.manual();
    w.forget_log();
    w.release_all();
    for (unsigned i = 0; i < 3; ++i) {
        REQUIRE(w.pending(i) == names{"EVAL", "EVALSHA"});
        w.answer(i, "-CROSSSLOT Keys in request don't hash to the same slot\r\n");
        w.answer(i, "-CROSSSLOT Keys in request don't hash to the same slot\r\n");
        REQUIRE(w.pending(i) == names(2 * core::batch::max_size, "EVALSHA"));
        while (!w.pending(i).empty()) {
            w.answer(i, yes);
        }
    }
    CHECK(w.released(release_result::released) == 2 * core::batch::max_size);
}

TEST_CASE("batches of both kinds in one turn reach all nodes, also behind many other commands",
          "[core][batch]")
{
    batch_world w;
    w.hold(numbered(60));
    const std::vector<core::lease*> extended = std::exchange(w.held, {});
    for (unsigned i = 100; i < 150; ++i) {
        w.held.push_back(&w.lock("r" + std::to_string(i)));
    }
    // The batches do not fit into the first block of the output.
    for (unsigned i = 0; w.core->network().buffered_bytes(0) < 59'500; ++i) {
        w.core->operations().acquire(w.now, "s" + std::to_string(i), acquire_options{}).user =
            &w.calls.emplace_back();
    }
    for (core::lease* l : extended) {
        w.core->operations().extend(w.now, *l, 60s, nullptr).user = &w.calls.emplace_back();
    }
    w.release_all();
    CHECK(w.ended() == static_cast<std::ptrdiff_t>(w.calls.size()));
    CHECK(w.released(release_result::released) == 50);
    CHECK(w.calls_of(resp::extend_batch_script, 2).size() == 1);
    CHECK(w.calls_of(resp::extend_batch_script, 2) == w.calls_of(resp::extend_batch_script, 0));
    CHECK(w.calls_of(resp::release_batch_script, 2) == w.calls_of(resp::release_batch_script, 0));
}

TEST_CASE("a false reply to a batch closes the connection", "[core][batch][liar]")
{
    const std::string_view reply =
        GENERATE(":1\r\n", "$1\r\n1\r\n", "$2\r\n12\r\n", "+OK\r\n", "_\r\n", "*2\r\n:1\r\n:1\r\n");
    CAPTURE(reply);
    batch_world w;
    w.hold(numbered(2));
    w.manual();
    w.release_all();
    w.answer(0, reply);
    CHECK(w.peers[0]->closes == 1);
    CHECK(w.core->snapshot().protocol_errors == 1);
    CHECK(w.core->snapshot().pending_releases == 2);
    w.answer(1, "$2\r\n11\r\n");
    w.answer(2, "$2\r\n11\r\n");
    CHECK(w.released(release_result::released) == 2);
}

TEST_CASE("the releases of a batch whose connection is lost are sent again", "[core][batch]")
{
    batch_world w;
    w.hold(numbered(3));
    SECTION("before the answer")
    {
        w.manual();
        w.release_all();
        w.close(0);
        w.manual(false);
        w.answer(1, "$3\r\n111\r\n");
        w.answer(2, "$3\r\n111\r\n");
    }
    SECTION("before the end of the turn")
    {
        for (core::lease* l : w.held) {
            w.core->operations().drop(w.now, *l);
        }
        w.core->network().on_closed(w.now, 0, "closed by the node");
        w.settle();
    }
    w.advance(1s);
    CHECK(w.peers[0]->master.keys(w.now) == 0);
    CHECK(w.core->snapshot().pending_releases == 0);
}

TEST_CASE("each command of a batch counts as unanswered", "[core][batch]")
{
    batch_world w;
    w.hold(numbered(3));
    w.manual();
    w.release_all();
    CHECK(w.core->snapshot().unanswered == 3 * 3);
    w.answer(0, "$3\r\n111\r\n");
    CHECK(w.core->snapshot().unanswered == 2 * 3);
    w.close(1);
    CHECK(w.core->snapshot().unanswered == 3);
    w.answer(2, "$3\r\n111\r\n");
    CHECK(w.core->snapshot().unanswered == 0);
}

TEST_CASE("a lock with a long name, or of several resources, is in no batch", "[core][batch]")
{
    batch_world w;
    w.hold({"a", std::string(257, 'x')});
    w.held.push_back(w.acquire(names{"b", "c"}).held);
    w.forget_log();
    w.extend_all(60s);
    w.release_all();
    CHECK(w.ended() == 6);
    CHECK(w.calls_of(resp::release_batch_script).empty());
    CHECK(w.calls_of(resp::extend_batch_script).empty());
}

TEST_CASE("a batch of extends never shortens the life of a key", "[core][batch]")
{
    batch_world w{{.reconnect_backoff_max = 20ms}};
    w.hold({"a", "b"});
    SECTION("by a shorter ttl")
    {
        w.extend_all(60s);
        w.extend_all(1s);
        CHECK(w.ended() == 6);
    }
    SECTION("by an extend from a lost connection")
    {
        w.peers[0]->frozen = w.peers[1]->frozen = true;
        w.extend_all(10s);
        for (const unsigned i : {0u, 1u}) {
            w.go_astray(i, 1, 3s);
            w.close(i);
            w.thaw(i);
        }
        w.advance(1s);
        REQUIRE(w.ready() == 3);
        w.forget_log();
        w.extend_all(60s);
        REQUIRE(w.ended() == 2);
    }
    CHECK(w.calls_of(resp::extend_batch_script).size() >= 1);
    w.advance(50s);
    CHECK(w.keys() == 6);
}

TEST_CASE("a node with a release command of its own gets no batch of releases", "[core][batch]")
{
    bench_world w;
    for (const auto& p : w.peers) {
        p->master.has_delifeq = true;
    }
    w.start();
    core::lease& a = w.lock("a");
    core::lease& b = w.lock("b");
    w.core->operations().drop(w.now, a);
    w.core->operations().drop(w.now, b);
    w.settle();
    CHECK(w.count(0, "DELIFEQ") == 2);
    CHECK(w.keys() == 0);
}

TEST_CASE("an error about the state of a node does not end its batches", "[core][batch]")
{
    batch_world w;
    w.hold(numbered(2));
    w.refuse("EVAL", "BUSY Redis is busy running a script.");
    w.release_all();
    REQUIRE(w.ended(errc::unavailable) == 2);
    w.refuse_nothing();
    w.advance(5s);
    REQUIRE(w.keys() == 0);
    CHECK(w.is_idle());
    w.hold(numbered(2));
    w.forget_log();
    w.release_all();
    CHECK(sizes(w.calls_of(resp::release_batch_script)) == std::vector<std::size_t>{2});
    CHECK(w.released(release_result::released) == 2);
}

TEST_CASE("a node that has lost its scripts gets the next batch as text", "[core][batch]")
{
    const bool releases = GENERATE(true, false);
    CAPTURE(releases);
    batch_world w;
    const auto send = [&](nanos ttl) { releases ? w.release_all() : w.extend_all(ttl); };
    w.hold(numbered(2));
    send(40s);
    w.hold({"a", "b"});
    w.flush_scripts();
    send(50s);
    REQUIRE(w.core->snapshot().script_reloads > 0);
    w.hold({"c", "d"});
    w.forget_log();
    send(60s);
    const resp::script& script = releases ? resp::release_batch_script : resp::extend_batch_script;
    for (unsigned i = 0; i < 3; ++i) {
        const std::vector<words> batches = w.calls_of(script, i);
        REQUIRE(batches.size() == 1);
        CHECK(batches[0][0] == "EVAL");
    }
    CHECK(w.ended() == static_cast<std::ptrdiff_t>(w.calls.size()));
}

TEST_CASE("a node with a new connection gets its first batches as text", "[core][batch]")
{
    batch_world w;
    w.hold(numbered(2));
    w.extend_all(40s);
    w.release_all();
    w.hold(numbered(2));
    w.close(2);
    w.advance(1s);
    REQUIRE(w.ready() == 3);
    w.forget_log();
    w.extend_all(50s);
    w.release_all();
    CHECK(w.count(0, "EVALSHA") == 2);
    CHECK(w.count(2, "EVAL") == 2);
    CHECK(w.released(release_result::released) == 2);
}

TEST_CASE("a node that refused batches gets them again on a new connection", "[core][batch]")
{
    batch_world w;
    w.hold(numbered(2));
    w.manual();
    w.extend_all(40s);
    w.refuse_batch(0);
    w.close(0);
    w.manual(false);
    w.answer(1, "$2\r\n11\r\n");
    w.answer(2, "$2\r\n11\r\n");
    w.advance(1s);
    REQUIRE(w.ready() == 3);
    w.forget_log();
    w.release_all();
    CHECK(sizes(w.calls_of(resp::release_batch_script)) == std::vector<std::size_t>{2});
}

TEST_CASE("the log says once for each node that it refuses batches", "[core][batch]")
{
    constexpr std::string_view line = " refuses the script for several locks";
    batch_world w;
    w.hold(numbered(2));
    w.manual();
    for (unsigned connection = 0; connection < 2; ++connection) {
        w.extend_all(40s);
        w.refuse_batch(0);
        REQUIRE(w.pending(0).size() == 2);
        w.close(0);
        w.answer(1, "$2\r\n11\r\n");
        w.answer(2, "$2\r\n11\r\n");
        w.advance(1s);
        REQUIRE(w.ready() == 3);
    }
    CHECK(w.lines_with(line) == 1);
    w.extend_all(40s);
    w.refuse_batch(1);
    CHECK(w.lines_with(line) == 2);
    CHECK(w.lines_with("redis://10.0.0.2:6379/0" + std::string(line)) == 1);
}

TEST_CASE("the locks of a refused batch are asked for while the buffer has room", "[core][batch]")
{
    batch_world w;
    w.hold(numbered(3));
    w.settings.max_buffered_bytes = 1;
    w.forget_log();
    w.manual();
    SECTION("a release without room stays pending")
    {
        w.release_all();
        for (unsigned i = 0; i < 3; ++i) {
            w.refuse_batch(i);
            CHECK(w.pending(i).size() == 1);
        }
        CHECK(w.core->snapshot().pending_releases == 3 * 2);
        for (unsigned i = 0; i < 3; ++i) {
            for (unsigned release = 0; release < 3; ++release) {
                REQUIRE(w.pending(i).size() == 1);
                w.answer(i, yes);
            }
        }
        CHECK(w.released(release_result::released) == 3);
    }
    SECTION("an extend without room fails on the node")
    {
        w.extend_all(60s);
        for (unsigned i = 0; i < 3; ++i) {
            w.refuse_batch(i);
            CHECK(w.pending(i).size() == 1);
        }
        CHECK(w.ended(errc::unavailable) == 2);
        for (unsigned i = 0; i < 3; ++i) {
            w.answer(i, yes);
        }
        CHECK(w.ended() == 1);
    }
}

TEST_CASE("each extend of a batch fails on a node whose connection is lost", "[core][batch]")
{
    batch_world w;
    w.hold(numbered(3));
    w.manual();
    w.extend_all(60s);
    w.close(0);
    CHECK(w.ended(errc::unavailable) == 0);
    w.close(1);
    CHECK(w.ended(errc::unavailable) == 3);
}

TEST_CASE("if memory runs out while a batch's error is read, each release is kept once",
          "[core][batch]")
{
    bool failed = true;
    for (unsigned before = 0; failed; ++before) {
        CAPTURE(before);
        batch_world w;
        w.hold(numbered(3));
        w.manual();
        w.release_all();
        failing_allocations memory(before, 1);
        w.peers[0]->asked.clear();
        {
            const failing_allocations::in here(memory);
            w.core->network().on_bytes(w.now, 0, "-BUSY Redis is busy running a script.\r\n");
        }
        failed = memory.failed() > 0;
        const stats s = w.core->snapshot();
        CHECK(s.pending_releases + s.pending_releases_dropped == 3);
        w.manual(false);
        w.answer(1, "$3\r\n111\r\n");
        w.answer(2, "$3\r\n111\r\n");
        w.advance(5s);
        CHECK(w.released(release_result::released) == 3);
        CHECK(w.is_idle());
    }
}

TEST_CASE("the labels of locks that are released in one batch go with them", "[core][batch][label]")
{
    batch_world w;
    for (const char* resource : {"a", "b"}) {
        acquire_options o;
        o.label = "backup on web1";
        w.held.push_back(&w.lock(resource, o));
    }
    REQUIRE(w.keys() == 2 * 2 * 3);
    w.forget_log();
    w.release_all();
    CHECK(w.released(release_result::released) == 2);
    CHECK(w.keys() == 0);
    CHECK(w.calls_of(resp::release_script).size() == 2);
    REQUIRE(w.peers[0]->log.size() == 3);
    CHECK(w.calls_of(resp::release_batch_script) == std::vector<words>{w.peers[0]->log[2]});
}

TEST_CASE("a client that is closed with an open batch still sends it", "[core][batch]")
{
    batch_world w;
    w.hold(numbered(3));
    w.forget_log();
    for (core::lease* l : w.held) {
        w.core->operations().drop(w.now, *l);
    }
    w.core->close(w.now);
    CHECK_FALSE(w.core->network().is_quiet());
    w.settle();
    CHECK(sizes(w.calls_of(resp::release_batch_script)) == std::vector<std::size_t>{3});
    CHECK(w.core->network().is_quiet());
    CHECK(w.keys() == 0);
    CHECK(w.is_idle());
}

TEST_CASE("a client that is destroyed with open batches ends each of their operations",
          "[core][batch]")
{
    batch_world w;
    w.hold(numbered(6));
    w.forget_log();
    for (std::size_t i = 0; i < 6; ++i) {
        auto& operations = w.core->operations();
        core::operation& op = i % 2 == 0 ? operations.release(w.now, *w.held[i], nullptr)
                                         : operations.extend(w.now, *w.held[i], 60s, nullptr);
        op.user = &w.calls.emplace_back();
    }
    w.stop();
    CHECK(w.ended(errc::closed) == 6);
    for (std::size_t i = 1; i < 6; i += 2) {
        w.drop(*w.held[i]);
    }
    CHECK(w.is_idle());
    CHECK(w.peers[0]->log.empty());
    w.core.reset();
}

TEST_CASE("an operation whose batch finds no memory ends in the same turn", "[core][batch]")
{
    batch_world w;
    w.hold(numbered(3));
    w.forget_log();
    for (core::lease* l : w.held) {
        w.core->operations().extend(w.now, *l, 60s, nullptr).user = &w.calls.emplace_back();
    }
    {
        const scarce_memory none{1};
        (void)w.core->network().take_written();
    }
    CHECK(w.core->operations().finished() == 3);
    w.settle();
    CHECK(w.ended(errc::unavailable) == 3);
    CHECK(w.peers[0]->closes == 1);
    w.advance(1s);
    REQUIRE(w.ready() == 3);
    w.release_all();
    CHECK(w.keys() == 0);
    CHECK(w.is_idle());
}

TEST_CASE("an operation that goes on without memory for a batch still sends in the same turn",
          "[core][batch]")
{
    batch_world w;
    w.hold(numbered(60));
    w.lose(1);
    w.forget_log();
    // The batch does not fit into the first block of the output.
    for (unsigned i = 0; w.core->network().buffered_bytes(0) < 59'500; ++i) {
        w.core->operations()
            .acquire(w.now, "s" + std::to_string(i), {.timeout = 0ms, .max_attempts = 1})
            .user = &w.calls.emplace_back();
    }
    for (core::lease* l : w.held) {
        w.core->operations().extend(w.now, *l, 60s, nullptr).user = &w.calls.emplace_back();
    }
    failing_allocations memory(0, 1);
    core::node_mask written = 0;
    {
        const failing_allocations::in here(memory);
        written = w.core->network().take_written();
    }
    REQUIRE(memory.failed() == 1);
    CHECK(w.core->operations().finished() == w.calls.size());
    // The releases of the attempts that lost the majority.
    CHECK((written & core::bit(2)) != 0);
    CHECK(w.core->network().take_written() == 0);
    w.release_all();
    w.advance(1s);
    CHECK(w.peers[2]->master.keys(w.now) == 0);
}
