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
const std::string sha1(40, 'f');

}  // namespace

TEST_CASE("a SET of a lock is exactly these bytes", "[resp]")
{
    const std::string out =
        appended([](std::string& o) { append_set_nx_px(o, "p:", "orders/42", "tok", 10'000); });
    CHECK(out ==
          "*6\r\n$3\r\nSET\r\n$11\r\np:orders/42\r\n$3\r\ntok\r\n"
          "$2\r\nNX\r\n$2\r\nPX\r\n$5\r\n10000\r\n");
}

TEST_CASE("every command is its words as bulk strings", "[resp]")
{
    using out_t = std::string&;
    CHECK(appended([](out_t o) { append_command(o, {"GET", "k"}); }) == encoded({"GET", "k"}));
    CHECK(appended([](out_t o) { append_command(o, {}); }) == "*0\r\n");
    CHECK(appended([](out_t o) { append_set_nx_px(o, "a", "b", token, 5); }) ==
          encoded({"SET", "ab", token, "NX", "PX", "5"}));

    CHECK(appended([](out_t o) { append_evalsha(o, sha1, "a", "b"); }) ==
          encoded({"EVALSHA", sha1, "1", "ab"}));
    CHECK(appended([](out_t o) { append_evalsha(o, sha1, "a", "b", token); }) ==
          encoded({"EVALSHA", sha1, "1", "ab", token}));
    CHECK(appended([](out_t o) { append_evalsha(o, sha1, "a", "b", token, 250); }) ==
          encoded({"EVALSHA", sha1, "1", "ab", token, "250"}));
    CHECK(appended([](out_t o) { append_evalsha(o, sha1, "a", "b", token, "x"); }) ==
          encoded({"EVALSHA", sha1, "1", "ab", token, "x"}));

    CHECK(appended([](out_t o) { append_eval(o, "return 1", "a", "b"); }) ==
          encoded({"EVAL", "return 1", "1", "ab"}));
    CHECK(appended([](out_t o) { append_eval(o, "return 1", "a", "b", token); }) ==
          encoded({"EVAL", "return 1", "1", "ab", token}));
    CHECK(appended([](out_t o) { append_eval(o, "return 1", "a", "b", token, 250); }) ==
          encoded({"EVAL", "return 1", "1", "ab", token, "250"}));
    CHECK(appended([](out_t o) { append_eval(o, "return 1", "a", "b", token, "x"); }) ==
          encoded({"EVAL", "return 1", "1", "ab", token, "x"}));

    CHECK(appended([](out_t o) { append_delifeq(o, "a", "b", token); }) ==
          encoded({"DELIFEQ", "ab", token}));
    CHECK(appended([](out_t o) { append_delex(o, "a", "b", token); }) ==
          encoded({"DELEX", "ab", "IFEQ", token}));
    CHECK(appended([](out_t o) { append_pttl(o, "a", "b"); }) == encoded({"PTTL", "ab"}));
    CHECK(appended([](out_t o) { append_ping(o); }) == encoded({"PING"}));
    CHECK(appended([](out_t o) { append_select(o, 15); }) == encoded({"SELECT", "15"}));
    CHECK(appended([](out_t o) { append_client_setname(o, "me"); }) ==
          encoded({"CLIENT", "SETNAME", "me"}));
    CHECK(appended([](out_t o) { append_script_load(o, "return 1"); }) ==
          encoded({"SCRIPT", "LOAD", "return 1"}));
    CHECK(appended([](out_t o) {
              append_command_info(o, {"delifeq", "delex"});
          }) == encoded({"COMMAND", "INFO", "delifeq", "delex"}));
}

TEST_CASE("a counter's key is the resource's key with a suffix", "[resp]")
{
    using out_t = std::string&;
    CHECK(appended([](out_t o) { append_incr(o, "a", "b", ":c"); }) == encoded({"INCR", "ab:c"}));

    const count_arguments counts{1'700'000'000'000'000, 1'000'000, 86'400'000};
    CHECK(appended([&](out_t o) { append_evalsha_count(o, sha1, "a", "b", ":c", counts); }) ==
          encoded({"EVALSHA", sha1, "1", "ab:c", "1700000000000000", "1000000", "86400000"}));
    CHECK(appended([&](out_t o) { append_eval_count(o, "return 1", "a", "b", ":c", counts); }) ==
          encoded({"EVAL", "return 1", "1", "ab:c", "1700000000000000", "1000000", "86400000"}));
}

TEST_CASE("a script may have any number of keys with their counters after them", "[resp]")
{
    using out_t = std::string&;
    const std::vector<std::string> names{"b", "cc", ""};
    CHECK(appended([&](out_t o) {
              append_script(o, "EVALSHA", sha1, {"a", names, {}}, {token, "5"});
          }) == encoded({"EVALSHA", sha1, "3", "ab", "acc", "a", token, "5"}));
    CHECK(appended([&](out_t o) {
              append_script(o, "EVAL", "return 1", {"a", names, ":c"}, {token});
          }) ==
          encoded({"EVAL", "return 1", "6", "ab", "acc", "a", "ab:c", "acc:c", "a:c", token}));
    CHECK(appended([&](out_t o) {
              append_script(o, "EVALSHA", sha1, {{}, std::span(names).first(1), ":c"}, {});
          }) == encoded({"EVALSHA", sha1, "2", "b", "b:c"}));
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

    const auto auth = [](std::string_view user, std::string_view password) {
        return appended([&](std::string& o) { append_auth(o, user, password); });
    };
    CHECK(auth("", "pw") == encoded({"AUTH", "pw"}));
    CHECK(auth("u", "pw") == encoded({"AUTH", "u", "pw"}));
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
            append_set_nx_px(out, prefix, resource, token, 1);
            append_evalsha(out, sha1, prefix, resource, token);
            append_delifeq(out, prefix, resource, token);
            append_delex(out, prefix, resource, token);
            append_pttl(out, prefix, resource);
            append_incr(out, prefix, resource, ":c");
            append_evalsha_count(out, sha1, prefix, resource, ":c", {1, 2, 3});
            append_script(out, "EVALSHA", sha1, {prefix, std::span(&resource, 1), ":c"}, {token});
            const bool same =
                out == encoded({"SET", name, token, "NX", "PX", "1"}) +
                           encoded({"EVALSHA", sha1, "1", name, token}) +
                           encoded({"DELIFEQ", name, token}) +
                           encoded({"DELEX", name, "IFEQ", token}) + encoded({"PTTL", name}) +
                           encoded({"INCR", name + ":c"}) +
                           encoded({"EVALSHA", sha1, "1", name + ":c", "1", "2", "3"}) +
                           encoded({"EVALSHA", sha1, "2", name, name + ":c", token});
            CHECK(same);
        }
    }
}

TEST_CASE("views without memory are empty words", "[resp]")
{
    const std::string_view nowhere;
    CHECK(appended([&](std::string& o) { append_delifeq(o, nowhere, nowhere, nowhere); }) ==
          encoded({"DELIFEQ", "", ""}));
    CHECK(appended([&](std::string& o) { append_command(o, {nowhere}); }) == encoded({""}));
}

TEST_CASE("numbers are written in full", "[resp]")
{
    for (const std::int64_t n :
         {std::int64_t{0}, std::int64_t{-1}, std::int64_t{9}, std::int64_t{10},
          std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}) {
        CHECK(appended([&](std::string& o) { append_set_nx_px(o, "", "k", "t", n); }) ==
              encoded({"SET", "k", "t", "NX", "PX", std::to_string(n)}));
    }
    CHECK(appended([](std::string& o) { append_select(o, 4'294'967'295U); }) ==
          encoded({"SELECT", "4294967295"}));
    // Lengths around each additional digit.
    for (const std::size_t n : {9U, 10U, 99U, 100U, 999U, 1000U}) {
        const std::string name(n, 'k');
        CHECK(appended([&](std::string& o) { append_pttl(o, "", name); }) ==
              encoded({"PTTL", name}));
    }
}
