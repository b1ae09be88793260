#include "cli/consultation.hpp"

#include "chaos/clock_dial.hpp"
#include "support/certificates.hpp"
#include "support/masters.hpp"
#include "support/proxy.hpp"
#include "support/temp_dir.hpp"

#include <redlock/client.hpp>
#include <redlock/error.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/system/system_error.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <nlohmann/json.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::test;
using namespace std::chrono_literals;

namespace asio = boost::asio;

namespace {

std::vector<std::string> keys_of(const server& node)
{
    std::vector<std::string> keys;
    for (const auto& k : node.ask({"KEYS", "*"}).items) {
        keys.push_back(k.text);
    }
    return keys;
}

/// Creates a user with the minimal permissions of docs/wire.md, its helpful ones, and `more`. Later
/// words override earlier ones.
void add_locker(const server& node, std::vector<std::string> more = {})
{
    std::vector<std::string> rule{"ACL",
                                  "SETUSER",
                                  "locker",
                                  "reset",
                                  "on",
                                  ">hush-hush",
                                  "~app:*",
                                  "+hello",
                                  "+auth",
                                  "+select",
                                  "+ping",
                                  "+set",
                                  "+get",
                                  "+getrange",
                                  "+del",
                                  "+pexpire",
                                  "+pttl",
                                  "+eval",
                                  "+evalsha",
                                  "+incr",
                                  "+time",
                                  "+info",
                                  "+script|load",
                                  "+client|setname",
                                  "+client|tracking",
                                  "+client|caching",
                                  "+zadd",
                                  "+zcard",
                                  "+zrange",
                                  "+zrank",
                                  "+zrem",
                                  "+config|get"};
    rule.insert(rule.end(), more.begin(), more.end());
    REQUIRE(node.command(rule) == "OK");
}

config as_locker(const server& node)
{
    auto c = patient({node.url("locker", "hush-hush")});
    c.key_prefix = "app:";
    return c;
}

}  // namespace

TEST_CASE("the doctor has no findings about nodes that write through", "[cli][doctor]")
{
    auto options = written_through;
    options.kind = GENERATE(from_range(kinds()));
    const masters nodes(3, options);
    auto c = patient(nodes.urls());
    c.drift_factor = 0.9;  // any watch measures a rate to within this
    const consultation told(c, 1s);
    INFO(told.text);
    CHECK(told.status == 0);
    CHECK(told.codes().empty());
    CHECK(told.all["verdict"]["text"] == "3 nodes, 2 needed, 3 well: locks can be acquired.");
    for (const auto& node : told.all["nodes"]) {
        CHECK(node["role"] == "master");
        CHECK(node["protocol"] == 3);
        CHECK(node["releases_by"] == (options.kind == flavour::valkey9 ? "DELIFEQ" : "EVALSHA"));
        CHECK(node["persistence"] == "appendfsync always");
        CHECK(node["latency"]["samples"].get<int>() > 1);
        CHECK(node["clock"].contains("rate_ppm"));
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        CHECK(keys_of(nodes[i]).empty());
    }
}

TEST_CASE("the doctor examines a node twice even in the shortest watch", "[cli][doctor]")
{
    const server node;
    const consultation told(patient({node.url()}), 0ms);
    INFO(told.text);
    CHECK(told.all["nodes"][0]["latency"]["samples"] == 2);
    CHECK(told.all["nodes"][0]["clock"].contains("rate_ppm"));
}

TEST_CASE("the text names every node and finding and the verdict", "[cli][doctor]")
{
    const masters nodes(3);
    std::ostringstream out;
    const int status = cli::doctor({patient(nodes.urls()), false, short_watch}, out);
    const std::string text = out.str();
    INFO(text);
    CHECK(status == 1);
    const std::string first = shown(nodes[0].url());
    CHECK(text.starts_with(first + ": Redis 7."));
    CHECK(has(text, "\nwarning  " + first + ", " + shown(nodes[1].url()) + ", " +
                        shown(nodes[2].url()) + ": keeps nothing on disk"));
    CHECK(text.ends_with("\n3 nodes, 2 needed, 3 well: locks can be acquired.\n"));
}

TEST_CASE("the doctor reports a node that is down and a missing majority", "[cli][doctor]")
{
    masters nodes(3, written_through);
    nodes[1].kill();
    const consultation one(patient(nodes.urls()));
    INFO(one.text);
    CHECK(one.status == 2);
    CHECK(one.codes() == codes{"unreachable", "no-spare"});
    CHECK(one.finding("unreachable")["node"] == shown(nodes[1].url()));
    CHECK(has(one.says("unreachable"), "Connection refused"));
    CHECK(one.locks() == "available");

    nodes[0].kill();
    const consultation two(patient(nodes.urls()));
    CHECK(two.codes() == codes{"unreachable", "no-quorum"});
    CHECK(two.locks() == "unavailable");
}

TEST_CASE("the doctor does not wait for a node that does not answer", "[cli][doctor]")
{
    masters nodes(3, written_through);
    nodes[2].stop();
    const consultation told(impatient(nodes.urls()));  // ends although that node resumes only later
    nodes[2].cont();
    INFO(told.text);
    CHECK(told.finding("resp2").is_null());
    CHECK(told.finding("silent")["node"] == shown(nodes[2].url()));
    CHECK(told.locks() == "available");
}

TEST_CASE("the doctor reports a node that falls silent during the watch", "[cli][doctor]")
{
    const server node(written_through);
    proxy network(node.port());
    auto c = impatient({network.url()});
    // More than the greeting and the first questions, whose answers take some 6 KB.
    network.stop_after(direction::down, 9'000, false);
    const consultation told(c, 10s);
    INFO(told.text);
    CHECK(has(told.says("silent"), "leaves commands unanswered"));
    CHECK(told.locks() == "unavailable");
    CHECK(told.all["nodes"][0]["latency"]["samples"].get<int>() > 1);
}

TEST_CASE("an attached replica is a warning and a listed replica is an error", "[cli][doctor]")
{
    masters nodes(3, written_through);
    nodes[2].command({"REPLICAOF", "127.0.0.1", std::to_string(nodes[0].port())});
    REQUIRE(wait_for([&] {
        return has(nodes[0].ask({"INFO", "replication"}).text, "state=online");
    }));
    const consultation told(patient(nodes.urls()));
    INFO(told.text);
    CHECK(told.codes() == codes{"replicas", "replica", "no-spare"});
    CHECK(told.finding("replicas")["node"] == shown(nodes[0].url()));
    CHECK(has(told.says("replica"), "127.0.0.1:" + std::to_string(nodes[0].port())));
    CHECK(told.locks() == "available");
}

TEST_CASE("the doctor reports the same one of two names of a server as a client does",
          "[cli][doctor]")
{
    const masters nodes(2, written_through);
    // The other name is ready later, because the proxy holds its answers until the first one is
    // ready.
    proxy other(nodes[0].port());
    const std::string again = other.url();
    auto urls = nodes.urls();
    urls.insert(GENERATE(true, false) ? urls.begin() : urls.end(), again);
    other.hold(direction::down);
    std::jthread releasing([&] {
        // The doctor sends this after the greeting.
        [[maybe_unused]] const bool is_first_ready = wait_for([&] {
            return has(nodes[0].ask({"INFO", "commandstats"}).text, "cmdstat_config|get");
        });
        other.release(direction::down);
    });
    const consultation told(patient(urls));
    INFO(told.text);
    CHECK(told.codes() == codes{"same-server", "no-spare"});
    CHECK(told.finding("same-server")["node"] == shown(again));
    CHECK(has(told.says("same-server"), nodes[0].url()));
    releasing.join();

    asio::io_context context;
    std::string named;
    auto c = patient(urls);
    c.log = [&named](log_level, std::string_view line) {
        named = line.find("is the same server as") == line.npos ? named : line;
    };
    other.hold(direction::down);
    client locks(context, std::move(c));
    locks.async_run(asio::detached);
    REQUIRE(run_until(context, [&] { return locks.stats().nodes_ready == 2; }));
    other.release(direction::down);
    REQUIRE(run_until(context, [&] { return !named.empty(); }));
    CHECK(named.starts_with(shown(again)));
}

TEST_CASE("the doctor reports a server that is listed twice even under different databases",
          "[cli][doctor]")
{
    const masters nodes(2, written_through);
    auto urls = nodes.urls();
    urls.insert(urls.begin(), nodes[1].url() + GENERATE("", "/3"));
    const consultation told(patient(urls));
    INFO(told.text);
    CHECK(told.status == 2);
    CHECK(told.codes() == codes{"listed-twice", "no-spare"});
    CHECK(has(told.says("listed-twice"), "The same server is listed twice: " + nodes[1].url()));
    CHECK(told.all["nodes"].size() == 3);
    CHECK(told.locks() == "refused");

    // The configuration reports other errors in a list.
    urls.emplace_back("http://nonsense");
    CHECK_THROWS_AS(consultation(patient(urls)), boost::system::system_error);
}

TEST_CASE("a cluster's server does not count as a node", "[cli][doctor]")
{
    const reserved_port bus;
    const server node({.arguments = {"--cluster-enabled", "yes", "--cluster-port",
                                     std::to_string(bus.number())}});
    const consultation told(patient({node.url()}));
    INFO(told.text);
    CHECK(told.codes() == codes{"cluster", "no-quorum", "one-node"});
    CHECK(told.locks() == "unavailable");
}

TEST_CASE("a node that may evict keys is an error", "[cli][doctor]")
{
    auto options = written_through;
    options.arguments = {"--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"};
    const masters nodes(3, options);
    const consultation told(patient(nodes.urls()));
    CHECK(told.codes() == codes{"evicts"});
    CHECK(has(told.says("evicts"), "100 MiB"));
    CHECK(told.locks() == "available_unsafely");
    CHECK(told.status == 2);
}

TEST_CASE("the doctor reports that a node with full memory refuses locks", "[cli][doctor]")
{
    auto options = written_through;
    options.arguments = {"--maxmemory", "1mb", "--maxmemory-policy", "noeviction"};
    const server node(options);
    const consultation told(patient({node.url()}));
    INFO(told.text);
    CHECK(has(told.says("memory"), "warning"));
    CHECK(has(told.says("refuses-writes"), "OOM"));
    CHECK(told.locks() == "unavailable");
}

TEST_CASE("the doctor reports persistence as it is configured", "[cli][doctor]")
{
    struct row {
        std::vector<std::string> set;
        const char* kept;
        bool forgets;
    };
    const auto r = GENERATE(
        row{{"appendfsync", "everysec"}, "appendfsync everysec", true},
        row{{"appendfsync", "no"}, "appendfsync no", true},
        row{{"no-appendfsync-on-rewrite", "yes"}, "appendfsync always but in rewrites", true},
        row{{"appendonly", "no"}, "keeps nothing on disk", true},
        row{{"appendonly", "no", "save", "60 1"}, "snapshots", true},
        row{{"appendfsync", "always"}, "appendfsync always", false});
    const server node(written_through);
    for (std::size_t i = 0; i < r.set.size(); i += 2) {
        REQUIRE(node.command({"CONFIG", "SET", r.set[i], r.set[i + 1]}) == "OK");
    }
    const consultation told(patient({node.url()}));
    INFO(told.text);
    CHECK(told.all["nodes"][0]["persistence"] == r.kept);
    CHECK(told.codes() == (r.forgets ? codes{"one-node", "forgets"} : codes{"one-node"}));
}

TEST_CASE("the doctor reports a wrong password without the password", "[cli][doctor]")
{
    auto options = written_through;
    options.password = "right-and-secret";
    const bool has_hello = GENERATE(true, false);
    if (!has_hello) {
        options.arguments = {"--rename-command", "HELLO", ""};
    }
    const server node(options);
    const consultation told(patient({node.url("", "wrong-and-secret")}));
    INFO(told.text);
    CHECK(told.codes() == codes{"login", "no-quorum", "one-node"});
    CHECK(has(told.says("login"), "WRONGPASS"));
    CHECK_FALSE(has(told.text, "secret"));

    const consultation without(patient({node.url()}));
    CHECK(has(without.says("login"), "NOAUTH"));
    const consultation right(patient({node.url("", "right-and-secret")}));
    CHECK(right.codes() == (has_hello ? codes{"one-node"} : codes{"one-node", "resp2"}));
    CHECK_FALSE(has(right.text, "secret"));
}

TEST_CASE("the doctor has no findings about a user with all needed and helpful permissions",
          "[cli][doctor]")
{
    auto options = written_through;
    options.kind = GENERATE(from_range(kinds()));
    const server node(options);
    add_locker(node);
    const consultation told(as_locker(node));
    INFO(told.text);
    CHECK(told.codes() == codes{"one-node"});
    CHECK(told.locks() == "available");
    CHECK(keys_of(node).empty());
}

TEST_CASE("on Valkey 9 the doctor says how locks are released and which user may not do so",
          "[cli][doctor][valkey9]")
{
    if (!is_installed(flavour::valkey9)) {
        SKIP(program_of(flavour::valkey9) << " is not installed");
    }
    auto options = written_through;
    options.kind = flavour::valkey9;
    const server node(options);
    const auto way = [](const consultation& told) {
        return told.all["nodes"][0]["releases_by"].get<std::string>();
    };
    add_locker(node, {"+command|info", "+delifeq"});
    const consultation permitted(as_locker(node));
    INFO(permitted.text);
    CHECK(way(permitted) == "DELIFEQ");
    CHECK(permitted.codes() == codes{"one-node"});
    CHECK(keys_of(node).empty());

    add_locker(node, {"+command|info"});
    const consultation refused(as_locker(node));
    INFO(refused.text);
    CHECK(way(refused) == "EVALSHA");
    CHECK(refused.codes() == codes{"one-node", "forbidden"});
    CHECK(has(refused.says("forbidden"), "note: "));
    CHECK(has(refused.says("forbidden"), "does not permit DELIFEQ"));
    CHECK(has(refused.finding("forbidden")["advice"].get<std::string>(), "+delifeq."));
    CHECK(refused.locks() == "available");

    // Without scripts a single lock is still available, by that command alone.
    add_locker(node, {"+command|info", "+delifeq", "-eval", "-evalsha"});
    const consultation scriptless(as_locker(node));
    INFO(scriptless.text);
    CHECK(way(scriptless) == "DELIFEQ");
    CHECK(scriptless.codes().contains("no-scripts"));
    CHECK_FALSE(has(scriptless.says("no-scripts"), "released"));
}

TEST_CASE("the doctor names each command that a user may not use", "[cli][doctor]")
{
    const auto missing =
        GENERATE(as<std::string>(), "set", "get", "del", "pexpire", "pttl", "incr", "time", "eval",
                 "evalsha", "ping", "script|load", "client|tracking", "client|caching");
    CAPTURE(missing);
    const server node(written_through);
    add_locker(node, {"-" + missing});
    const consultation told(as_locker(node));
    INFO(told.text);
    const auto f = told.finding("forbidden");
    REQUIRE(f.is_object());
    CHECK(has(f["advice"].get<std::string>(), "+" + missing + "."));
    CHECK(told.finding("refused-command").is_null());
    // No key stays without a ttl, whatever the doctor can't delete.
    for (const auto& key : keys_of(node)) {
        CHECK(key.starts_with("app:redlock:doctor:"));
        CHECK(node.pttl(key) != -1ms);
    }
    const bool is_of_use =
        !std::set<std::string>{"set", "get", "incr", "pexpire", "time"}.contains(missing);
    CHECK(told.locks() == (missing == "del"    ? "available_until_ttl"
                           : missing == "pttl" ? "available_without_renewal"
                           : is_of_use         ? "available"
                                               : "unavailable"));
    CHECK(told.finding("unusable").is_null());
}

TEST_CASE("the doctor's statement on renewals agrees with a client's experience", "[cli][doctor]")
{
    const std::string missing = GENERATE("pttl", "pexpire");
    CAPTURE(missing);
    const server node(written_through);
    add_locker(node, {"-" + missing});
    auto c = as_locker(node);
    c.fencing = false;
    const consultation told(c);
    INFO(told.text);
    CHECK(told.locks() == "available_without_renewal");
    CHECK(has(told.says("forbidden"), "redlock run loses its lock"));

    asio::io_context context;
    client locks(context, std::move(c));
    locks.async_run(asio::detached);
    std::optional<error_code> extended;
    asio::co_spawn(
        context,
        [&]() -> asio::awaitable<void> {
            lock held = co_await locks.async_acquire("job", {.ttl = never});
            const auto [error] =
                co_await locks.async_extend(held, 2 * never, asio::as_tuple(asio::deferred));
            extended = error;
        },
        asio::detached);
    REQUIRE(run_until(context, [&] { return extended.has_value(); }));
    CHECK(*extended == errc::unavailable);
}

TEST_CASE("the doctor reports each permission that a user lacks", "[cli][doctor]")
{
    const server node(written_through);
    SECTION("scripts")
    {
        add_locker(node, {"-eval", "-evalsha"});
        const consultation told(as_locker(node));
        INFO(told.text);
        CHECK(told.codes() == codes{"no-scripts", "no-quorum", "one-node"});
    }
    SECTION("a way to load a script")
    {
        node.command({"SCRIPT", "FLUSH"});
        add_locker(node, {"-eval", "-script|load"});
        const consultation told(as_locker(node));
        INFO(told.text);
        CHECK(has(told.says("no-scripts"), "neither EVAL nor SCRIPT LOAD"));
        CHECK(told.codes() == codes{"no-scripts", "no-quorum", "one-node"});
    }
    SECTION("a way to end its trial keys")
    {
        add_locker(node, {"-del", "-pexpire"});
        const consultation told(as_locker(node));
        CHECK(told.locks() == "unavailable");
        CHECK_FALSE(keys_of(node).empty());
        for (const auto& key : keys_of(node)) {
            CHECK(node.pttl(key) != -1ms);
        }
    }
    SECTION("INFO")
    {
        add_locker(node, {"-info"});
        const consultation told(as_locker(node));
        CHECK(told.codes() == codes{"no-info", "one-node"});
        CHECK(told.status == 0);
        auto c = as_locker(node);
        c.restart_guard = guard_config{.max_ttl = 30s};
        const consultation guarded(c);
        CHECK(has(guarded.says("unusable"),
                  "the server refused INFO, which the restart guard needs"));
        CHECK(guarded.status == 2);
    }
    SECTION("keys")
    {
        add_locker(node);
        auto c = as_locker(node);
        c.key_prefix = "other:";
        const consultation told(c);
        CHECK(told.codes() == codes{"forbidden-key", "no-quorum", "one-node"});
    }
    SECTION("CONFIG")
    {
        add_locker(node, {"-config|get"});
        CHECK(consultation(as_locker(node)).codes() == codes{"persistence-unknown", "one-node"});
    }
}

TEST_CASE("the doctor tries the keys of a restricted user only if one of them is named",
          "[cli][doctor]")
{
    const server node(written_through);
    add_locker(node, {"resetkeys", "~orders/*"});
    auto c = as_locker(node);
    c.key_prefix = "";
    const consultation unnamed(c);
    INFO(unnamed.text);
    CHECK(unnamed.codes() == codes{"forbidden-key", "no-quorum", "one-node"});
    CHECK(has(unnamed.says("forbidden-key"), "its own (redlock:doctor:...)"));
    CHECK(has(unnamed.finding("forbidden-key")["advice"].get<std::string>(), "(--resource)"));

    node.command({"SET", "orders/x", "of its holder", "PX", "100000"});
    node.command({"SET", "orders/x:fencing", "7"});
    const consultation named(c, short_watch, "orders/x");
    INFO(named.text);
    CHECK(named.codes() == codes{"one-node"});
    CHECK(named.locks() == "available");
    CHECK(node.get("orders/x") == "of its holder");
    CHECK(node.get("orders/x:fencing") == "7");
    CHECK(keys_of(node).size() == 2);

    const consultation other(c, short_watch, "others/x");
    CHECK(other.codes() == codes{"forbidden-key", "no-quorum", "one-node"});
    CHECK(has(other.says("forbidden-key"), "no lock of others/x can be acquired there"));
    CHECK_THROWS_AS(consultation(c, short_watch, "orders/x:fencing"), std::invalid_argument);
}

TEST_CASE("the doctor looks at exactly the keys of the named resource", "[cli][doctor]")
{
    const server node(written_through);
    const auto look = [&](std::vector<std::string> keys) {
        keys.insert(keys.begin(), "resetkeys");
        add_locker(node, std::move(keys));
        return consultation(as_locker(node), short_watch, "job");
    };
    const consultation permitted = look({"~app:job", "~app:job:fencing", "~app:job:redlock:holder",
                                         "~app:job:redlock:queue", "~app:job:*:redlock:ticket"});
    INFO(permitted.text);
    CHECK(permitted.codes() == codes{"one-node"});
    CHECK(permitted.locks() == "available");
    CHECK(keys_of(node).empty());

    const consultation unlabelled = look({"~app:job", "~app:job:fencing"});
    CHECK(has(unlabelled.says("forbidden-key"), "note: does not permit app:job:redlock:holder:"));
    CHECK(unlabelled.locks() == "available");

    const consultation uncounted = look({"~app:job", "~app:job:redlock:holder"});
    CHECK(has(uncounted.says("forbidden-key"), "error: does not permit app:job:fencing:"));
    CHECK(uncounted.finding("no-queue").is_null());

    const consultation unqueued = look({"~app:job", "~app:job:fencing", "~app:job:redlock:holder"});
    INFO(unqueued.text);
    CHECK(unqueued.codes() == codes{"no-queue", "one-node"});
    CHECK(has(unqueued.says("no-queue"),
              "warning: does not permit app:job:redlock:queue and app:job:*:redlock:ticket: "));
    CHECK(unqueued.locks() == "available");

    add_locker(node);
    node.command({"SET", "app:job:fencing", "no number"});
    node.command({"SET", "app:job", "the token of a lock that another program took"});
    const consultation blocked(as_locker(node), short_watch, "job");
    INFO(blocked.text);
    CHECK(blocked.codes() == codes{"counter", "foreign-key", "no-quorum", "one-node"});
    CHECK_FALSE(has(blocked.text, "another program took"));
    node.command({"SET", "app:job:fencing", "9007199254740993"});
    node.command({"DEL", "app:job"});
    const consultation high(as_locker(node), short_watch, "job");
    CHECK(has(high.says("counter"), "too large"));
    node.command({"DEL", "app:job:fencing"});
    node.command({"LPUSH", "app:job:fencing", "x"});
    node.command({"LPUSH", "app:job", "x"});
    const consultation foreign(as_locker(node), short_watch, "job");
    CHECK(has(foreign.says("counter"), "has another type"));
    CHECK(has(foreign.says("foreign-key"), "has another type"));
    node.command({"DEL", "app:job", "app:job:fencing"});
    for (const char* command : {"SET", "LPUSH"}) {
        node.command({"DEL", "app:job:redlock:holder"});
        node.command({command, "app:job:redlock:holder", "garbage"});
        const consultation mislabelled(as_locker(node), short_watch, "job");
        INFO(mislabelled.text);
        CHECK(mislabelled.codes() == codes{"label", "one-node"});
        CHECK(has(mislabelled.says("label"), "app:job:redlock:holder is no label of a holder"));
    }
    node.command({"DEL", "app:job:redlock:holder"});
    node.command({"SET", "app:job:redlock:holder", "01234567 host pid 1"});
    node.command({"ZADD", "app:job:redlock:queue", "1", "0123456789abcdef"});
    CHECK(consultation(as_locker(node), short_watch, "job").codes() == codes{"one-node"});
    node.command({"DEL", "app:job:redlock:queue"});
    node.command({"LPUSH", "app:job:redlock:queue", "x"});
    const consultation unlike(as_locker(node), short_watch, "job");
    INFO(unlike.text);
    CHECK(unlike.codes() == codes{"no-queue", "one-node"});
    CHECK(has(unlike.says("no-queue"), "warning: has app:job:redlock:queue with another type "));
}

TEST_CASE("the doctor names what a user lacks for the queue of waiting clients", "[cli][doctor]")
{
    struct row {
        std::vector<std::string> rules;
        const char* text;
        const char* advice;
    };
    const auto r = GENERATE(
        row{{"-zadd"}, "does not permit ZADD: ", ": +zadd."},
        row{{"-zcard"}, "does not permit ZCARD: ", ": +zcard."},
        row{{"-zrange"}, "does not permit ZRANGE: ", ": +zrange."},
        row{{"-zrank"}, "does not permit ZRANK: ", ": +zrank."},
        row{{"-zrem"}, "does not permit ZREM: ", ": +zrem."},
        row{{"-@sortedset"},
            "does not permit ZADD, ZCARD, ZRANGE, ZRANK and ZREM: ",
            ": +zadd +zcard +zrange +zrank +zrem."},
        row{{"-time", "-zadd"}, "does not permit TIME and ZADD: ", ": +time +zadd."},
        row{{"-eval", "-zadd"}, "does not permit EVAL: ", ": +eval."},
        row{{"-zadd", "resetkeys", "~app:job", "~app:job:fencing", "~app:job:redlock:holder",
             "~app:job:redlock:queue", "~app:job:*:redlock:ticket"},
            "does not permit ZADD: ",
            ": +zadd."});
    const server node(written_through);
    add_locker(node, r.rules);
    auto c = as_locker(node);
    c.fencing = false;
    const consultation told(c, short_watch, "job");
    INFO(told.text);
    CHECK(told.says("no-queue") ==
          std::string("warning: ") + r.text +
              "clients that wait for a lock form no queue there, and may get it in any order.");
    CHECK(told.finding("no-queue")["advice"].get<std::string>().ends_with(r.advice));
    CHECK(told.locks() == "available");
    CHECK(told.status == 1);
    // No key stays, whatever the user may not do.
    CHECK(keys_of(node).empty());

    c.fair_queue = false;
    CHECK(consultation(c, short_watch, "job").finding("no-queue").is_null());
}

TEST_CASE("the doctor's ticket expires if its user may delete nothing", "[cli][doctor]")
{
    const server node(written_through);
    add_locker(node, {"-del", "-zrem"});
    const consultation told(as_locker(node));
    CHECK(has(told.says("no-queue"), "does not permit DEL and ZREM: "));
    bool has_queue = false;
    for (const auto& key : keys_of(node)) {
        has_queue = has_queue || key.ends_with(":redlock:queue");
        CHECK(key.starts_with("app:redlock:doctor:"));
        CHECK(node.pttl(key) != -1ms);
        CHECK(node.pttl(key) <= 10s);
    }
    CHECK(has_queue);
}

TEST_CASE("the doctor warns clients without a restart guard of other clients' marker",
          "[cli][doctor]")
{
    const server node(written_through);
    auto c = patient({node.url()});
    c.key_prefix = "app:";
    node.command({"SET", "redlock:admitted", "of another prefix"});
    CHECK(consultation(c).codes() == codes{"one-node"});
    const auto info = node.ask({"INFO", "server"}).text;
    const auto run = info.substr(info.find("run_id:") + 7, 40);
    node.command({"SET", "app:redlock:admitted",
                  run + " nodes=1 max_ttl=30000 drift=200000000 since=1760000000000000"});
    const consultation told(c);
    INFO(told.text);
    CHECK(told.codes() == codes{"unguarded", "one-node"});
    CHECK(told.status == 1);
    CHECK(has(told.says("unguarded"), "restart guard, 1 node, --max-ttl 30s and --drift 0.2, "));
    CHECK(has(told.finding("unguarded")["advice"].get<std::string>(), "app:redlock:admitted"));
    c.restart_guard = guard_config{.max_ttl = 30s};
    CHECK(consultation(c).codes() == codes{"one-node"});
    // A user who may not read the configuration gets no finding about it.
    c.restart_guard.reset();
    c.nodes = {node.url("locker", "hush-hush")};
    add_locker(node, {"resetkeys", "~app:orders/*"});
    CHECK(consultation(c, short_watch, "orders/x").codes() == codes{"one-node"});
}

TEST_CASE("a client whose database does not exist creates no keys in another one", "[cli][doctor]")
{
    const server node(written_through);
    const consultation told(patient({node.url("", "", 16)}));
    INFO(told.text);
    CHECK(has(told.says("unusable"), "database"));
    CHECK(has(node.ask({"INFO", "commandstats"}).text, "cmdstat_info"));
    CHECK_FALSE(has(node.ask({"INFO", "commandstats"}).text, "cmdstat_set:"));
}

TEST_CASE("the doctor warns of an even number of nodes", "[cli][doctor]")
{
    const masters nodes(2, written_through);
    const consultation told(patient(nodes.urls()));
    CHECK(told.codes() == codes{"even"});
    CHECK(told.status == 1);
}

TEST_CASE("the doctor reports a distant node as too slow for its timeout", "[cli][doctor]")
{
    const server node(written_through);
    proxy network(node.port());
    network.delay(direction::down, 60ms);
    auto c = patient({network.url()});
    c.node_timeout = 50ms;
    const consultation told(c, 300ms);
    INFO(told.text);
    CHECK(has(told.says("slow"), "error"));
    CHECK(told.locks() == "unavailable");
}

TEST_CASE("the doctor reports clocks that are wrong or run at another rate", "[cli][doctor]")
{
    const temp_dir folder;
    std::vector<std::unique_ptr<chaos::clock_dial>> dials;
    std::vector<std::unique_ptr<server>> nodes;
    std::vector<std::string> urls;
    for (const char* name : {"a", "b", "c"}) {
        auto options = written_through;
        options.environment = {"LD_PRELOAD=" CLOCK_SHIM, std::string(chaos::clock_page_variable) +
                                                             "=" + (folder / name).native()};
        dials.push_back(std::make_unique<chaos::clock_dial>(folder / name));
        nodes.push_back(std::make_unique<server>(options));
        urls.push_back(nodes.back()->url());
    }
    SECTION("an hour ahead")
    {
        dials[1]->step(1h);
        const consultation told(patient(urls));
        INFO(told.text);
        CHECK(told.codes() == codes{"date"});
        CHECK(told.finding("date")["node"] == shown(urls[1]));
        CHECK(has(told.says("date"), "60 minutes ahead"));
        const auto& dates = told.all["clocks"]["dates"];
        CHECK(dates["ahead"] == shown(urls[1]));
        CHECK(dates["behind"] != shown(urls[1]));
        CHECK(dates["apart_ms"].get<double>() > 3'599'000);
        CHECK(dates["matters"] == false);
    }
    SECTION("all of them wrong")
    {
        dials[0]->step(-2h);
        dials[1]->step(2h);
        const consultation told(patient(urls));
        INFO(told.text);
        CHECK(told.codes() == codes{"dates-apart"});
        CHECK(has(told.says("dates-apart"),
                  "(" + shown(urls[1]) + " is 4.0 hours ahead of " + shown(urls[0]) + ")"));
        CHECK(told.all["clocks"]["dates"]["matters"] == true);
    }
    SECTION("faster than drift_factor allows")
    {
        dials[2]->run_faster(500'000);
        const consultation told(patient(urls), long_watch);
        INFO(told.text);
        CHECK(told.finding("clock-rate")["node"] == shown(urls[2]));
        CHECK(has(told.says("clock-rate"), "gains "));
        CHECK(told.locks() == "available_unsafely");
        CHECK(told.all["clocks"]["rates"]["ahead"] == shown(urls[2]));
        CHECK(told.all["clocks"]["rates"]["matters"] == true);
    }
    SECTION("one slower and one faster, each no more than drift_factor allows")
    {
        dials[0]->run_faster(-150'000);
        dials[2]->run_faster(150'000);
        const consultation told(patient(urls), long_watch);
        INFO(told.text);
        CHECK(told.finding("clock-rate").is_null());
        CHECK(told.finding("clock-drift")["node"] == shown(urls[2]));
        CHECK(has(told.says("clock-drift"), shown(urls[0])));
        CHECK(told.locks() == "available_unsafely");
    }
}

TEST_CASE("the doctor explains TLS failures in the words of the verification", "[cli][doctor][tls]")
{
    const certificates world;
    const auto with = [&](const identity& who) {
        auto options = written_through;
        options.tls = server_tls{world.ca.certificate, who.certificate, who.key};
        return options;
    };
    const auto trusting = [&](const std::string& url) {
        auto c = patient({url});
        c.tls.ca_file = world.ca.certificate;
        return c;
    };
    SECTION("a good certificate")
    {
        const server node(with(world.server));
        const consultation told(trusting(node.tls_url()));
        INFO(told.text);
        CHECK(told.codes() == codes{"one-node"});
        auto c = trusting(node.tls_url());
        c.tls.insecure_skip_verification = true;
        CHECK(consultation(c).codes() == codes{"one-node", "unverified"});
    }
    SECTION("an expired certificate")
    {
        const server node(with(world.expired));
        const consultation told(trusting(node.tls_url()));
        CHECK(has(told.says("tls"), "certificate has expired"));
    }
    SECTION("a certificate of another name")
    {
        const server node(with(world.wrong_name));
        const consultation told(trusting(node.tls_url()));
        CHECK(has(told.says("tls"), "it is not for 127.0.0.1"));
    }
    SECTION("a certificate that no trusted authority signed")
    {
        const server node(with(world.untrusted));
        const consultation told(trusting(node.tls_url()));
        INFO(told.text);
        CHECK(has(told.says("tls"), "certificate"));
    }
    SECTION("no client certificate where one is required")
    {
        auto options = with(world.server);
        options.tls->clients_need_certificate = true;
        const server node(options);
        const consultation told(trusting(node.tls_url()));
        INFO(told.text);
        CHECK(has(told.says("tls"), "certificate required"));
    }
    SECTION("a port with TLS for a client without")
    {
        const server node(with(world.server));
        const consultation told(patient({"redis://127.0.0.1:" + std::to_string(node.tls_port())}));
        INFO(told.text);
        CHECK(has(told.text, "wants TLS (rediss://)"));
        CHECK_FALSE(has(told.text, "unanswered"));
        CHECK_FALSE(has(told.text, "slow scripts"));
    }
    SECTION("a port without TLS")
    {
        const server node(written_through);
        auto url = node.url();
        url.insert(5, "s");
        auto c = impatient({url});
        c.tls.ca_file = world.ca.certificate;
        const consultation told(c);
        INFO(told.text);
        CHECK(told.codes() == codes{"tls", "no-quorum", "one-node"});
        CHECK(has(told.says("tls"),
                  "though TCP is connected: the server does not seem to speak "
                  "TLS on this port."));
        CHECK(told.all["nodes"][0]["connected"] == true);
    }
}

TEST_CASE("the doctor shows the restart guard's state of a node", "[cli][doctor][guard]")
{
    const server node;
    auto c = patient({node.url()});
    c.restart_guard = guard_config{.max_ttl = 60s};
    const consultation fresh(c);
    INFO(fresh.text);
    CHECK(fresh.codes() == codes{"not-admitted", "one-node"});
    CHECK(fresh.locks() == "available_later");

    const std::string info = node.ask({"INFO", "server"}).text;
    const std::string run_id = info.substr(info.find("run_id:") + 7, 40);
    node.command({"SET", "redlock:admitted",
                  run_id + " nodes=5 max_ttl=60000 drift=200000000 since=1700000000000000"});
    const consultation differing(c);
    INFO(differing.text);
    CHECK(has(differing.says("guard"),
              "5 nodes, --max-ttl 60s and --drift 0.2, and this configuration has 1 node"));
    CHECK(differing.locks() == "unavailable");

    node.command({"SET", "redlock:admitted",
                  run_id + " nodes=1 max_ttl=60000 drift=200000000 since=1700000000000000"});
    CHECK(consultation(c).codes() == codes{"one-node"});
}

TEST_CASE("the doctor reports a durable node that is not configured as durable",
          "[cli][doctor][guard]")
{
    const server node;
    auto c = patient({node.url() + "?durable=1"});
    c.restart_guard = guard_config{.max_ttl = 60s};
    const consultation told(c);
    CHECK(has(told.says("not-durable"), "keeps nothing on disk"));
    CHECK(told.locks() == "available_unsafely");
}

TEST_CASE("the doctor examines a unix socket and a database like any node", "[cli][doctor]")
{
    auto options = written_through;
    options.tcp = false;
    const server node(options);
    const consultation told(patient({node.unix_url("", "", 3)}));
    INFO(told.text);
    CHECK(told.codes() == codes{"one-node"});
    CHECK(keys_of(node).empty());
}

TEST_CASE("the doctor refuses a configuration that clients refuse", "[cli][doctor]")
{
    std::ostringstream out;
    const auto consult = [&](config c) { (void)cli::doctor({std::move(c)}, out); };
    CHECK_THROWS_AS(consult({}), boost::system::system_error);
    auto c = patient({"rediss://127.0.0.1"});
    c.tls.ca_file = "/nowhere/ca.pem";
    CHECK_THROWS_AS(consult(c), boost::system::system_error);
    CHECK(out.str().empty());
}
