#include "chaos/clock_dial.hpp"
#include "support/bad_network.hpp"
#include "support/locks.hpp"
#include "support/masters.hpp"
#include "support/run.hpp"
#include "support/temp_dir.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;
using namespace std::chrono_literals;

namespace {

const std::string counter = "r:fencing";

/// Nodes whose dates a test can set.
class dated_masters {
public:
    dated_masters(std::size_t count, flavour kind)
    {
        for (std::size_t i = 0; i < count; ++i) {
            const auto page = folder_ / ("clock-" + std::to_string(i));
            dials_.push_back(std::make_unique<chaos::clock_dial>(page));
            servers_.push_back(std::make_unique<server>(server_options{
                .kind = kind,
                .environment = {"LD_PRELOAD=" CLOCK_SHIM,
                                std::string(chaos::clock_page_variable) + "=" + page.native()}}));
        }
    }

    [[nodiscard]] server& operator[](std::size_t i) { return *servers_[i]; }
    void step(std::size_t i, std::chrono::nanoseconds by) { dials_[i]->step(by); }

    [[nodiscard]] std::vector<std::string> urls() const
    {
        std::vector<std::string> all;
        for (const auto& s : servers_) {
            all.push_back(s->url());
        }
        return all;
    }

private:
    temp_dir folder_;
    std::vector<std::unique_ptr<chaos::clock_dial>> dials_;
    std::vector<std::unique_ptr<server>> servers_;
};

/// Takes a lock, releases it, and returns its token.
std::uint64_t token_of_one(locks& client)
{
    lock held = client.take("r", {.ttl = 60s});
    const auto token = held.fencing_token();
    client.give_back(std::move(held));
    return token;
}

/// Lets all clients contend, each for `count` locks. Returns the tokens in the order in which the
/// locks were held.
std::vector<std::uint64_t> contend(const std::vector<std::unique_ptr<locks>>& clients,
                                   std::size_t turns_each)
{
    std::vector<std::uint64_t> tokens;
    std::vector<pending<taken>> begun(clients.size());
    std::vector<std::size_t> turns(clients.size(), 0);
    while (tokens.size() < clients.size() * turns_each) {
        for (std::size_t i = 0; i < clients.size(); ++i) {
            if (turns[i] == turns_each) {
                continue;
            }
            if (begun[i] == nullptr) {
                begun[i] = clients[i]->begin_acquire("r", {.ttl = 60s, .timeout = never});
            }
            if (clients[i]->await([&] { return begun[i]->has_value(); }, 1ms)) {
                auto [error, held] = clients[i]->finish(begun[i]);
                REQUIRE_FALSE(error);
                tokens.push_back(held.fencing_token());
                clients[i]->give_back(std::move(held));
                begun[i].reset();
                ++turns[i];
            }
        }
    }
    return tokens;
}

std::vector<std::unique_ptr<locks>> clients_of(const std::vector<std::string>& urls,
                                               std::size_t count)
{
    std::vector<std::unique_ptr<locks>> all;
    for (std::size_t i = 0; i < count; ++i) {
        config c = patient(urls);
        c.backoff_min = 1ms;
        c.backoff_max = 10ms;
        all.push_back(std::make_unique<locks>(std::move(c)));
        REQUIRE(all.back()->await_ready(urls.size()));
    }
    return all;
}

bool grow(const std::vector<std::uint64_t>& tokens)
{
    return std::adjacent_find(tokens.begin(), tokens.end(), std::greater_equal<>{}) == tokens.end();
}

}  // namespace

TEST_CASE("p39: fencing tokens grow from lock to lock for any sequence of holders",
          "[servers][fencing][pitfall][p39]")
{
    const auto kind = each_kind();
    const auto count = GENERATE(as<std::size_t>(), 3, 5);
    const masters nodes(count, {.kind = kind});
    const auto clients = clients_of(nodes.urls(), 4);
    const auto tokens = contend(clients, 50);
    CHECK(tokens.size() == 200);
    CHECK(grow(tokens));
    CHECK(tokens.front() > 1'000'000'000'000'000);
}

TEST_CASE("fencing tokens grow although a different majority answers each time",
          "[servers][fencing]")
{
    masters nodes(3, {.kind = each_kind(), .files = persistence::append_only});
    locks mine(nodes.urls());
    locks theirs(nodes.urls());
    std::vector<std::uint64_t> tokens;
    for (std::size_t i = 0; i < 6; ++i) {
        REQUIRE(mine.await_ready(3));
        REQUIRE(theirs.await_ready(3));
        server& away = nodes[i % 3];
        away.kill();
        for (int n = 0; n < 3; ++n) {
            tokens.push_back(token_of_one(mine));
            tokens.push_back(token_of_one(theirs));
        }
        away.start();
        // The client doesn't know the votes of the other nodes, or not yet.
        CHECK(away.get(counter) != std::to_string(tokens.back()));
    }
    CHECK(grow(tokens));
}

TEST_CASE("a fencing counter outlives its lock but does not live forever", "[servers][fencing]")
{
    const masters nodes(3, {.kind = each_kind()});
    ready_locks mine(nodes.urls());
    lock held = mine.take("r", {.ttl = 60s});
    const auto token = held.fencing_token();
    REQUIRE(mine.await_quiet());
    std::vector<std::optional<std::string>> counted;
    for (std::size_t i = 0; i < 3; ++i) {
        counted.push_back(nodes[i].get(counter));
        CHECK(nodes[i].pttl(counter) > 23h);
        CHECK(nodes[i].pttl(counter) <= 24h);
        REQUIRE(nodes[i].command({"PEXPIRE", counter, "80000000"}) == "1");
    }
    REQUIRE_FALSE(mine.extend(held, 90s));
    CHECK(held.fencing_token() == token);
    REQUIRE(mine.await_quiet());
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(nodes[i].get(counter) == counted[i]);
        // The lock itself is the same as without fencing.
        CHECK(nodes[i].command({"TYPE", "r"}) == "string");
        CHECK(nodes[i].get("r") == std::string(held.owner_token()));
    }
    mine.give_back(std::move(held));
    REQUIRE(mine.await_quiet());
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(nodes[i].command({"KEYS", "*"}) == "[" + counter + "]");
        CHECK(nodes[i].get(counter) == counted[i]);
        // Neither extends nor releases touch the counter.
        CHECK(nodes[i].pttl(counter) <= 80'000s);
        CHECK(nodes[i].pttl(counter) > 79'000s);
    }
}

TEST_CASE("a lock without fencing creates no counter", "[servers][fencing]")
{
    const masters nodes(3, {.kind = each_kind()});
    auto c = patient(nodes.urls());
    c.fencing = GENERATE(true, false);
    ready_locks mine(c);
    const lock held =
        mine.take("r", {.ttl = 60s, .fencing = c.fencing ? std::optional(false) : std::nullopt});
    CHECK(held.fencing_token() == 0);
    REQUIRE(mine.await_quiet());
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(nodes[i].command({"KEYS", "*"}) == "[r]");
    }
}

TEST_CASE("p39: a node that lost its counters does not make fencing tokens smaller",
          "[servers][fencing][pitfall][p39]")
{
    masters nodes(3, {.kind = each_kind()});
    const bool restarts = GENERATE(false, true);
    locks mine(nodes.urls());
    locks theirs(nodes.urls());
    std::vector<std::uint64_t> tokens;
    for (std::size_t i = 0; i < (restarts ? 6 : 30); ++i) {
        if (restarts) {
            nodes[i % 3].restart(memory::lost);
        } else {
            nodes[i % 3].flush();
        }
        REQUIRE(mine.await_ready(3));
        tokens.push_back(token_of_one(mine));
        REQUIRE(theirs.await_ready(3));
        tokens.push_back(token_of_one(theirs));
    }
    CAPTURE(tokens, restarts);
    CHECK(grow(tokens));
}

TEST_CASE("p39: after all nodes lose their counters fencing tokens start from the date",
          "[servers][fencing][pitfall][p39]")
{
    const masters nodes(3, {.kind = each_kind()});
    locks mine(nodes.urls());
    locks theirs(nodes.urls());
    REQUIRE(mine.await_ready(3));
    REQUIRE(theirs.await_ready(3));
    std::vector<std::uint64_t> tokens;
    for (int i = 0; i < 10; ++i) {
        tokens.push_back(token_of_one(mine));
        tokens.push_back(token_of_one(theirs));
        nodes.flush();
    }
    CHECK(grow(tokens));
    CHECK(mine.stats().counter_alignments > 0);
}

TEST_CASE("the next acquire gives a ttl to a fencing counter that has none", "[servers][fencing]")
{
    const masters nodes(3, {.kind = each_kind()});
    const bool knows_it = GENERATE(false, true);
    CAPTURE(knows_it);
    ready_locks mine(nodes.urls());
    if (knows_it) {
        (void)token_of_one(mine);
        nodes.flush();
    }
    // A client that knew the counter, and died before it heard that it had begun a new one, leaves
    // this state.
    for (std::size_t i = 0; i < 3; ++i) {
        REQUIRE(nodes[i].command({"INCR", counter}) == "1");
        REQUIRE(nodes[i].command({"PTTL", counter}) == "-1");
    }
    CHECK(token_of_one(mine) > 1'000'000'000'000'000);
    REQUIRE(mine.await_quiet());
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(nodes[i].pttl(counter) > 23h);
        CHECK(nodes[i].pttl(counter) <= 24h);
    }
}

TEST_CASE("a client reports a counter that no script can count as the node's error",
          "[servers][fencing]")
{
    const masters nodes(3, {.kind = each_kind()});
    ready_locks mine(nodes.urls());
    const auto [command, error] = GENERATE(table<std::vector<std::string>, std::string>(
        {{{"HSET", counter, "f", "v"}, "WRONGTYPE"},
         {{"SET", counter, "none"}, "not an integer"},
         {{"SET", counter, "9007199254740993"}, "out of range"}}));
    CAPTURE(command);
    nodes[0].command(command);
    report told;
    lock held = mine.take("r", {.ttl = 60s, .report = &told});
    REQUIRE(mine.await_quiet());
    CHECK(held.granted_by() == 3);
    CHECK(held.fencing_token() > 1'000'000'000'000'000);
    CHECK(held.fencing_token() < 9'007'199'254'740'993);
    mine.give_back(std::move(held));
    nodes[1].command({"DEL", counter});
    nodes[1].command(command);
    const auto failed = mine.acquire("r", once(&told));
    CHECK(failed.error == errc::unavailable);
    std::size_t explained = 0;
    for (const node_report& n : told.nodes) {
        explained += n.error.find(error) != std::string::npos ? 1U : 0U;
    }
    CHECK(explained == 2);
    REQUIRE(mine.await_quiet());
    CHECK(nodes.count("r") == 0);
}

TEST_CASE("a date that is wrong by an hour does not change the order of fencing tokens",
          "[servers][fencing]")
{
    const auto kind = each_kind();
    // The date of one server is wrong, or the dates of all servers. The latter is the same as wrong
    // dates of the clients.
    const auto wrong = GENERATE(as<std::size_t>(), 1, 3);
    const auto by = GENERATE(-1h, 1h);
    dated_masters nodes(3, kind);
    for (std::size_t i = 0; i < wrong; ++i) {
        nodes.step(i, by);
    }
    const auto clients = clients_of(nodes.urls(), 2);
    auto tokens = contend(clients, 10);
    for (std::size_t i = 0; i < wrong; ++i) {
        nodes.step(i, -by);
    }
    // First a client that never saw a counter, then the clients that know it.
    for (const auto& latecomers = clients_of(nodes.urls(), 1); const auto& c : latecomers) {
        tokens.push_back(token_of_one(*c));
    }
    const auto more = contend(clients, 10);
    tokens.insert(tokens.end(), more.begin(), more.end());
    CHECK(grow(tokens));
}

TEST_CASE("a counter started one hour ahead blocks acquires while another node is down",
          "[servers][fencing]")
{
    dated_masters nodes(3, each_kind());
    nodes.step(0, 1h);
    locks mine(patient(nodes.urls()));
    REQUIRE(mine.await_ready(3));
    lock first = mine.take("r", {.ttl = 60s});
    // The client may not ask a slow node to count for a lock that is already released. So wait for
    // all nodes.
    REQUIRE(mine.await_quiet());
    std::vector<std::uint64_t> tokens{first.fencing_token()};
    mine.give_back(std::move(first));
    REQUIRE(mine.await_quiet());
    nodes.step(0, -1h);
    constexpr std::uint64_t most_of_an_hour = 3'000'000'000;
    REQUIRE(std::stoull(nodes[0].get(counter).value()) > tokens.back() + most_of_an_hour);
    // The other nodes are a majority, so the high counter has no effect.
    tokens.push_back(token_of_one(mine));
    CHECK(tokens.back() < tokens.front() + most_of_an_hour);

    nodes[2].kill();
    report told;
    CHECK(mine.acquire("r", once(&told)).error == errc::unavailable);
    CHECK(std::ranges::any_of(told.nodes, [](const node_report& n) {
        return n.error == "the fencing counter may not go that far beyond this node's date";
    }));
    // A resource that was not locked at that time is available, and so is this one without a token.
    mine.give_back(mine.take("s", {.ttl = 60s}));
    mine.give_back(mine.take("r", {.ttl = 60s, .fencing = false}));
    REQUIRE(mine.await_quiet());

    // No client got a token this high, so the counter may be deleted.
    REQUIRE(nodes[0].command({"DEL", counter}) == "1");
    tokens.push_back(token_of_one(mine));
    locks other(patient(nodes.urls()));
    REQUIRE(other.await_ready(2));
    tokens.push_back(token_of_one(other));
    CHECK(grow(tokens));
    CHECK(tokens.back() < tokens.front() + most_of_an_hour);
}

TEST_CASE("after a clock jump two clients own the lock and the later one has the larger token",
          "[servers][fencing]")
{
    dated_masters nodes(3, each_kind());
    locks mine(patient(nodes.urls()));
    locks theirs(patient(nodes.urls()));
    REQUIRE(mine.await_ready(3));
    REQUIRE(theirs.await_ready(3));
    const lock held = mine.take("r", {.ttl = 60s});
    // A key that a node sets after the jump would outlive it.
    REQUIRE(mine.await_quiet());
    nodes.step(0, 2min);
    nodes.step(1, 2min);
    const lock taken = theirs.take("r", {.ttl = 60s});
    CHECK(held.owns());
    CHECK(taken.owns());
    CHECK(taken.fencing_token() > held.fencing_token());
}

TEST_CASE("p40: nodes whose dates differ by an hour keep other clients out",
          "[servers][fencing][pitfall][p40]")
{
    const auto kind = each_kind();
    const auto by = GENERATE(-1h, 1h);
    dated_masters nodes(3, kind);
    nodes.step(0, by);
    locks mine(patient(nodes.urls()));
    locks theirs(patient(nodes.urls()));
    REQUIRE(mine.await_ready(3));
    REQUIRE(theirs.await_ready(3));
    lock held = mine.take("r", {.ttl = 60s});
    REQUIRE(mine.await_quiet());
    CHECK(held.granted_by() == 3);
    CHECK(theirs.acquire("r", once()).error == errc::contended);
    // A client that doesn't own the lock can neither adopt nor release it.
    const std::string nobody(40, '0');
    CHECK(theirs.adopt("r", nobody, 60s).error == errc::lost);
    const auto [error, found] = theirs.inspect("r");
    CHECK_FALSE(error);
    CHECK(found.state == lock_state::held);
    REQUIRE(found.remaining);
    CHECK(*found.remaining <= 60s);
    CHECK(*found.remaining > 10s);
    REQUIRE(theirs.await_quiet());
    CHECK_FALSE(mine.extend(held, 60s));
    const auto token = held.fencing_token();
    mine.give_back(std::move(held));
    CHECK(token_of_one(theirs) > token);
}

TEST_CASE("p39: late or lost answers to counter alignments do not make fencing tokens smaller",
          "[servers][fencing][pitfall][p39]")
{
    enum fate { late, held_up, lost };
    const auto kind = each_kind();
    const auto how = GENERATE(late, held_up, lost);
    CAPTURE(how);
    bad_network net(3, {.kind = kind});
    auto c = patient(net.urls());
    // Each turn waits for this time. If a busy machine makes an attempt too slow, there is another
    // one.
    c.node_timeout = 500ms;
    c.backoff_min = 1ms;
    c.backoff_max = 10ms;
    locks mine(c);
    locks theirs(c);
    for (const auto& path : net.paths) {
        path->delay(direction::down, 20ms);
    }
    REQUIRE(mine.await_ready(3));
    REQUIRE(theirs.await_ready(3));
    std::vector<std::uint64_t> tokens{token_of_one(mine)};
    std::int64_t apart = 10;
    std::size_t turns_with_late_answers = 0;
    for (std::size_t i = 0; turns_with_late_answers < 4; ++i) {
        // More turns would move a counter too far beyond its node's date.
        REQUIRE(i < 12);
        REQUIRE(mine.await_ready(3));
        REQUIRE(mine.await_quiet());
        REQUIRE(theirs.await_quiet());
        // The counters are farther apart than any turn before can have set them, so that no two
        // agree.
        net.nodes[i % 3].command({"INCRBY", counter, std::to_string(apart)});
        net.nodes[(i + 1) % 3].command({"INCRBY", counter, std::to_string(3 * apart)});
        apart *= 4;
        const auto before = mine.stats();
        const auto begun = mine.begin_acquire("r", {.ttl = 60s, .timeout = never});
        REQUIRE(mine.await(
            [&] { return mine.stats().counter_alignments > before.counter_alignments; }));
        for (const auto& path : net.paths) {
            if (how == late) {
                path->delay(direction::down, 2 * c.node_timeout);
            } else {
                path->hold(direction::down);
            }
        }
        // On a busy machine the answers to the alignment may arrive before the network holds them
        // up. Such a turn shows nothing, so it is repeated.
        REQUIRE(mine.await([&] {
            return mine.stats().node_timeouts > before.node_timeouts || begun->has_value();
        }));
        turns_with_late_answers += mine.stats().node_timeouts > before.node_timeouts ? 1U : 0U;
        for (const auto& path : net.paths) {
            if (how == lost) {
                path->cut(ending::rst);
            }
            path->release(direction::down);
            path->delay(direction::down, 20ms);
        }
        auto [error, held] = mine.finish(begun);
        REQUIRE_FALSE(error);
        tokens.push_back(held.fencing_token());
        // On a slow machine the answers to the release may be late too. The keys disappear
        // nevertheless.
        (void)mine.release(std::move(held));
        lock next = theirs.take("r", {.ttl = 60s, .timeout = never});
        tokens.push_back(next.fencing_token());
        (void)theirs.release(std::move(next));
    }
    CAPTURE(tokens);
    CHECK(grow(tokens));
    CHECK((how == lost ? mine.stats().disconnects : mine.stats().late_replies) >= 4);
}

TEST_CASE("p39: a holder that paused past its lease has the smaller fencing token",
          "[servers][fencing][pitfall][p39]")
{
    const masters nodes(3, {.kind = each_kind()});
    auto c = patient(nodes.urls());
    c.node_timeout = ending_ttl / 4;
    locks mine(c);
    locks theirs(c);
    REQUIRE(mine.await_ready(3));
    REQUIRE(theirs.await_ready(3));
    std::vector<std::uint64_t> tokens;
    for (int i = 0; i < 2; ++i) {
        lock slept = mine.take("r", {.ttl = ending_ttl, .timeout = never});
        // The context of this client doesn't run during the next acquire.
        lock held = theirs.take("r", {.ttl = 60s, .timeout = never});
        CHECK_FALSE(slept.owns());
        CHECK(mine.extend(slept, 60s) == errc::lost);
        CHECK(held.owns());
        tokens.push_back(slept.fencing_token());
        tokens.push_back(held.fencing_token());
        (void)theirs.release(std::move(held));
    }
    tokens.push_back(mine.take("r", {.ttl = 60s, .timeout = never}).fencing_token());
    CHECK(grow(tokens));
}

TEST_CASE("p39: expired counters do not make fencing tokens smaller",
          "[servers][fencing][pitfall][p39]")
{
    const auto kind = each_kind();
    const auto expired = GENERATE(as<std::size_t>(), 1, 2, 3);
    const masters nodes(3, {.kind = kind});
    locks mine(nodes.urls());
    locks theirs(nodes.urls());
    REQUIRE(mine.await_ready(3));
    REQUIRE(theirs.await_ready(3));
    std::vector<std::uint64_t> tokens{token_of_one(mine)};
    for (std::size_t turn = 0; turn < 9; ++turn) {
        REQUIRE(mine.await_quiet());
        REQUIRE(theirs.await_quiet());
        for (std::size_t i = 0; i < expired; ++i) {
            const server& node = nodes[(turn + i) % 3];
            REQUIRE(node.command({"PEXPIRE", counter, "1"}) == "1");
            REQUIRE(wait_for([&] { return !node.exists(counter); }));
        }
        tokens.push_back(token_of_one(theirs));
        tokens.push_back(token_of_one(mine));
    }
    CAPTURE(tokens);
    CHECK(grow(tokens));
}
