#include "resp/scripts.hpp"
#include "support/locks.hpp"
#include "support/server.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

using namespace redlock;
using namespace redlock::test;
using namespace std::chrono_literals;

// Tests of the library's scripts on real servers, each script by itself, in every state of its
// keys. The simulation assumes the same results.
namespace {

using words = std::vector<std::string>;

constexpr std::int64_t slack_us = 3'600'000'000;
const std::string slack = std::to_string(slack_us);
const std::string life = "900000";
/// A counter below this value is new.
const std::string least = "1000000000000000";

std::string run(const server& node, std::string_view text, const words& keys, const words& args)
{
    words command{"EVAL", std::string(text), std::to_string(keys.size())};
    command.insert(command.end(), keys.begin(), keys.end());
    command.insert(command.end(), args.begin(), args.end());
    return node.command(command);
}

std::string run(const server& node, const resp::script& s, const words& keys, const words& args)
{
    CHECK(node.command({"SCRIPT", "LOAD", std::string(s.text)}) == s.sha1);
    return run(node, s.text, keys, args);
}

void put(const server& node, const std::string& key, const std::string& value)
{
    REQUIRE(node.command({"SET", key, value, "PX", "100000"}) == "OK");
}

/// In microseconds.
std::int64_t date(const server& node)
{
    const reply time = node.ask({"TIME"});
    return std::stoll(time.items.at(0).text) * 1'000'000 + std::stoll(time.items.at(1).text);
}

std::string in_us(std::int64_t date_us)
{
    return std::to_string(date_us);
}

bool has_life(const server& node, const std::string& counter)
{
    return node.pttl(counter) > 800s && node.pttl(counter) <= 900s;
}

/// Aligns the counter of `r`, for the owner `mine`.
std::string raise_to(const server& node, std::int64_t value, std::int64_t seed)
{
    return run(node, resp::align_script, {"r", "r:fencing"},
               {"mine", in_us(value), in_us(seed), slack, life, least});
}

std::string raise_to(const server& node, std::int64_t value)
{
    return raise_to(node, value, date(node));
}

/// Takes the locks `names` for the owner `mine`.
std::string take(const server& node, const words& names, std::int64_t seed)
{
    words keys = names;
    for (const std::string& name : names) {
        keys.push_back(name + ":fencing");
    }
    return run(node, resp::take_script, keys,
               {"mine", "100000", std::to_string(names.size()), in_us(seed), slack, life, least});
}

}  // namespace

TEST_CASE("the release script deletes only a key of its owner", "[servers][scripts]")
{
    const server node({.kind = each_kind()});
    CHECK(run(node, resp::release_script, {"r"}, {"mine"}) == "0");
    put(node, "r", "theirs");
    CHECK(run(node, resp::release_script, {"r"}, {"mine"}) == "0");
    CHECK(node.get("r") == "theirs");
    put(node, "r", "mine");
    CHECK(run(node, resp::release_script, {"r"}, {"mine"}) == "1");
    CHECK_FALSE(node.exists("r"));

    put(node, "a", "mine");
    put(node, "b", "theirs");
    put(node, "d", "mine");
    CHECK(run(node, resp::release_all_script, {"a", "b", "c", "d"}, {"mine"}) == "0");
    CHECK(node.command({"KEYS", "*"}) == "[b]");
    put(node, "a", "mine");
    put(node, "b", "mine");
    CHECK(run(node, resp::release_all_script, {"a", "b"}, {"mine"}) == "1");
    CHECK(node.command({"DBSIZE"}) == "0");
}

TEST_CASE("the scripts for several locks treat each key by itself", "[servers][scripts]")
{
    const server node({.kind = each_kind()});
    const words keys{"mine", "theirs", "none", "list", "mine too"};
    const auto put_all = [&] {
        put(node, "mine", "a");
        put(node, "theirs", "x");
        put(node, "mine too", "e");
        node.command({"DEL", "list"});
        node.command({"LPUSH", "list", "d"});
    };
    put_all();
    CHECK(run(node, resp::extend_batch_script, keys,
              {"a", "b", "c", "d", "e", "500000", "500000", "500000", "500000", "1000000"}) ==
          "10001");
    // The ttls were 100 s, 500 s and 1000 s. A busy machine may pause for half of that.
    CHECK(node.pttl("mine") > 250s);
    CHECK(node.pttl("mine") <= 500s);
    CHECK(node.pttl("theirs") <= 100s);
    CHECK(node.pttl("mine too") > 500s);
    CHECK_FALSE(node.exists("none"));
    CHECK(node.pttl("list") < 0s);
    node.command({"PERSIST", "mine too"});
    CHECK(run(node, resp::extend_batch_script, {"mine", "mine too"},
              {"a", "e", "1000", "1000000"}) == "11");
    CHECK(node.pttl("mine") > 250s);
    CHECK(node.pttl("mine too") > 500s);

    CHECK(run(node, resp::release_batch_script, keys, {"a", "b", "c", "d", "e"}) == "10001");
    CHECK_FALSE(node.exists("mine"));
    CHECK_FALSE(node.exists("mine too"));
    CHECK(node.get("theirs") == "x");
    CHECK(node.command({"TYPE", "list"}) == "list");
    CHECK(run(node, resp::release_batch_script, {"mine", "none"}, {"a", "c"}) == "00");
}

TEST_CASE("the label script replaces only a label", "[servers][scripts]")
{
    const server node({.kind = each_kind()});
    const words label{"0123abcd backup", "100000"};
    CHECK(run(node, resp::label_script, {"r"}, label) == "1");
    CHECK(node.get("r") == label[0]);
    // The ttl is 100 s. A busy machine may pause for half of it before the test reads the rest.
    CHECK(node.pttl("r") > 50s);
    CHECK(run(node, resp::label_script, {"r"}, {"fedcba98 another", "500000"}) == "1");
    CHECK(node.get("r") == "fedcba98 another");
    CHECK(node.pttl("r") > 100s);
    // An extend never shortens its lock, so the label lives as long as before.
    CHECK(run(node, resp::label_script, {"r"}, label) == "1");
    CHECK(node.get("r") == label[0]);
    CHECK(node.pttl("r") > 100s);
    for (const char* foreign : {"", "theirs", "0123abcd", "0123abcd0 backup", "0123abcx backup"}) {
        CAPTURE(foreign);
        put(node, "r", foreign);
        CHECK(run(node, resp::label_script, {"r"}, label) == "0");
        CHECK(node.get("r") == foreign);
    }
    node.command({"DEL", "r"});
    node.command({"LPUSH", "r", "theirs"});
    CHECK(run(node, resp::label_script, {"r"}, label) == "0");
    CHECK(node.command({"TYPE", "r"}) == "list");
}

TEST_CASE("the extend script prolongs a key of its owner and never shortens or creates one",
          "[servers][scripts]")
{
    const server node({.kind = each_kind()});
    CHECK(run(node, resp::extend_script, {"r"}, {"mine", "500000"}) == "0");
    CHECK(run(node, resp::extend_all_script, {"a", "b"}, {"mine", "500000"}) == "0");
    CHECK(node.command({"DBSIZE"}) == "0");
    put(node, "r", "theirs");
    put(node, "a", "mine");
    put(node, "b", "theirs");
    CHECK(run(node, resp::extend_script, {"r"}, {"mine", "500000"}) == "0");
    CHECK(run(node, resp::extend_all_script, {"a", "b"}, {"mine", "500000"}) == "-1");
    CHECK(run(node, resp::extend_all_script, {"a", "a", "c"}, {"mine", "500000"}) == "-2");
    for (const char* key : {"r", "a", "b"}) {
        CHECK(node.pttl(key) <= 100s);
    }
    put(node, "r", "mine");
    put(node, "b", "mine");
    for (const char* ttl : {"500000", "1000"}) {
        CHECK(run(node, resp::extend_script, {"r"}, {"mine", ttl}) == "1");
        CHECK(run(node, resp::extend_all_script, {"a", "b"}, {"mine", ttl}) == "1");
        for (const char* key : {"r", "a", "b"}) {
            CHECK(node.pttl(key) > 400s);
            CHECK(node.pttl(key) <= 500s);
        }
    }
}

TEST_CASE("the count script starts with the date and counts upwards and sets a ttl",
          "[servers][scripts]")
{
    const server node({.kind = each_kind()});
    const auto count = [&](std::int64_t seed) {
        return run(node, resp::count_script, {"r:fencing"}, {in_us(seed), slack, life});
    };
    CHECK(count(0) == "1");
    CHECK(has_life(node, "r:fencing"));
    const std::int64_t before = date(node);
    CHECK(count(before) == in_us(before));
    CHECK(has_life(node, "r:fencing"));
    REQUIRE(node.command({"PERSIST", "r:fencing"}) == "1");
    CHECK(count(date(node)) == in_us(before + 1));
    CHECK(has_life(node, "r:fencing"));
    for (const int off : {-1, 1}) {
        REQUIRE(node.command({"DEL", "r:fencing"}) == "1");
        const std::int64_t earliest = date(node);
        const std::int64_t seeded = std::stoll(count(earliest + off * 2 * slack_us));
        CHECK(seeded >= earliest + off * slack_us / 2);
        CHECK(seeded <= date(node) + off * slack_us / 2);
    }
}

TEST_CASE("the alignment script checks the key and only raises the counter near the date",
          "[servers][scripts]")
{
    const server node({.kind = each_kind()});
    const std::int64_t high = date(node);
    put(node, "r:fencing", in_us(high));
    const auto is_left_alone = [&] {
        return node.get("r:fencing") == in_us(high) && node.pttl("r:fencing") <= 100s;
    };
    CHECK(raise_to(node, high + 5) == "0");
    CHECK(is_left_alone());
    put(node, "r", "theirs");
    CHECK(raise_to(node, high + 5) == "0");
    CHECK(is_left_alone());
    put(node, "r", "mine");
    for (const std::int64_t value : {high - 5, high, high + 2 * slack_us}) {
        CHECK(raise_to(node, value) == in_us(-high));
        CHECK(is_left_alone());
    }
    CHECK(raise_to(node, high + 5) == in_us(high + 5));
    CHECK(node.get("r:fencing") == in_us(high + 5));
    CHECK(has_life(node, "r:fencing"));

    // A new counter moves to the date, even if the alignment would move it too far.
    for (const std::int64_t value : {std::int64_t{5}, high + 2 * slack_us}) {
        put(node, "r:fencing", "3");
        const std::int64_t raised = std::stoll(raise_to(node, value));
        CHECK(raised >= high);
        CHECK(raised <= date(node));
        CHECK(node.get("r:fencing") == in_us(raised));
    }
    // The counter is right however wrong the client's date is.
    for (const int off : {-1, 1}) {
        put(node, "r:fencing", "3");
        const std::int64_t earliest = date(node);
        const std::int64_t raised = std::stoll(raise_to(node, 5, earliest + off * 2 * slack_us));
        CHECK(raised >= earliest + off * slack_us / 2);
        CHECK(raised <= date(node) + off * slack_us / 2);
    }
    // All of several locks must be the owner's.
    put(node, "a", "mine");
    put(node, "b", "theirs");
    CHECK(run(node, resp::align_script, {"a", "b", "a:fencing", "b:fencing"},
              {"mine", in_us(high), in_us(high), slack, life, least}) == "0");
    CHECK_FALSE(node.exists("a:fencing"));
}

TEST_CASE("the take script sets several keys or none and moves their counters first",
          "[servers][scripts]")
{
    const server node({.kind = each_kind()});
    const words both{"a", "b"};
    const std::int64_t before = date(node);
    SECTION("no key exists")
    {
        CHECK(take(node, both, before) == "[0, " + in_us(before) + "]");
        for (const std::string& name : both) {
            CHECK(node.get(name) == "mine");
            // A busy machine may pause for half of the ttl before the test reads the rest.
            CHECK(node.pttl(name) > 50s);
            CHECK(node.pttl(name) <= 100s);
            CHECK(node.get(name + ":fencing") == in_us(before));
            CHECK(has_life(node, name + ":fencing"));
        }
    }
    SECTION("one key exists")
    {
        const auto held = GENERATE(0U, 1U);
        put(node, both[held], "theirs");
        const std::string told = take(node, both, before);
        CHECK(told.starts_with("[" + std::to_string(held + 1) + ", "));
        CHECK(node.command({"KEYS", "*"}) == "[" + both[held] + "]");
        CHECK(node.get(both[held]) == "theirs");
    }
    SECTION("the highest counter counts and all counters exceed it")
    {
        put(node, "a:fencing", in_us(before + 9));
        put(node, "b:fencing", in_us(before + 3));
        CHECK(take(node, both, before) == "[0, " + in_us(before + 10) + "]");
        CHECK(node.get("a:fencing") == in_us(before + 10));
        CHECK(node.get("b:fencing") == in_us(before + 10));
    }
    SECTION("new counters start with the client's date within half the slack of the node's")
    {
        const int off = GENERATE(-1, 1);
        const std::string told = take(node, both, before + off * 2 * slack_us);
        REQUIRE(told.starts_with("[0, "));
        const std::int64_t seeded = std::stoll(told.substr(4));
        CHECK(seeded >= before + off * slack_us / 2);
        CHECK(seeded <= date(node) + off * slack_us / 2);
    }
    SECTION("a counter that ran away moves no other counter")
    {
        const std::string beyond = in_us(before + 2 * slack_us);
        put(node, "a:fencing", beyond);
        const auto other = GENERATE(std::int64_t{0}, std::int64_t{-5}, slack_us / 2);
        if (other != 0) {
            put(node, "b:fencing", in_us(before + other));
        }
        CHECK(take(node, both, before) == "[0, 1]");
        CHECK(node.get("a:fencing") == beyond);
        CHECK(node.exists("b:fencing") == (other != 0));
        CHECK((other == 0 || node.get("b:fencing") == in_us(before + other)));
        CHECK(node.get("b") == "mine");
    }
    SECTION("counters that are all beyond the date are counted on")
    {
        put(node, "a:fencing", in_us(before + 2 * slack_us));
        put(node, "b:fencing", in_us(before + 3 * slack_us));
        CHECK(take(node, both, before) == "[0, " + in_us(before + 3 * slack_us + 1) + "]");
        CHECK(node.get("a:fencing") == in_us(before + 3 * slack_us + 1));
    }
    SECTION("no counter exceeds the largest number that can be counted to")
    {
        constexpr std::int64_t last = (std::int64_t{1} << 53) - 3;
        put(node, "a:fencing", in_us(last - 1));
        put(node, "b:fencing", in_us(last - 9));
        CHECK(take(node, both, before) == "[0, " + in_us(last) + "]");
        REQUIRE(node.command({"DEL", "a", "b"}) == "2");
        CHECK(take(node, both, before).starts_with("-"));
        CHECK(node.get("a:fencing") == in_us(last));
        CHECK_FALSE(node.exists("a"));
    }
    SECTION("new counters that must not be seeded are not created")
    {
        CHECK(take(node, both, 0) == "[0, 1]");
        CHECK_FALSE(node.exists("a:fencing"));
        CHECK(node.get("b") == "mine");
    }
    SECTION("a counter that cannot be counted leaves no key")
    {
        const auto command =
            GENERATE(words{"HSET", "b:fencing", "f", "v"}, words{"SET", "b:fencing", "none"});
        node.command(command);
        CHECK(take(node, both, before).starts_with("-"));
        CHECK(node.command({"KEYS", "*"}) == "[b:fencing]");
    }
}

TEST_CASE("the admission script admits only if the pending key outlasted the wait",
          "[servers][scripts]")
{
    const server node({.kind = each_kind()});
    const auto admit = [&] {
        return run(node, resp::admit_script, {"p", "m"}, {"run", "run of=all since="});
    };
    CHECK(admit() == "(nil)");
    put(node, "p", "another run");
    put(node, "m", "another run of=all since=5");
    CHECK(admit() == "(nil)");
    CHECK(node.get("m") == "another run of=all since=5");
    CHECK(node.get("p") == "another run");

    put(node, "p", "run");
    const std::int64_t before = date(node);
    const std::string marker = admit();
    REQUIRE(marker.starts_with("run of=all since="));
    const std::int64_t since = std::stoll(marker.substr(marker.find('=', 8) + 1));
    CHECK(since >= before);
    CHECK(since <= date(node));
    CHECK(node.get("m") == marker);
    CHECK(node.command({"PTTL", "m"}) == "-1");
    CHECK_FALSE(node.exists("p"));

    // Once the node is admitted, other clients that waited change nothing.
    put(node, "p", "run");
    CHECK(admit() == marker);
    CHECK(node.get("m") == marker);
}
