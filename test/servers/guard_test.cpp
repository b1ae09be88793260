#include "support/locks.hpp"
#include "support/masters.hpp"
#include "support/proxy.hpp"
#include "support/run.hpp"

#include <redlock/clock.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::test;
using namespace std::chrono_literals;

namespace {

/// The ttl of locks, or the length of a quarantine, whose end a test awaits. Within this time a
/// test takes two locks and restarts a node, so it is some seconds for a busy machine.
constexpr std::chrono::milliseconds longest = 5s;

config unguarded(std::vector<std::string> nodes)
{
    config c = patient(std::move(nodes));
    // The longest timeout that the ttl allows. No node is silent, so no test waits for it.
    c.node_timeout = longest / 4;
    return c;
}

config guarded(std::vector<std::string> nodes, std::chrono::milliseconds max_ttl = longest)
{
    config c = unguarded(std::move(nodes));
    c.restart_guard = guard_config{.max_ttl = max_ttl};
    return c;
}

/// A configuration for setting up new nodes.
config first_of_all(std::vector<std::string> nodes, std::chrono::milliseconds max_ttl = longest)
{
    config c = guarded(std::move(nodes), max_ttl);
    c.restart_guard->admit_new_nodes = true;
    return c;
}

/// One attempt that does not wait for anything.
acquire_options at_once(report* told = nullptr)
{
    return {.ttl = longest, .timeout = 0s, .max_attempts = 1, .report = told};
}

bool is_admitted(const server& node)
{
    return node.exists("redlock:admitted");
}

void admit(masters& nodes, std::chrono::milliseconds max_ttl = longest)
{
    locks first(first_of_all(nodes.urls(), max_ttl));
    REQUIRE(first.await([&] {
        return first.stats().nodes_ready == nodes.size() && first.stats().nodes_quarantined == 0;
    }));
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        CHECK(is_admitted(nodes[i]));
    }
}

bool all_vote(const locks& client, std::size_t nodes)
{
    return client.stats().nodes_ready == nodes && client.stats().nodes_quarantined == 0;
}

/// Holds a lock on two of three nodes, as if the third had been out of reach when the lock was
/// taken.
lock hold_on_two(locks& client, masters& nodes, const std::string& resource, std::size_t not_on,
                 std::chrono::milliseconds ttl = longest)
{
    lock held = client.take(resource, {.ttl = ttl, .timeout = never});
    REQUIRE(client.await_quiet());
    REQUIRE(held.granted_by() == 3);
    REQUIRE(nodes[not_on].command({"DEL", resource}) == "1");
    return held;
}

/// A second client acquires all of the held locks and waits until it has each of them. True if the
/// first owner still believed in one of them at that moment.
bool is_taken_from(locks& other, std::vector<const lock*> held)
{
    const auto come_for = [&other](const lock* one) {
        return other.begin_acquire(one->resource(), {.ttl = longest, .timeout = never});
    };
    std::vector<pending<taken>> begun(held.size());
    std::transform(held.begin(), held.end(), begun.begin(), come_for);
    bool is_shared = false;
    while (!held.empty()) {
        REQUIRE(other.await([&] {
            return std::any_of(begun.begin(), begun.end(),
                               [](const auto& each) { return each->has_value(); });
        }));
        for (std::size_t i = held.size(); i-- > 0;) {
            if (!begun[i]->has_value()) {
                continue;
            }
            const taken got = other.finish(begun[i]);
            REQUIRE_FALSE(got.error);
            if (!held[i]->owns() && !got.lock.owns()) {
                begun[i] = come_for(held[i]);
                continue;
            }
            is_shared = is_shared || (held[i]->owns() && got.lock.owns());
            held.erase(held.begin() + static_cast<std::ptrdiff_t>(i));
            begun.erase(begun.begin() + static_cast<std::ptrdiff_t>(i));
        }
    }
    return is_shared;
}

void lose_by_kill(server& node)
{
    node.restart(memory::lost);
}

void lose_by_flush(server& node)
{
    node.flush();
}

/// The server loads its file again, and neither run id nor uptime show it.
void lose_by_reload(server& node)
{
    REQUIRE(node.command({"DEBUG", "RELOAD", "NOSAVE"}) == "OK");
}

void nothing(server&) {}

void save(server& node)
{
    REQUIRE(node.command({"SAVE"}) == "OK");
}

void save_in_an_earlier_run(server& node)
{
    {
        locks first(first_of_all({node.url()}));
        REQUIRE(first.await([&] { return is_admitted(node); }));
    }
    save(node);
    node.restart(memory::kept);
    REQUIRE(is_admitted(node));
    REQUIRE(node.command({"DEL", "redlock:admitted"}) == "1");
}

struct way_to_lose {
    const char* name;
    void (*lose)(server& node);
    /// Runs before the node is admitted.
    void (*prepare)(server& node) = nothing;
};

way_to_lose each_way()
{
    return GENERATE(way_to_lose{"killed, and back without its keys", lose_by_kill},
                    way_to_lose{"FLUSHALL", lose_by_flush},
                    way_to_lose{"DEBUG RELOAD of a file without a marker", lose_by_reload, save},
                    way_to_lose{"DEBUG RELOAD of a file with the marker of an earlier run",
                                lose_by_reload, save_in_an_earlier_run});
}

/// Takes two locks, each on two of three nodes. The node that has both then loses its keys.
bool is_double_lease_seen(masters& nodes, const config& c, const way_to_lose& how,
                          std::chrono::milliseconds ttl = longest)
{
    locks mine(c);
    locks theirs(c);
    REQUIRE(mine.await([&] { return all_vote(mine, 3); }));
    REQUIRE(theirs.await([&] { return all_vote(theirs, 3); }));
    const lock one = hold_on_two(mine, nodes, "one", 0, ttl);
    const lock two = hold_on_two(mine, nodes, "two", 2, ttl);
    how.lose(nodes[1]);
    return is_taken_from(theirs, {&one, &two});
}

/// Takes `count` locks one after the other and returns their tokens.
std::vector<std::uint64_t> tokens_of(locks& client, std::size_t count)
{
    std::vector<std::uint64_t> tokens;
    while (tokens.size() < count) {
        taken got = client.acquire("r", {.ttl = longest, .timeout = never});
        REQUIRE_FALSE(got.error);
        tokens.push_back(got.lock.fencing_token());
        client.give_back(std::move(got.lock));
    }
    return tokens;
}

/// Tokens of locks before and after all nodes were killed and restarted with a file that is older
/// than most of the locks.
std::vector<std::uint64_t> tokens_across_an_old_file(masters& nodes, const config& c)
{
    locks mine(c);
    REQUIRE(mine.await([&] { return all_vote(mine, nodes.size()); }));
    std::vector<std::uint64_t> tokens = tokens_of(mine, 3);
    REQUIRE(mine.await_quiet());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        REQUIRE(nodes[i].command({"SAVE"}) == "OK");
    }
    const std::vector<std::uint64_t> forgotten = tokens_of(mine, 20);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        nodes[i].restart(memory::kept);
        REQUIRE(nodes[i].exists("r:fencing"));
    }
    const std::vector<std::uint64_t> later = tokens_of(mine, 20);
    tokens.insert(tokens.end(), forgotten.begin(), forgotten.end());
    tokens.insert(tokens.end(), later.begin(), later.end());
    return tokens;
}

/// Three nodes, and a replica of the first one that misses the node's last writes.
struct failover {
    masters nodes;
    server replica;
    proxy path;

    explicit failover(flavour kind)
        : nodes(3, {.kind = kind, .arguments = {"--repl-diskless-sync", "no"}}),
          replica({.kind = kind}),
          path(nodes[0].port())
    {}

    /// Copies the present keys to the replica, which receives none of the later writes.
    void replicate()
    {
        REQUIRE(nodes[0].command({"SET", "last", "one"}) == "OK");
        REQUIRE(replica.command({"REPLICAOF", "127.0.0.1", std::to_string(path.port())}) == "OK");
        REQUIRE(wait_for([&] { return replica.get("last") == "one"; }));
        path.hold(direction::down);
    }

    void promote()
    {
        nodes[0].kill();
        REQUIRE(replica.command({"REPLICAOF", "NO", "ONE"}) == "OK");
    }

    /// The URLs of the nodes with the replica in place of its master.
    [[nodiscard]] std::vector<std::string> urls() const
    {
        auto all = nodes.urls();
        all[0] = replica.url();
        return all;
    }
};

way_to_lose lose_while_locks_are_kept()
{
    return GENERATE(way_to_lose{"killed, and back without its keys", lose_by_kill},
                    way_to_lose{"FLUSHALL", lose_by_flush});
}

/// One client keeps locks alive. Another client asks for each of them again and again.
struct rivals {
    static constexpr std::chrono::milliseconds ttl = brief_ttl;
    static constexpr auto quarantine = ttl + ttl / 100 + 2ms;

    rivals(masters& all, const config& c) : nodes(all), mine(c), theirs(c)
    {
        REQUIRE(mine.await([&] { return all_vote(mine, 3); }));
        REQUIRE(theirs.await([&] { return all_vote(theirs, 3); }));
        for (const std::string& name : names) {
            keep(name);
        }
    }

    static config without_guard(const masters& all)
    {
        config c = unguarded(all.urls());
        c.node_timeout = ttl / 4;
        return c;
    }
    static config with_guard(const masters& all, bool admits = false)
    {
        config c = without_guard(all);
        c.restart_guard = guard_config{.max_ttl = ttl, .admit_new_nodes = admits};
        return c;
    }

    void keep(const std::string& resource)
    {
        held.push_back(mine.take(resource, {.ttl = ttl, .keep_alive = keep_alive{}}));
        REQUIRE(mine.await([&] { return held.back().granted_by() == 3; }));
        asked.emplace_back();
    }

    /// The second node loses its keys. One of the locks is on two nodes only, as if the first node
    /// had been out of reach when the lock was taken. So a majority is without its key afterwards.
    void lose(const way_to_lose& how)
    {
        REQUIRE(nodes[0].command({"DEL", "three"}) == "1");
        how.lose(nodes[1]);
    }

    void go_on()
    {
        for (std::size_t i = 0; i < held.size(); ++i) {
            if (asked[i] == nullptr) {
                asked[i] = theirs.begin_acquire(names[i], {.ttl = ttl, .timeout = 0s});
            } else if (asked[i]->has_value()) {
                const taken got = theirs.finish(std::exchange(asked[i], nullptr));
                attempts += 1;
                both_believe += got.lock.owns() && held[i].owns() ? 1U : 0U;
            }
        }
        for (locks* each : {&mine, &theirs}) {
            (void)each->await([] { return false; }, 10ms);
        }
    }

    masters& nodes;
    locks mine;
    locks theirs;
    std::vector<std::string> names{"one", "two", "three"};
    std::vector<lock> held;
    std::vector<pending<taken>> asked;
    std::size_t attempts = 0;
    std::size_t both_believe = 0;
};

bool grow(const std::vector<std::uint64_t>& tokens)
{
    return std::adjacent_find(tokens.begin(), tokens.end(), std::greater_equal<>{}) == tokens.end();
}

}  // namespace

TEST_CASE("under the restart guard nodes restored from an old file never give a token twice",
          "[servers][guard][fencing]")
{
    masters nodes(3, {.kind = each_kind(), .files = persistence::snapshot});
    admit(nodes);
    CHECK(grow(tokens_across_an_old_file(nodes, guarded(nodes.urls()))));
}

TEST_CASE("without the restart guard nodes restored from an old file give tokens twice",
          "[servers][guard][fencing]")
{
    masters nodes(3, {.kind = each_kind(), .files = persistence::snapshot});
    std::vector<std::uint64_t> tokens = tokens_across_an_old_file(nodes, unguarded(nodes.urls()));
    std::sort(tokens.begin(), tokens.end());
    CHECK(std::adjacent_find(tokens.begin(), tokens.end()) != tokens.end());
}

TEST_CASE("under the restart guard a node that lost its keys grants no lock to a second client",
          "[servers][guard]")
{
    const way_to_lose how = each_way();
    masters nodes(3, {.kind = each_kind()});
    INFO(how.name);
    how.prepare(nodes[1]);
    admit(nodes);
    CHECK_FALSE(is_double_lease_seen(nodes, guarded(nodes.urls()), how));
}

TEST_CASE("without the restart guard a node that lost its keys grants a lock to a second client",
          "[servers][guard]")
{
    const way_to_lose how = each_way();
    masters nodes(3, {.kind = each_kind()});
    INFO(how.name);
    how.prepare(nodes[1]);
    CHECK(is_double_lease_seen(nodes, unguarded(nodes.urls()), how, never));
}

TEST_CASE("kept locks outlast the quarantine of a node and stay exclusive",
          "[servers][guard][keep_alive]")
{
    const way_to_lose how = lose_while_locks_are_kept();
    INFO(how.name);
    masters nodes(3, {.kind = each_kind()});
    {
        locks first(rivals::with_guard(nodes, true));
        REQUIRE(first.await([&] { return all_vote(first, 3); }));
    }
    rivals r(nodes, rivals::with_guard(nodes));
    r.lose(how);
    const auto lost = boot_clock::now();
    bool was_out = false;
    bool is_back = false;
    while (!is_back || r.attempts < 100 || boot_clock::now() < lost + 2 * rivals::quarantine) {
        REQUIRE(boot_clock::now() < lost + rivals::quarantine + patience);
        r.go_on();
        const bool votes = all_vote(r.theirs, 3);
        was_out = was_out || !votes;
        is_back = was_out && votes;
        REQUIRE((!is_back || boot_clock::now() >= lost + rivals::quarantine));
    }
    CHECK(r.both_believe == 0);
    CHECK(r.held[0].owns());
    CHECK(r.held[1].owns());
    CHECK_FALSE(r.held[2].owns());
    CHECK(r.mine.stats().kept_alive_lost == 1);
}

TEST_CASE("without the restart guard a second client gets locks that are kept alive",
          "[servers][guard][keep_alive]")
{
    const way_to_lose how = lose_while_locks_are_kept();
    INFO(how.name);
    masters nodes(3, {.kind = each_kind()});
    std::size_t both_believe = 0;
    // If the holder is the first to notice the loss, try again.
    for (unsigned tries = 0; tries < 10 && both_believe == 0; ++tries) {
        rivals r(nodes, rivals::without_guard(nodes));
        r.lose(how);
        const auto lost = boot_clock::now();
        while (r.both_believe == 0 && boot_clock::now() < lost + rivals::quarantine) {
            r.go_on();
        }
        both_believe = r.both_believe;
        // A majority still has the other locks.
        CHECK(r.held[0].owns());
        CHECK(r.held[1].owns());
    }
    CHECK(both_believe > 0);
}

TEST_CASE("a node whose marker is deleted has no vote until all locks have ended",
          "[servers][guard]")
{
    masters nodes(1, {.kind = each_kind()});
    admit(nodes);
    locks mine(guarded(nodes.urls()));
    REQUIRE(mine.await([&] { return all_vote(mine, 1); }));
    const lock held = mine.take("r", {.ttl = longest});
    const auto deleted = boot_clock::now();
    REQUIRE(nodes[0].command({"DEL", "redlock:admitted"}) == "1");
    report told;
    CHECK(mine.acquire("other", at_once(&told)).error == errc::unavailable);
    CHECK(told.nodes.at(0).outcome == node_outcome::quarantined);
    CHECK(told.nodes.at(0).error == "its marker is missing: it has lost its keys, or is new");
    REQUIRE(mine.await([&] { return all_vote(mine, 1); }));
    CHECK(boot_clock::now() - deleted >= longest);
    CHECK_FALSE(held.owns());
    CHECK_FALSE(mine.acquire("r", at_once()).error);
}

TEST_CASE("the restart guard misses a restored file that has the marker of the same run",
          "[servers][guard]")
{
    masters nodes(3, {.kind = each_kind()});
    admit(nodes, never);
    save(nodes[1]);
    CHECK(is_double_lease_seen(nodes, guarded(nodes.urls(), never),
                               {"DEBUG RELOAD of a file with the marker", lose_by_reload}, never));
}

TEST_CASE("p39: a promoted replica has no vote until all locks have ended",
          "[servers][guard][fencing][pitfall][p39]")
{
    failover over(each_kind());
    admit(over.nodes);
    locks mine(guarded(over.nodes.urls()));
    REQUIRE(mine.await([&] { return all_vote(mine, 3); }));
    std::vector<std::uint64_t> tokens = tokens_of(mine, 3);
    over.replicate();
    REQUIRE(is_admitted(over.replica));
    const lock held = hold_on_two(mine, over.nodes, "r", 2);
    tokens.push_back(held.fencing_token());
    over.promote();
    const auto promoted = boot_clock::now();
    // The marker names another run. If it named this one, the replica's votes would count.
    REQUIRE(is_admitted(over.replica));
    REQUIRE_FALSE(over.replica.exists("r"));
    REQUIRE(over.replica.exists("r:fencing"));

    locks theirs(guarded(over.urls()));
    REQUIRE(theirs.await_ready(3));
    CHECK(theirs.stats().nodes_quarantined == 1);
    report told;
    CHECK(theirs.acquire("r", at_once(&told)).error);
    CHECK(told.nodes.at(0).outcome == node_outcome::quarantined);
    CHECK_FALSE(is_taken_from(theirs, {&held}));
    REQUIRE(theirs.await([&] { return all_vote(theirs, 3); }));
    CHECK(boot_clock::now() - promoted >= longest);

    // One of the two nodes that are left is the promoted one, whose counter is older.
    over.nodes[1].kill();
    const std::vector<std::uint64_t> later = tokens_of(theirs, 3);
    tokens.insert(tokens.end(), later.begin(), later.end());
    CAPTURE(tokens);
    CHECK(grow(tokens));
}

TEST_CASE("without the restart guard a promoted replica grants a held lock to a second client",
          "[servers][guard]")
{
    failover over(each_kind());
    locks mine(unguarded(over.nodes.urls()));
    REQUIRE(mine.await_ready(3));
    over.replicate();
    const lock held = hold_on_two(mine, over.nodes, "r", 2, never);
    over.promote();
    locks theirs(unguarded(over.urls()));
    REQUIRE(theirs.await_ready(3));
    CHECK(is_taken_from(theirs, {&held}));
}

TEST_CASE("after a power loss of all nodes clients get locks again once the old ones have ended",
          "[servers][guard]")
{
    masters nodes(3, {.kind = each_kind()});
    admit(nodes);
    locks mine(guarded(nodes.urls()));
    REQUIRE(mine.await([&] { return all_vote(mine, 3); }));
    const lock held = mine.take("r", {.ttl = longest});
    const auto lost = boot_clock::now();
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        nodes[i].restart(memory::lost);
    }
    REQUIRE(mine.await([&] { return mine.stats().nodes_quarantined == 3; }));
    report told;
    CHECK(mine.acquire("r", at_once(&told)).error == errc::unavailable);
    for (const node_report& n : told.nodes) {
        CHECK(n.outcome == node_outcome::quarantined);
        REQUIRE(n.quarantine);
        CHECK(*n.quarantine <= longest + longest / 100 + 2ms);
        CHECK_FALSE(n.error.empty());
    }
    CHECK(mine.logged(log_level::warning, "may have forgotten locks"));
    const taken again = mine.acquire("r", {.ttl = longest, .timeout = never});
    CHECK_FALSE(again.error);
    CHECK(boot_clock::now() - lost >= longest);
    CHECK_FALSE(held.owns());
    CHECK(mine.logged(log_level::info, "is admitted"));
}

TEST_CASE("without the restart guard a power loss of all nodes grants a held lock twice",
          "[servers][guard]")
{
    masters nodes(3, {.kind = each_kind()});
    locks mine(unguarded(nodes.urls()));
    locks theirs(unguarded(nodes.urls()));
    REQUIRE(mine.await_ready(3));
    const lock held = mine.take("r");
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        nodes[i].restart(memory::lost);
    }
    REQUIRE(theirs.await_ready(3));
    CHECK(is_taken_from(theirs, {&held}));
}

TEST_CASE("a node is admitted once for all clients that wait for it", "[servers][guard]")
{
    masters nodes(1);
    locks one(guarded(nodes.urls()));
    locks other(guarded(nodes.urls()));
    REQUIRE(one.await([&] { return one.stats().nodes_quarantined == 1; }));
    REQUIRE(other.await([&] { return other.stats().nodes_quarantined == 1; }));
    REQUIRE(one.await([&] { return all_vote(one, 1); }));
    const auto marker = nodes[0].get("redlock:admitted");
    REQUIRE(other.await([&] { return all_vote(other, 1); }));
    CHECK(nodes[0].get("redlock:admitted") == marker);
    // The client that wrote the marker deleted its pending key. The other client's pending key
    // expires.
    CHECK(nodes[0].ask({"KEYS", "redlock:pending:*"}).items.size() == 1);
    other.give_back(other.take("r", {.ttl = longest}));
}

TEST_CASE("an extend does not restore the vote of a node that forgot the lock", "[servers][guard]")
{
    constexpr std::chrono::milliseconds ttl = never;  // the quarantine doesn't end either
    masters nodes(3, {.kind = each_kind()});
    admit(nodes, ttl);
    locks mine(guarded(nodes.urls(), ttl));
    REQUIRE(mine.await([&] { return all_vote(mine, 3); }));
    lock held = mine.take("r");
    REQUIRE(mine.await_quiet());
    nodes[0].restart(memory::lost);
    REQUIRE(mine.await([&] { return mine.stats().nodes_quarantined == 1; }));
    CHECK_FALSE(mine.extend(held, ttl));
    CHECK_FALSE(nodes[0].exists("r"));
    CHECK_FALSE(mine.acquire("other", once()).error);
    nodes[1].flush();
    CHECK(mine.extend(held, ttl) == errc::lost);
}

TEST_CASE("a durable node votes at once after a restart", "[servers][guard]")
{
    masters nodes(3, {.kind = each_kind(), .files = persistence::append_only});
    auto urls = nodes.urls();
    for (std::string& url : urls) {
        url += "?durable=1";
    }
    locks mine(guarded(urls));
    REQUIRE(mine.await_ready(3));
    lock held = mine.take("r", {.ttl = longest});
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        nodes[i].restart(memory::kept);
    }
    REQUIRE(mine.await([&] { return mine.stats().disconnects == 3 && all_vote(mine, 3); }));
    CHECK_FALSE(mine.acquire("other", at_once()).error);
    CHECK_FALSE(is_admitted(nodes[0]));
}

TEST_CASE("a client reports why it does not use a node on which the restart guard cannot work",
          "[servers][guard]")
{
    server node({.kind = each_kind()});
    config c = guarded({node.url()});
    std::string why;
    SECTION("the node forbids INFO")
    {
        REQUIRE(node.command({"ACL", "SETUSER", "locker", "reset", "on", ">hush", "~app:*", "+eval",
                              "+evalsha", "+ping", "+hello", "+get", "+set", "+del", "+pexpire",
                              "+pttl"}) == "OK");
        c.nodes = {node.url("locker", "hush")};
        c.key_prefix = "app:";
        why = "the server refused INFO, which the restart guard needs (NOPERM)";
    }
    SECTION("the node may evict keys")
    {
        node.command({"CONFIG", "SET", "maxmemory", "100mb", "maxmemory-policy", "volatile-lru"});
        why = "maxmemory_policy";
    }
    SECTION("other clients have another max_ttl")
    {
        config theirs = first_of_all({node.url()});
        theirs.restart_guard->max_ttl = 2 * longest;
        locks others(theirs);
        REQUIRE(others.await([&] { return all_vote(others, 1); }));
        why = "(theirs: 1 node, max_ttl 10 s, drift_factor 0.01)";
    }
    locks mine(c);
    REQUIRE(mine.await([&] { return !mine.lines().empty(); }));
    CHECK(mine.logged(log_level::error, why));
    report told;
    CHECK(mine.acquire("r", at_once(&told)).error == errc::unavailable);
    CHECK(told.nodes.at(0).error.find(why) != std::string::npos);
    CHECK(mine.lines().size() == 1);
}

TEST_CASE("a client refuses a ttl above the max_ttl of the restart guard", "[servers][guard]")
{
    masters nodes(1);
    admit(nodes);
    locks mine(guarded(nodes.urls()));
    REQUIRE(mine.await([&] { return all_vote(mine, 1); }));
    const std::vector<std::string> both{"a", "b"};
    const auto too_long = longest + 1ms;
    CHECK(mine.acquire("r", {.ttl = too_long}).error == errc::invalid_ttl);
    CHECK(mine.acquire(both, {.ttl = too_long}).error == errc::invalid_ttl);
    lock held = mine.take("r", {.ttl = longest});
    CHECK(mine.extend(held, too_long) == errc::invalid_ttl);
    CHECK_FALSE(mine.extend(held, longest));
    const std::string token = std::move(held).detach();
    CHECK(mine.adopt("r", token, too_long).error == errc::invalid_ttl);
    CHECK(mine.adopt(both, token, too_long).error == errc::invalid_ttl);
    taken adopted = mine.adopt("r", token, longest);
    REQUIRE_FALSE(adopted.error);
    mine.give_back(std::move(adopted.lock));
    CHECK(nodes.count("a") + nodes.count("b") == 0);
}

TEST_CASE("a user with the fewest permissions and INFO can use the restart guard",
          "[servers][guard]")
{
    server node({.kind = each_kind()});
    REQUIRE(node.command({"ACL", "SETUSER", "locker", "reset", "on", ">hush", "~app:*", "+eval",
                          "+evalsha", "+ping", "+hello", "+get", "+set", "+del", "+pexpire",
                          "+pttl", "+incr", "+time", "+info"}) == "OK");
    config c = first_of_all({node.url("locker", "hush")}, longer_ttl);
    c.key_prefix = "app:";
    locks mine(c);
    REQUIRE(mine.await([&] { return all_vote(mine, 1); }));
    lock held = mine.take("r");
    CHECK_FALSE(mine.extend(held, longer_ttl));
    mine.give_back(std::move(held));
    CHECK(node.exists("app:redlock:admitted"));
}

TEST_CASE("a server that is listed under two names has one vote", "[servers]")
{
    masters nodes(2, {.kind = each_kind()});
    auto urls = nodes.urls();
    urls.push_back(nodes[1].unix_url({}, {}, 1));
    locks mine(urls);
    REQUIRE(mine.await([&] { return !mine.lines().empty(); }));
    CHECK(mine.logged(log_level::error, "is the same server as "));
    REQUIRE(mine.await_ready(2));
    lock held = mine.take("r");
    REQUIRE(mine.await_quiet());
    CHECK(held.granted_by() == 2);
    mine.give_back(std::move(held));
    nodes[0].kill();
    CHECK(mine.acquire("r", once()).error == errc::unavailable);  // one is no majority
}
