#include "support/locks.hpp"
#include "support/masters.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;
using namespace std::chrono_literals;

namespace {

/// How another client takes and releases a lock.
enum class manner {
    options_of_set,  ///< SET NX PX, and scripts
    options_turned,  ///< SET PX NX, and scripts
    scripts,         ///< scripts for all
    transactions,    ///< SET PX NX, and WATCH, GET, MULTI, DEL, EXEC
};

/// How another client stores its locks: as a string at the resource, perhaps after a prefix.
struct peer {
    const char* name;
    const char* prefix;
    std::string token;
    manner works_by = manner::options_of_set;
};

const std::vector<peer>& peers()
{
    static const std::vector<peer> all{
        {"node-redlock", "", "3f6a1f0c9d2b47e8a5c1d0e9f8b7a695"},
        {"redsync", "", "c2l4dGVlbiBieXRlcyEhIQ=="},
        {"redis-plus-plus", "", "Zk3pQ9vT1xY7bN5mW2cR8dL6hJ4gF0sA"},
        {"rslock", "", std::string("\x00\xff\r\n\x80twenty raw byte", 20)},
        {"redlock-py", "", "Wq3Zt8LmN0pRs5UvXy7AbC"},
        {"redlock-rb", "", "0b9ff1a6-3a47-4d8e-9a0b-7c1f5d2e8f34"},
        {"redlock-php", "", "6560f2a1b3c4d"},
        {"redlock-cpp", "", "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d", manner::options_turned},
        {"aioredlock", "", "9f8e7d6c-5b4a-4392-8170-6f5e4d3c2b1a", manner::scripts},
        {"StackExchange.Redis", "", "machine-7:4711", manner::transactions},
        {"RedLock.net", "redlock:", "5c1de1a0-7f62-4c5e-8b39-2f8d9a4e6b17"},
        {"pottery", "redlock:", "d41f8cd98f00b2049e9800998ecf8427"},
    };
    return all;
}

/// Common behaviour of all these clients at one server.
class peer_at {
public:
    peer_at(const server& node, const peer& who) : node_(node), who_(who) {}

    [[nodiscard]] bool take(const std::string& resource) const
    {
        switch (who_.works_by) {
            case manner::options_of_set:
                return node_.ask({"SET", key(resource), who_.token, "NX", "PX", "60000"}).text ==
                       "OK";
            case manner::options_turned:
            case manner::transactions:
                return node_.ask({"SET", key(resource), who_.token, "PX", "60000", "NX"}).text ==
                       "OK";
            case manner::scripts: break;
        }
        const auto reply =
            node_.ask({"EVAL",
                       "local holder = redis.call('GET', KEYS[1]) if holder and holder ~= ARGV[1] "
                       "then return redis.error_reply('HELD') end "
                       "return redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])",
                       "1", key(resource), who_.token, "60000"});
        return reply.text == "OK";
    }

    [[nodiscard]] bool give_back(const std::string& resource) const
    {
        if (who_.works_by != manner::transactions) {
            return if_mine(resource, "DEL", {}) == 1;
        }
        const auto one = node_.connect();
        one->ask({"WATCH", key(resource)});
        if (one->ask({"GET", key(resource)}).text != who_.token) {
            return false;
        }
        one->ask({"MULTI"});
        one->ask({"DEL", key(resource)});
        const auto done = one->ask({"EXEC"});
        return done.items.size() == 1 && done.items.front().integer == 1;
    }

    [[nodiscard]] bool extend(const std::string& resource) const
    {
        return if_mine(resource, "PEXPIRE", {"90000"}) == 1;
    }

    [[nodiscard]] std::string key(const std::string& resource) const
    {
        return who_.prefix + resource;
    }

private:
    [[nodiscard]] std::int64_t if_mine(const std::string& resource, const std::string& action,
                                       const std::vector<std::string>& more) const
    {
        const auto extra = more.empty() ? "" : ", ARGV[2]";
        std::vector<std::string> command{"EVAL",
                                         "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 "
                                         "end return redis.call('" +
                                             action + "', KEYS[1]" + extra + ")",
                                         "1", key(resource), who_.token};
        command.insert(command.end(), more.begin(), more.end());
        return node_.ask(command).integer;
    }

    const server& node_;
    const peer& who_;
};

struct both_sides {
    explicit both_sides(const peer& who, flavour kind)
        : nodes(3, {.kind = kind}),
          ours(with_prefix(nodes.urls(), who.prefix))
    {
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            theirs.emplace_back(nodes[i], who);
        }
    }

    static config with_prefix(std::vector<std::string> urls, std::string prefix)
    {
        auto c = patient(std::move(urls));
        c.key_prefix = std::move(prefix);
        return c;
    }

    masters nodes;
    locks ours;
    std::vector<peer_at> theirs;
};

}  // namespace

TEST_CASE("another client's lock excludes us and we leave it alone", "[interop]")
{
    const auto kind = each_kind();
    const auto& who = peers().at(GENERATE(range(std::size_t{0}, peers().size())));
    CAPTURE(who.name);
    both_sides sides(who, kind);
    REQUIRE(sides.ours.await_ready(3));
    // A majority is enough for these clients, and must be enough to keep us out.
    REQUIRE(sides.theirs[0].take("r"));
    REQUIRE(sides.theirs[2].take("r"));

    report told;
    CHECK(sides.ours.acquire("r", once(&told)).error == errc::contended);
    REQUIRE(sides.ours.await_quiet());
    const auto seen = sides.ours.inspect("r");
    CHECK(seen.found.state == lock_state::held);
    CHECK(seen.found.owner_known);
    CHECK(seen.found.agreeing == 2);
    CHECK(seen.found.remaining.value_or(0ms) > 20s);
    CHECK_FALSE(sides.nodes[1].exists(sides.theirs[1].key("r")));

    CHECK(sides.theirs[0].extend("r"));
    CHECK(sides.theirs[0].give_back("r"));
    CHECK(sides.theirs[2].give_back("r"));
    CHECK_FALSE(sides.ours.acquire("r", once()).error);
}

TEST_CASE("our lock excludes another client that can neither extend nor release it", "[interop]")
{
    const auto& who = peers().at(GENERATE(range(std::size_t{0}, peers().size())));
    CAPTURE(who.name);
    both_sides sides(who, flavour::redis);
    REQUIRE(sides.ours.await_ready(3));
    lock held = sides.ours.take("r");
    REQUIRE(sides.ours.await_quiet());
    for (const auto& peer : sides.theirs) {
        CHECK_FALSE(peer.take("r"));
        CHECK_FALSE(peer.extend("r"));
        CHECK_FALSE(peer.give_back("r"));
    }
    CHECK_FALSE(sides.ours.extend(held, longer_ttl));
    REQUIRE(sides.ours.await_quiet());
    for (std::size_t i = 0; i < sides.nodes.size(); ++i) {
        CHECK(sides.nodes[i].pttl(sides.theirs[i].key("r")) > never);
    }
    sides.ours.give_back(std::move(held));
    REQUIRE(sides.ours.await_quiet());
    for (const auto& peer : sides.theirs) {
        CHECK(peer.take("r"));
    }
}

TEST_CASE("a key without a ttl as SETNX makes it is held forever", "[interop]")
{
    masters nodes(3);
    ready_locks ours(nodes.urls());
    for (std::size_t i = 0; i < 3; ++i) {
        REQUIRE(nodes[i].ask({"SETNX", "r", "1700000000"}).integer == 1);
    }
    report told;
    CHECK(ours.acquire("r", once(&told)).error == errc::contended);
    for (const auto& node : told.nodes) {
        CHECK_FALSE(node.holder_ttl);
    }
    const auto seen = ours.inspect("r");
    CHECK(seen.found.state == lock_state::held);
    CHECK_FALSE(seen.found.remaining);
    CHECK(nodes.count("r") == 3);
}

TEST_CASE("the server computes the same digests of our scripts as the library", "[interop]")
{
    const server node;
    ready_locks ours({node.url()});
    lock held = ours.take("r");
    CHECK_FALSE(ours.extend(held, longer_ttl));
    CHECK(ours.inspect("r").found.state == lock_state::held);
    ours.give_back(std::move(held));
    CHECK(ours.stats().script_reloads == 0);
    CHECK(ours.stats().node_errors == 0);
}

TEST_CASE("locks by SETNX and GETSET exclude us and a lock that GETSET takes from us is lost",
          "[interop]")
{
    // The value is the end of the lock in seconds since 1970, and the key has no ttl. A client that
    // finds an ended lock takes it by GETSET, if no other client was faster.
    const std::string ends = "4102444800.5";
    masters nodes(3, {.kind = each_kind()});
    ready_locks ours(nodes.urls());
    for (std::size_t i = 0; i < 3; ++i) {
        REQUIRE(nodes[i].ask({"SETNX", "theirs", ends}).integer == 1);
    }
    report told;
    CHECK(ours.acquire("theirs", once(&told)).error == errc::contended);
    REQUIRE(ours.await_quiet());
    lock held = ours.take("ours");
    REQUIRE(ours.await_quiet());
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(nodes[i].get("theirs") == ends);
        CHECK(nodes[i].ask({"SETNX", "ours", ends}).integer == 0);
        // Some clients take our token for a number that has passed, as this one does.
        CHECK(nodes[i].ask({"GETSET", "ours", ends}).text == held.owner_token());
    }
    CHECK(ours.extend(held, longer_ttl) == errc::lost);
    CHECK_FALSE(held.owns());
    ours.release(std::move(held));
    REQUIRE(ours.await_quiet());
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(nodes[i].get("ours") == ends);
        CHECK(nodes[i].pttl("ours") == -1ms);
    }
}
