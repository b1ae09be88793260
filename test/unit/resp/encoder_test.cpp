#include "resp/encoder.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace redlock::resp;
using namespace std::string_view_literals;

using words = std::vector<std::string_view>;

/// A simple encoder for comparison.
std::string encoded(const words& args)
{
    std::string out = "*" + std::to_string(args.size()) + "\r\n";
    for (const std::string_view arg : args) {
        out += "$" + std::to_string(arg.size()) + "\r\n";
        out += arg;
        out += "\r\n";
    }
    return out;
}

/// Calls `f` on an empty buffer and on one with content, and returns what `f` appended.
template <class F>
std::string appended(F f)
{
    std::string out;
    f(out);
    std::string behind = "before";
    f(behind);
    CHECK(behind == "before" + out);
    return out;
}

const std::string token(40, 'a');
const script some_script{"return 1", "ffffffffffffffffffffffffffffffffffffffff"};

}  // namespace

TEST_CASE("a SET of a lock is exactly these bytes", "[resp]")
{
    const std::string out = appended([](std::string& o) {
        append(o, "SET", key{"p:", "orders/42"}, "tok", "NX", "PX", 10'000);
    });
    CHECK(out ==
          "*6\r\n$3\r\nSET\r\n$11\r\np:orders/42\r\n$3\r\ntok\r\n"
          "$2\r\nNX\r\n$2\r\nPX\r\n$5\r\n10000\r\n");
}

TEST_CASE("each word of a command is a bulk string", "[resp]")
{
    using out_t = std::string&;
    CHECK(appended([](out_t o) { append(o, "PING"); }) == encoded({"PING"}));
    CHECK(appended([](out_t o) { append(o, "GET", token); }) == encoded({"GET", token}));
    CHECK(appended([](out_t o) {
              append(o, "INCR", key{"a", "b", ":c"});
          }) == encoded({"INCR", "ab:c"}));
    const std::vector<std::string_view> more{"delifeq", "delex"};
    CHECK(appended([&](out_t o) { append(o, "COMMAND", "INFO", word_list(more)); }) ==
          encoded({"COMMAND", "INFO", "delifeq", "delex"}));
    CHECK(appended([](out_t o) { append(o, "PING", word_list{}); }) == encoded({"PING"}));
}

TEST_CASE("a script is called by its digest or by its text", "[resp]")
{
    const auto call = [](bool by_digest) {
        return appended([&](std::string& o) {
            append(o, script_call{some_script, by_digest}, "1", key{"a", "b"}, token, 250);
        });
    };
    CHECK(call(true) == encoded({"EVALSHA", some_script.sha1, "1", "ab", token, "250"}));
    CHECK(call(false) == encoded({"EVAL", "return 1", "1", "ab", token, "250"}));
}

TEST_CASE("a script may have any number of keys with their counters after them", "[resp]")
{
    const std::vector<std::string> names{"b", "cc", ""};
    const auto with = [](script_keys keys) {
        return appended([&](std::string& o) { append(o, "x", keys, token); });
    };
    CHECK(with({"a", names}) == encoded({"x", "3", "ab", "acc", "a", token}));
    CHECK(with({"a", names, ":c"}) ==
          encoded({"x", "6", "ab", "acc", "a", "ab:c", "acc:c", "a:c", token}));
    CHECK(with({{}, std::span(names).first(1), ":c"}) == encoded({"x", "2", "b", "b:c", token}));
}

TEST_CASE("a handshake carries what is configured and no more", "[resp]")
{
    const auto hello = [](std::string_view user, std::string_view password, std::string_view name) {
        return appended([&](std::string& o) { append_hello(o, user, password, name); });
    };
    CHECK(hello("", "", "") == encoded({"HELLO", "3"}));
    CHECK(hello("", "", "me") == encoded({"HELLO", "3", "SETNAME", "me"}));
    CHECK(hello("", "pw", "") == encoded({"HELLO", "3", "AUTH", "default", "pw"}));
    CHECK(hello("u", "pw", "") == encoded({"HELLO", "3", "AUTH", "u", "pw"}));
    CHECK(hello("u", "", "") == encoded({"HELLO", "3", "AUTH", "u", ""}));
    CHECK(hello("u", "pw", "me") == encoded({"HELLO", "3", "AUTH", "u", "pw", "SETNAME", "me"}));
}

TEST_CASE("a resource of any bytes is data", "[resp]")
{
    const std::string nul_inside("a\0b", 3);
    const std::string all_there_is = [] {
        std::string s;
        for (int c = 0; c < 256; ++c) {
            s += static_cast<char>(c);
        }
        return s;
    }();
    const std::vector<std::string> resources{"",
                                             "a\r\nDEL k\r\n",
                                             "\r\n$1\r\nx\r\n",
                                             nul_inside,
                                             all_there_is,
                                             std::string(64 * 1024, 'x'),
                                             std::string(64 * 1024, '\0')};
    for (const std::string& resource : resources) {
        for (const std::string& prefix : {std::string(), std::string("p\r\n:"), nul_inside}) {
            const std::string name = prefix + resource;
            std::string out;
            append(out, "SET", key{prefix, resource}, token, "NX", "PX", 1);
            append(out, script_call{some_script, true}, "1", key{prefix, resource}, token);
            append(out, "INCR", key{prefix, resource, ":c"});
            append(out, "EVAL", script_keys{prefix, std::span(&resource, 1), ":c"}, token);
            const bool same = out == encoded({"SET", name, token, "NX", "PX", "1"}) +
                                         encoded({"EVALSHA", some_script.sha1, "1", name, token}) +
                                         encoded({"INCR", name + ":c"}) +
                                         encoded({"EVAL", "2", name, name + ":c", token});
            CHECK(same);
        }
    }
}

TEST_CASE("views without memory are empty words", "[resp]")
{
    const std::string_view nowhere;
    CHECK(appended([&](std::string& o) {
              append(o, "GET", key{nowhere, nowhere, nowhere}, nowhere);
          }) == encoded({"GET", "", ""}));
    CHECK(appended([&](std::string& o) { append(o, nowhere); }) == encoded({""}));
}

TEST_CASE("numbers are written in full", "[resp]")
{
    for (const std::int64_t n :
         {std::int64_t{0}, std::int64_t{-1}, std::int64_t{9}, std::int64_t{10},
          std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}) {
        CHECK(appended([&](std::string& o) { append(o, "PX", n); }) ==
              encoded({"PX", std::to_string(n)}));
    }
    // Lengths around each additional digit.
    for (const std::size_t n : {9U, 10U, 99U, 100U, 999U, 1000U}) {
        const std::string name(n, 'k');
        CHECK(appended([&](std::string& o) { append(o, "GET", name); }) == encoded({"GET", name}));
        CHECK(appended([&](std::string& o) {
                  append(o, "GET", key{"", name});
              }) == encoded({"GET", name}));
    }
}
