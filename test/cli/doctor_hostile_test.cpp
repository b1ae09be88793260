#include "cli/consultation.hpp"

#include "support/proxy.hpp"
#include "support/scripted_server.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <functional>
#include <set>
#include <string>

using namespace redlock;
using namespace redlock::test;
using namespace std::chrono_literals;

namespace asio = boost::asio;

namespace {

/// Answers as an obedient node unless `instead` returns an answer.
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

TEST_CASE("the doctor reports a server that speaks another protocol", "[cli][doctor]")
{
    scripted_server web([](scripted_connection& c) -> asio::awaitable<void> {
        co_await c.read_bytes(1);
        co_await c.send("HTTP/1.1 400 Bad Request\r\n\r\n");
        co_await c.ignore();
    });
    const consultation told(patient({web.url()}));
    INFO(told.text);
    CHECK(has(told.says("protocol"), "does not speak the protocol of Redis"));
    CHECK(has(told.finding("protocol")["advice"].get<std::string>(), "Check host and port"));
    CHECK_FALSE(told.codes().contains("silent"));
}

TEST_CASE("the doctor prints no password when a server echoes its commands", "[cli][doctor]")
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

TEST_CASE("the doctor names a login that a server refuses in words of its own", "[cli][doctor]")
{
    const bool closes = GENERATE(false, true);
    scripted_server strict([&](scripted_connection& c) -> asio::awaitable<void> {
        co_await c.serve([&](const arguments& command) -> std::optional<std::string> {
            if (command[0] == "HELLO") {
                return wire::error("ERR unknown command 'HELLO'");
            }
            if (command[0] != "AUTH" && closes) {
                c.close();
                return std::nullopt;
            }
            return wire::error(command[0] == "AUTH" ? "ERR access denied"
                                                    : "ERR not authenticated");
        });
    });
    auto url = strict.url();
    url.insert(url.find("//") + 2, ":pass-and-word@");
    const consultation told(patient({url}));
    INFO(told.text);
    CHECK(told.codes() == codes{"login", "no-quorum", "one-node"});
    CHECK(has(told.says("login"), ", after it refused user and password."));
    CHECK_FALSE(has(told.text, "pass-and-word"));
}

TEST_CASE("the doctor reports a replica that refuses AUTH and needs no login", "[cli][doctor]")
{
    scripted_server replica(answering([](const arguments& command) {
        if (command[0] == "HELLO" || command[0] == "AUTH") {
            return wire::error("ERR no such thing here");
        }
        return command[0] == "INFO" ? wire::bulk("redis_version:9.9.9\r\nrole:slave\r\n")
                                    : std::string();
    }));
    auto url = replica.url();
    url.insert(url.find("//") + 2, ":pass-and-word@");
    const consultation told(patient({url}));
    INFO(told.text);
    CHECK(told.says("replica") == "error: is a replica: it grants no locks.");
    CHECK_FALSE(told.codes().contains("login"));
}

TEST_CASE("the doctor reports a loading server in the server's words", "[cli][doctor]")
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

TEST_CASE("the doctor quotes the role of a server that is not a master", "[cli][doctor]")
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

TEST_CASE("the doctor recognizes a replica that hides its role by its answer to a write",
          "[cli][doctor]")
{
    const std::string code = GENERATE("READONLY", "MASTERDOWN");
    const bool refuses_scripts = GENERATE(false, true);
    scripted_server replica(answering([&](const arguments& command) {
        if (command[0] == "HELLO" || command[0] == "INFO" || command[0] == "ROLE") {
            return wire::error("NOPERM this user may not run the command");
        }
        const bool is_refused =
            command[0] == "SET" || (refuses_scripts && command[0].starts_with("EVAL"));
        return is_refused ? wire::error(code + " in the server's words") : std::string();
    }));
    const consultation told(patient({replica.url()}));
    INFO(told.text);
    CHECK(told.says("replica") == "error: is a replica: it grants no locks.");
    CHECK_FALSE(told.codes().contains("unusable"));
    CHECK_FALSE(told.codes().contains("refuses-writes"));
    CHECK(told.locks() == "unavailable");
}

TEST_CASE("the doctor reports a replica whose role only ROLE gives", "[cli][doctor]")
{
    scripted_server replica(answering([](const arguments& command) {
        if (command[0] == "HELLO" || command[0] == "INFO") {
            return wire::error("NOPERM this user may not run the command");
        }
        return command[0] == "ROLE" ? wire::aggregate('*', {wire::bulk("slave")}) : std::string();
    }));
    const consultation told(patient({replica.url()}));
    INFO(told.text);
    CHECK(told.says("replica") == "error: is a replica: it grants no locks.");
    CHECK_FALSE(told.codes().contains("unusable"));
}

TEST_CASE("the doctor prints an unknown mode as the server names it", "[cli][doctor]")
{
    scripted_server odd(answering([](const arguments& command) {
        return command[0] == "INFO" ? wire::bulk("redis_mode:proxy\r\nrole:master\r\n")
                                    : std::string();
    }));
    const consultation told(patient({odd.url()}));
    INFO(told.text);
    CHECK(has(told.says("mode"), "error: runs in the mode 'proxy', not standalone: "));
    CHECK_FALSE(told.codes().contains("unusable"));
    CHECK(told.locks() == "unavailable");
}

TEST_CASE("a memory limit that is not a number counts as a limit", "[cli][doctor]")
{
    const std::string policy = GENERATE("allkeys-lru", "noeviction");
    scripted_server odd(answering([&](const arguments& command) {
        return command[0] == "INFO" ? wire::bulk(
                                          "role:master\r\nmaxmemory:1gb\r\nused_memory:1\r\n"
                                          "maxmemory_policy:" +
                                          policy + "\r\n")
                                    : std::string();
    }));
    const consultation told(patient({odd.url()}));
    INFO(told.text);
    CHECK(told.says("evicts") ==
          (policy == "noeviction"
               ? ""
               : "error: may evict keys, locks among them: it gives no number for the memory that "
                 "it may use (maxmemory-policy allkeys-lru)."));
    CHECK(told.all["nodes"][0]["maxmemory"].is_null());
}

TEST_CASE("a refusal that contains the word script is a finding for every command", "[cli][doctor]")
{
    const auto [name, shown] = GENERATE(table<std::string, std::string>(
        {{"SCRIPT", "SCRIPT LOAD"}, {"EVAL", "EVAL"}, {"GETRANGE", "GETRANGE"}}));
    scripted_server odd(answering([&](const arguments& command) {
        return command[0] == name ? wire::error("ERR no script commands here") : std::string();
    }));
    const consultation told(patient({odd.url()}));
    INFO(told.text);
    CHECK(has(told.text, "refuses " + shown + " (ERR no script commands here)"));
}

TEST_CASE("scripts that a server does not know or refuses are reported without ACL advice",
          "[cli][doctor]")
{
    const auto [error, says] = GENERATE(table<std::string, std::string>(
        {{"ERR unknown command", "error: knows neither EVAL nor EVALSHA, so it runs no scripts"},
         {"ERR no", "error: refuses EVAL and EVALSHA (ERR no), so it runs no scripts"}}));
    scripted_server odd(answering([&](const arguments& command) {
        return command[0].starts_with("EVAL") ? wire::error(error) : std::string();
    }));
    const consultation told(patient({odd.url()}));
    INFO(told.text);
    CHECK(told.says("no-scripts").starts_with(says));
    CHECK_FALSE(has(told.text, "+eval"));
    CHECK_FALSE(told.codes().contains("unusable"));
}

TEST_CASE("a command that is refused within a script does not count as a refused script",
          "[cli][doctor]")
{
    const std::string within = GENERATE(
        "ERR The user executing the script can't run this command or subcommand script: "
        "8f3a, on @user_script:1.",
        "ERR Error running script (call to f_8f3a): @user_script:1: ERR no permissions",
        "ERR Unknown Redis command called from script script: 8f3a, on @user_script:1.");
    scripted_server odd(answering([&](const arguments& command) {
        return command[0] == "EVAL" ? wire::error(within) : std::string();
    }));
    const consultation told(patient({odd.url()}));
    INFO(told.text);
    CHECK_FALSE(has(told.text, "refuses EVAL"));
    CHECK_FALSE(has(told.text, "runs no scripts"));
}

TEST_CASE("the doctor finds out which command of the queue a server refuses in scripts",
          "[cli][doctor]")
{
    struct row {
        const char* error;
        const char* says;
        bool has_acl_advice;
    };
    const row r = GENERATE(values<row>({
        {"ERR The user executing the script can't run this command or subcommand script: 8f3a, on "
         "@user_script:1.",
         "does not permit ZADD: ", true},
        {"ERR ACL failure in script: User u has no permissions to run the 'zadd' command script: "
         "8f3a, on @user_script:1.",
         "does not permit ZADD: ", true},
        {"ERR Error running script (call to f_8f3a): @user_script:1: @user_script: 1: -NOPERM The "
         "user executing the script can't run this command or subcommand ",
         "does not permit ZADD: ", true},
        {"ERR Unknown Redis command called from script script: 8f3a, on @user_script:1.",
         "does not know ZADD: ", false},
        {"ERR unsupported", "refuses ZADD (ERR unsupported): ", false},
        {"OOM command not allowed when used memory > 'maxmemory'.", "", false},
    }));
    CAPTURE(r.error);
    scripted_server odd(answering([&](const arguments& command) {
        return command[0] == "EVAL" && has(command[1], "zadd") ? wire::error(r.error)
                                                               : std::string();
    }));
    const consultation told(patient({odd.url()}));
    INFO(told.text);
    const std::string says = told.says("no-queue");
    CHECK(says.starts_with(*r.says == '\0' ? "" : std::string("warning: ") + r.says));
    CHECK(says.empty() == (*r.says == '\0'));
    CHECK(has(told.text, "+zadd") == r.has_acl_advice);
}

TEST_CASE("the doctor names the commands that a greeting left unanswered", "[cli][doctor]")
{
    const std::string name = GENERATE("SCRIPT", "INFO", "COMMAND");
    const bool closes = GENERATE(true, false);
    scripted_server proxied([&](scripted_connection& c) -> asio::awaitable<void> {
        for (;;) {
            const auto command = co_await c.read_command();
            if (command[0] == name && closes) {
                co_return;
            }
            if (command[0] == name) {
                co_await c.ignore();
            }
            co_await c.send(obedient(command));
        }
    });
    const consultation told(impatient({proxied.url()}));
    INFO(told.text);
    const std::string says = told.says("unanswered");
    const std::string first = name == "SCRIPT"    ? "SCRIPT LOAD"
                              : name == "COMMAND" ? "COMMAND INFO"
                                                  : name;
    CHECK(says.starts_with(closes ? "error: breaks off: " : "error: leaves " + first));
    CHECK(has(says, first));
    CHECK(has(says, " unanswered."));
    CHECK_FALSE(told.codes().contains("silent"));
    CHECK(told.locks() == "unavailable");
}

TEST_CASE("the doctor names HELLO if a server leaves it unanswered", "[cli][doctor]")
{
    scripted_server proxied([](scripted_connection& c) -> asio::awaitable<void> {
        co_await c.read_command();
        co_await c.ignore();
    });
    const consultation told(impatient({proxied.url()}));
    INFO(told.text);
    CHECK(told.says("silent") == "error: accepts connections, but leaves HELLO unanswered.");
    CHECK(has(told.finding("silent")["advice"].get<std::string>(), "name the server itself"));
}

TEST_CASE("the doctor greets a server that closes at HELLO without it and says so", "[cli][doctor]")
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

TEST_CASE("the doctor greets a server whose HELLO reply is no greeting without it and says so",
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

TEST_CASE("an unknown value of no-appendfsync-on-rewrite counts as yes", "[cli][doctor]")
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

TEST_CASE("the doctor reports commands that a proxy refuses in its own words", "[cli][doctor]")
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

TEST_CASE("the doctor tries commands that a proxy refuses inside scripts", "[cli][doctor]")
{
    const auto* error = GENERATE("ERR unsupported command", "ERR unknown command");
    const bool passes_scripts = GENERATE(true, false);
    scripted_server proxied(answering([&](const arguments& command) {
        const std::set<std::string> refused{"GET", "PTTL", "PEXPIRE", "TIME", "INCR", "DEL"};
        if (refused.contains(command[0])) {
            return wire::error(error);
        }
        const bool is_trial = command[0] == "EVAL" && has(command[1], "redis.call('");
        return is_trial && !passes_scripts ? wire::error("ERR not in scripts") : std::string();
    }));
    const consultation told(patient({proxied.url()}));
    INFO(told.text);
    CHECK(told.locks() == (passes_scripts ? "available" : "unavailable"));
    if (passes_scripts) {
        const auto is_known = std::string(error) == "ERR unknown command";
        CHECK(told.says("refused-command") == std::string("note: refuses PTTL outside of scripts") +
                                                  (is_known ? "" : " (ERR unsupported command)") +
                                                  ": waiters poll.");
        CHECK_FALSE(told.codes().contains("unknown-command"));
    }
}

TEST_CASE("the doctor has one finding about a port that answers everything alike", "[cli][doctor]")
{
    const bool echoes = GENERATE(true, false);
    scripted_server odd(answering([&](const arguments& command) {
        return echoes ? wire::bulk(command[0]) : wire::status("OK");
    }));
    const consultation told(patient({odd.url()}));
    INFO(told.text);
    CHECK(told.codes() == codes{"unusable", "no-hello", "no-quorum", "one-node"});
    CHECK(has(told.finding("unusable")["advice"].get<std::string>(), "another kind of server"));
}

TEST_CASE("the doctor has one finding about a port that answers everything with one error",
          "[cli][doctor]")
{
    const std::string error = GENERATE("ERR no upstream host", "UNAVAILABLE backend is down");
    scripted_server odd(answering([&](const arguments&) { return wire::error(error); }));
    const consultation told(patient({odd.url()}));
    INFO(told.text);
    CHECK(told.codes() == codes{"refuses-all", "no-quorum", "one-node"});
    CHECK(has(told.says("refuses-all"), "with the same error: " + error + "."));
    CHECK(has(told.finding("refuses-all")["advice"].get<std::string>(), "a proxy"));
}

TEST_CASE("the doctor says whether a node releases by its own compare-and-delete", "[cli][doctor]")
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

TEST_CASE("the doctor survives senseless answers", "[cli][doctor]")
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

TEST_CASE("the doctor reports any end of a connection and leaves no key", "[cli][doctor]")
{
    const server node(written_through);
    proxy network(node.port());
    const auto how = GENERATE(ending::fin, ending::rst);
    const auto way = GENERATE(direction::up, direction::down);
    for (std::size_t bytes = 0; bytes < 7'000; bytes += 700) {
        CAPTURE(bytes);
        network.cut_after(way, bytes, how);
        const consultation told(patient({network.url()}), 10s);
        CHECK(told.codes().contains("silent") != told.codes().contains("unanswered"));
        CHECK(told.locks() == "unavailable");
    }
    for (const auto& key : node.ask({"KEYS", "*"}).items) {
        CHECK(node.pttl(key.text) != -1ms);
    }
}
