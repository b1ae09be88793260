#include "cli/consultation.hpp"

#include "support/proxy.hpp"
#include "support/scripted_server.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <functional>
#include <string>

using namespace redlock;
using namespace redlock::test;
using namespace std::chrono_literals;

namespace asio = boost::asio;

namespace {

/// Answers as an obedient node, but for what `instead` has an answer to.
scripted_server::script answering(std::function<std::string(const arguments&)> instead)
{
    return [instead = std::move(instead)](scripted_connection& c) -> asio::awaitable<void> {
        co_await c.serve([&](const arguments& command) -> std::optional<std::string> {
            const auto answer = instead(command);
            return answer.empty() ? obedient(command) : answer;
        });
    };
}

}  // namespace

TEST_CASE("what speaks another protocol is told of", "[cli][doctor]")
{
    scripted_server web([](scripted_connection& c) -> asio::awaitable<void> {
        co_await c.read_bytes(1);
        co_await c.send("HTTP/1.1 400 Bad Request\r\n\r\n");
        co_await c.ignore();
    });
    const consultation told(patient({web.url()}));
    CHECK(has(told.says("silent"), "does not speak the protocol of Redis"));
}

TEST_CASE("a server that repeats what it is sent tells no password through the doctor",
          "[cli][doctor]")
{
    const bool in_errors = GENERATE(true, false);
    scripted_server echo(answering([&](const arguments& command) {
        std::string text;
        for (const auto& word : command) {
            text += word + " ";
        }
        return in_errors ? wire::error("ERR what is " + text) : wire::bulk(text);
    }));
    auto url = echo.url();
    url.insert(8, "somebody:pass-and-word@");
    const consultation told(patient({url}));
    INFO(told.text);
    CHECK(told.locks() == "unavailable");
    CHECK_FALSE(has(told.text, "pass-and-word"));
    CHECK_FALSE(has(told.text, "somebody"));
}

TEST_CASE("a server that is loading is told of as it says", "[cli][doctor]")
{
    scripted_server loading(answering([](const arguments& command) {
        return command[0] == "HELLO" || command[0] == "INFO"
                   ? std::string()
                   : wire::error("LOADING Redis is loading the dataset in memory");
    }));
    const consultation told(patient({loading.url()}));
    INFO(told.text);
    CHECK(has(told.says("loading"), "LOADING"));
    CHECK_FALSE(told.codes().contains("refused-command"));
    CHECK(told.locks() == "unavailable");
}

TEST_CASE("a server with another role than a master's is told of in its word", "[cli][doctor]")
{
    const bool in_info = GENERATE(true, false);
    scripted_server keydb(answering([&](const arguments& command) {
        auto answer = obedient(command);
        if (command[0] == "INFO" && in_info) {
            answer = wire::bulk("redis_version:6.3.4\r\nrole:active-replica\r\n");
        } else if (command[0] == "HELLO") {
            answer = in_info
                         ? wire::error("ERR unknown command")
                         : wire::aggregate('%', {wire::bulk("proto"), wire::integer(3),
                                                 wire::bulk("role"), wire::bulk("active-replica")});
        }
        return answer;
    }));
    const consultation told(patient({keydb.url()}));
    INFO(told.text);
    CHECK(has(told.says("role"), "error: has the role 'active-replica'"));
    CHECK(told.all["nodes"][0]["role"] == "active-replica");
    CHECK(told.locks() == "unavailable");
}

TEST_CASE("a server that closes at HELLO is greeted without it, and that is told", "[cli][doctor]")
{
    scripted_server proxied([](scripted_connection& c) -> asio::awaitable<void> {
        for (;;) {
            const auto command = co_await c.read_command();
            if (command[0] == "HELLO") {
                co_return;
            }
            co_await c.send(obedient(command));
        }
    });
    const consultation told(patient({proxied.url()}));
    INFO(told.text);
    CHECK(told.codes().contains("no-hello"));
    CHECK_FALSE(told.codes().contains("silent"));
    CHECK(proxied.commands("HELLO").size() == 1);
    CHECK(proxied.commands("PING").size() > 1);
}

TEST_CASE("a server that answers HELLO with no greeting is greeted without it, and that is told",
          "[cli][doctor]")
{
    const auto answer = GENERATE(wire::status("OK"), wire::integer(3), wire::bulk("redis"),
                                 wire::null(), wire::aggregate('*', {}), wire::aggregate('%', {}),
                                 wire::aggregate('%', {wire::bulk("proto"), wire::bulk("three")}));
    CAPTURE(answer);
    scripted_server odd(answering(
        [&](const arguments& command) { return command[0] == "HELLO" ? answer : std::string(); }));
    const consultation told(patient({odd.url()}));
    INFO(told.text);
    CHECK(has(told.says("no-hello"), "warning: does not answer HELLO with a greeting"));
    CHECK_FALSE(told.codes().contains("resp2"));
    CHECK(told.all["nodes"][0]["protocol"] == 2);
    CHECK(odd.commands("HELLO").size() == 1);
    CHECK(odd.commands("PING").size() > 1);
}

TEST_CASE("an unknown word of no-appendfsync-on-rewrite is taken for yes", "[cli][doctor]")
{
    const auto [word, kept] = GENERATE(table<const char*, const char*>(
        {{"maybe", "appendfsync always but in rewrites"}, {"no", "appendfsync always"}}));
    scripted_server odd(answering([&](const arguments& command) {
        if (command[0] == "INFO") {
            return wire::bulk("redis_version:9.9.9\r\nrole:master\r\naof_enabled:1\r\n");
        }
        if (command[0] == "CONFIG") {
            const bool is_fsync = command[2] == "appendfsync";
            return wire::aggregate(
                '%', {wire::bulk(command[2]), wire::bulk(is_fsync ? "always" : word)});
        }
        return std::string();
    }));
    const consultation told(patient({odd.url()}));
    INFO(told.text);
    CHECK(told.all["nodes"][0]["persistence"] == kept);
    CHECK(told.codes().contains("forgets") == (std::string(word) != "no"));
}

TEST_CASE("commands that a proxy refuses in words of its own are told of", "[cli][doctor]")
{
    scripted_server proxied(answering([](const arguments& command) {
        return command[0] == "HELLO" || command[0] == "SCRIPT" || command[0] == "COMMAND"
                   ? wire::error("ERR unsupported command")
                   : std::string();
    }));
    const consultation told(patient({proxied.url()}));
    INFO(told.text);
    CHECK(told.says("refused-command") ==
          "warning: refuses HELLO (ERR unsupported command): there is no RESP3, and waiters poll.");
    CHECK(has(told.text, "refuses SCRIPT LOAD (ERR unsupported command)"));
}

TEST_CASE("a server with a delete of its own is told to use it", "[cli][doctor]")
{
    const std::string own = GENERATE("DELIFEQ", "DELEX");
    const bool is_permitted = GENERATE(true, false);
    scripted_server newer(answering([&](const arguments& command) {
        if (command[0] == "COMMAND") {
            const auto known = wire::aggregate('*', {wire::bulk("it")});
            return own == "DELIFEQ" ? wire::aggregate('*', {known, wire::null3()})
                                    : wire::aggregate('*', {wire::null3(), known});
        }
        if (command[0] == own) {
            return is_permitted ? wire::integer(0)
                                : wire::error("NOPERM this user may not run the command");
        }
        return std::string();
    }));
    const consultation told(patient({newer.url()}));
    INFO(told.text);
    CHECK(told.all["nodes"][0]["releases_by"] == (is_permitted ? own : "EVALSHA"));
    CHECK(told.codes().contains("forbidden") != is_permitted);
    CHECK(newer.commands(own).size() == 1);
}

TEST_CASE("answers that make no sense are borne", "[cli][doctor]")
{
    const auto answer =
        GENERATE(wire::integer(-1), wire::bulk(""), wire::null(), wire::aggregate('*', {}),
                 wire::aggregate('*', {wire::bulk("9223372036854775807"), wire::bulk("-1")}),
                 wire::aggregate('*', {wire::bulk("8999999999"), wire::bulk("999999")}),
                 wire::aggregate('%', {wire::bulk("appendfsync"), wire::integer(3)}));
    const std::string name =
        GENERATE("INFO", "TIME", "PING", "CONFIG", "SET", "EVALSHA", "COMMAND", "HELLO", "GET");
    CAPTURE(name, answer);
    scripted_server odd(answering(
        [&](const arguments& command) { return command[0] == name ? answer : std::string(); }));
    const consultation told(patient({odd.url()}), 0ms);
    CHECK(told.all["nodes"].size() == 1);
    CHECK(odd.failures().empty());
}

TEST_CASE("whatever a connection ends at is told, and nothing is left behind", "[cli][doctor]")
{
    const server node(written_through);
    proxy network(node.port());
    const auto how = GENERATE(ending::fin, ending::rst);
    const auto way = GENERATE(direction::up, direction::down);
    for (std::size_t bytes = 0; bytes < 7'000; bytes += 700) {
        CAPTURE(bytes);
        network.cut_after(way, bytes, how);
        const consultation told(patient({network.url()}), 10s);
        CHECK(told.codes().contains("silent"));
        CHECK(told.locks() == "unavailable");
    }
    for (const auto& key : node.ask({"KEYS", "*"}).items) {
        CHECK(node.pttl(key.text) != -1ms);
    }
}
