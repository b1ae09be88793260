#include "cli/command.hpp"
#include "resp/scripts.hpp"
#include "support/certificates.hpp"
#include "support/resp_text.hpp"
#include "support/run.hpp"
#include "support/scripted_server.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <boost/asio/awaitable.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <optional>
#include <regex>
#include <string>
#include <utility>
#include <vector>

using namespace redlock::test;
using Catch::Matchers::ContainsSubstring;

namespace {

/// RFC 3339, in UTC, with milliseconds.
const std::string date_form = R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)";

}  // namespace

TEST_CASE("three commands acquire and extend and release a lock", "[locks]")
{
    const masters nodes(3);
    const auto taken = run(nodes, {"acquire", "job", "--ttl", "1h"});
    REQUIRE(taken.status == 0);
    CHECK(taken.text.starts_with("owner_token="));
    CHECK_THAT(taken.text, ContainsSubstring("\nfencing_token="));
    // An hour less its drift is 3564 s. With this beginning the machine may pause for 64 s.
    CHECK_THAT(taken.text, ContainsSubstring("\nvalid_for_ms=35"));
    CHECK(std::regex_search(taken.text, std::regex("\nvalid_until=" + date_form + "\n")));
    CHECK(nodes.count("job") >= 2);
    CHECK(run(nodes, {"acquire", "job", "--no-wait"}).status == 75);

    const temp_dir folder;
    const auto file = (folder / "token").string();
    std::ofstream(file) << taken.text;
    const auto extended = run(nodes, {"extend", "job", "--ttl", "2h", "--token-file", file});
    CHECK(extended.status == 0);
    CHECK(std::regex_match(
        extended.text, std::regex("valid_for_ms=7[01]\\d{5}\nvalid_until=" + date_form + "\n")));

    const auto token = taken.text.substr(12, 40);
    const auto extended_by_output =
        run(nodes, {"extend", "job"}, {"REDLOCK_OWNER_TOKEN=" + taken.text});
    CHECK(extended_by_output.status == 0);
    CHECK(run(nodes, {"release", "job"}, {"REDLOCK_OWNER_TOKEN=" + token}).status == 0);
    CHECK(nodes.count("job") == 0);
    const auto again = run(nodes, {"release", "job"}, {"REDLOCK_OWNER_TOKEN=" + token});
    CHECK(again.status == 76);
    CHECK(again.text.starts_with("redlock: job: The lock is not held with this owner token\n"));
    CHECK(again.text.find(token) == std::string::npos);
    CHECK(run(nodes, {"extend", "job"}, {"REDLOCK_OWNER_TOKEN=" + token}).status == 76);
    CHECK(nodes.count("job") == 0);
}

TEST_CASE("an extend or a release with another lock's owner token says that it is not held",
          "[locks]")
{
    const masters nodes(3);
    CHECK(run(nodes, {"acquire", "job"}).status == 0);
    const std::string others = "REDLOCK_OWNER_TOKEN=" + std::string(40, 'a');
    for (const char* name : {"extend", "release"}) {
        CAPTURE(name);
        const auto [status, text] = run(nodes, {name, "job", "--json"}, {others});
        CHECK(status == 76);
        const auto why = nlohmann::json::parse(text);
        CHECK(why.at("error") == "not_held");
        CHECK(why.at("message") == "job: The lock is not held with this owner token");
    }
    CHECK(nodes.count("job") >= 2);
}

TEST_CASE("an extend or a release names the resource that the lock does not have", "[locks]")
{
    const masters nodes(3);
    std::string held;
    // A node that was too late for the acquire would name the first resource.
    REQUIRE(wait_for([&] {
        held = "REDLOCK_OWNER_TOKEN=" + run(nodes, {"acquire", "a", "b", "--quiet"}).text;
        const bool all_have_it = nodes.count("b") == 3;
        if (!all_have_it) {
            CHECK(run(nodes, {"release", "a", "b"}, {held}).status == 0);
        }
        return all_have_it;
    }));
    for (const char* name : {"extend", "release"}) {
        CAPTURE(name);
        const auto [status, text] = run(nodes, {name, "a", "c", "b", "d"}, {held});
        CHECK(status == 76);
        CHECK(
            text.starts_with("redlock: a, c, b, d: The lock is not held with this owner token; the "
                             "first resource that nodes miss is c\n"));
        const auto others =
            run(nodes, {name, "a", "b"}, {"REDLOCK_OWNER_TOKEN=" + std::string(40, 'a')});
        CHECK(others.text.starts_with(
            "redlock: a, b: The lock is not held with this owner token; the "
            "first resource that nodes miss is a\n"));
    }
    // Neither command has changed the lock.
    CHECK(nodes.count("a") >= 2);
    const auto extended = [&](std::size_t i) {
        return nodes[i].pttl("b") > std::chrono::minutes(50);
    };
    CHECK(extended(0) + extended(1) + extended(2) >= 2);
    CHECK(run(nodes, {"release", "a", "b"}, {held}).status == 0);
}

TEST_CASE("a command asks for an owner token where it needs one and never prints it", "[locks]")
{
    const masters nodes(1);
    const auto none = run(nodes, {"release", "job"});
    CHECK(none.status == 64);
    CHECK_THAT(none.text, ContainsSubstring("REDLOCK_OWNER_TOKEN"));
    const auto wrong = run(nodes, {"release", "job"}, {"REDLOCK_OWNER_TOKEN=secretish"});
    CHECK(wrong.status == 64);
    CHECK(wrong.text.find("secretish") == std::string::npos);
}

TEST_CASE("a command reads an owner token as acquire and editors write it", "[locks]")
{
    const masters nodes(3);
    const temp_dir folder;
    const auto file = (folder / "token").string();
    const bool is_json = GENERATE(false, true);
    std::vector<std::string> arguments{"acquire", "job"};
    if (is_json) {
        arguments.emplace_back("--json");
    }
    const auto taken = run(nodes, arguments).text;
    const auto at = is_json ? taken.find("\"owner_token\":\"") + 15 : taken.find('=') + 1;
    const auto token = taken.substr(at, 40);
    for (const auto& content : {taken, token, "\xef\xbb\xbf" + token + "\r\n",
                                "\xef\xbb\xbf" + taken, "\r\n" + token + "\r"}) {
        std::ofstream(file) << content;
        const auto out = run(nodes, {"extend", "job", "--ttl", "1h", "--token-file", file});
        CAPTURE(out.text);
        CHECK(out.status == 0);
    }
    process piped("/bin/sh",
                  {"-c", "\"$0\" release job --token-file - <\"$1\"", REDLOCK_COMMAND, file},
                  {folder / "out", {}, {nodes_variable(nodes.urls()), own_options(folder)}});
    CHECK(piped.wait() == 0);
    CHECK(nodes.count("job") == 0);
}

TEST_CASE("a command refuses an invalid owner token and names its source but never prints it",
          "[locks]")
{
    const masters nodes(1);
    const temp_dir folder;
    const auto file = (folder / "token").string();
    const std::string digits(39, 'a');
    const std::string form = " is malformed: give the 40 digits (0-9, a-f) that acquire printed\n";
    for (const auto& token :
         {digits, digits + "ab", digits + "A", "{\"owner_token\":\"" + digits}) {
        CAPTURE(token);
        const auto out = run(nodes, {"release", "job"}, {"REDLOCK_OWNER_TOKEN=" + token});
        CHECK(out.status == 64);
        CHECK(out.text == "redlock: the owner token in REDLOCK_OWNER_TOKEN" + form);
    }
    std::ofstream(file) << digits;
    auto out = run(nodes, {"release", "job", "--token-file", file});
    CHECK(out.status == 64);
    CHECK(out.text == "redlock: the owner token in " + file + form);
    for (const char* content : {"", "{\"owner_token\":7}", "{\"owner_token\":", "[]=\n"}) {
        CAPTURE(content);
        std::ofstream(file) << content;
        out = run(nodes, {"extend", "job", "--token-file", file});
        CHECK(out.status == 64);
        CHECK(out.text.starts_with("redlock: no owner token in " + file +
                                   ": give the output of acquire"));
    }
    out = run(nodes, {"release", "job", "--token-file", folder.path().string()});
    CHECK(out.status == 64);
    CHECK(out.text == "redlock: --token-file: " + folder.path().string() + ": Is a directory\n");
}

TEST_CASE("commands print JSON for scripts on request", "[locks]")
{
    const masters nodes(3);
    const auto taken = nlohmann::json::parse(run(nodes, {"acquire", "job", "--json"}).text);
    CHECK(taken.at("owner_token").get<std::string>().size() == 40);
    CHECK(taken.at("fencing_token").get<std::uint64_t>() > 0);
    const auto until = [](const nlohmann::json& told) {
        return told.at("valid_until").get<std::string>();
    };
    const std::regex date(date_form);
    CHECK(std::regex_match(until(taken), date));
    const auto extended = nlohmann::json::parse(
        run(nodes, {"extend", "job", "--ttl", "2h", "--json"},
            {"REDLOCK_OWNER_TOKEN=" + taken.at("owner_token").get<std::string>()})
            .text);
    CHECK(std::regex_match(until(extended), date));
    CHECK(until(extended) > until(taken));  // the text order is the order of the dates
    CHECK(taken.at("resources") == nlohmann::json{"job"});

    const auto refused = run(nodes, {"acquire", "job", "--json", "--no-wait"});
    CHECK(refused.status == 75);
    const auto why = nlohmann::json::parse(refused.text);
    CHECK(why.at("error") == "contended");
    CHECK(why.at("nodes").size() == 3);
    const auto label = why.at("holder_label").get<std::string>();
    CHECK(label.starts_with("acquire (pid " + std::to_string(getpid()) + " on "));

    const auto found = nlohmann::json::parse(run(nodes, {"inspect", "job", "--json"}).text);
    CHECK(found.at("state") == "held");
    CHECK(found.at("holder_label") == label);
    CHECK(found.at("remaining_ms").get<int>() > 5000);
    command watching(nodes, {"inspect", "job", "--watch", "--json"});
    CHECK(watching.says("\"date\":"));
    REQUIRE(::kill(watching.running().pid(), SIGINT) == 0);
    const auto looks = watching.end().text;
    CHECK(std::regex_match(
        nlohmann::json::parse(looks.substr(0, looks.find('\n'))).at("date").get<std::string>(),
        date));
    CHECK(found.at("nodes").size() == 3);
}

TEST_CASE("an inspection names each node even beyond the needed majority", "[locks]")
{
    masters nodes(3);
    CHECK(run(nodes, {"inspect", "job"}).text.starts_with("job: free\n"));
    CHECK(run(nodes, {"acquire", "job", "--label", "the night shift"}).status == 0);
    nodes[2].command({"DEL", "job"});
    const auto [status, text] = run(nodes, {"inspect", "job"});
    CAPTURE(text);
    CHECK(status == 0);
    CHECK(text.starts_with("job: held by the night shift, for "));
    CHECK_THAT(run(nodes, {"acquire", "job", "--no-wait"}).text,
               ContainsSubstring("The resource is locked by the night shift"));
    CHECK(run(nodes, {"acquire", "job", "--label", "a\nb"}).status == 64);
    CHECK_THAT(text, ContainsSubstring(nodes[0].url() + "/0  has the key for "));
    CHECK_THAT(text, ContainsSubstring(nodes[2].url() + "/0  has no key"));
    nodes[0].kill();
    nodes[1].kill();
    const auto unknown = run(nodes, {"inspect", "job"});
    CHECK(unknown.status == 69);
    CHECK(unknown.text.starts_with("job: unknown"));
}

TEST_CASE("an inspection says that a key without a ttl never ends and how to remove it", "[locks]")
{
    masters nodes(3);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        nodes[i].command({"SET", "job", "of another program"});
    }
    const auto [status, text] = run(nodes, {"inspect", "job"});
    CHECK(status == 0);
    CHECK(text.starts_with(
        "job: held, without an end: its key has no ttl, so no client of redlock wrote it; if the "
        "key is data, choose another name or a --key-prefix; if it is the lock of another program "
        "whose holder is gone, delete it on every node (redis-cli DEL)\n"));

    REQUIRE(run(nodes, {"acquire", "--label", "a worker", "labelled"}).status == 0);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        nodes[i].command({"PERSIST", "labelled"});
    }
    CHECK(run(nodes, {"inspect", "labelled"})
              .text.starts_with(
                  "labelled: held by a worker, without an end: its key has no ttl, which something "
                  "took away (redis-cli PERSIST, for example); if the holder runs, its next "
                  "renewal gives the key a ttl again; "));
}

TEST_CASE("an inspection distinguishes groups of keys and says when none has a majority", "[locks]")
{
    masters nodes(3);
    const std::vector<std::string> patient{"inspect", "job"};
    const std::string secrets[] = {"token-of-ann", "token-of-bob", "token-of-cid"};
    for (std::size_t i = 0; i < 3; ++i) {
        nodes[i].command({"SET", "job", secrets[i], "PX", "60000"});
    }
    const auto split = run(nodes, patient);
    CAPTURE(split.text);
    CHECK(split.status == 0);
    CHECK(split.text.starts_with(
        "job: blocked: no group has a majority of the 3 nodes: group A "
        "has a key on 1, group B on 1, group C on 1; these keys keep other clients out\n"));
    CHECK_THAT(split.text, ContainsSubstring(nodes[0].url() + "/0  has the key of group A for "));
    CHECK_THAT(split.text, ContainsSubstring(nodes[2].url() + "/0  has the key of group C for "));
    CHECK_THAT(split.text, !ContainsSubstring("token-of"));

    const auto as_json = run(nodes, {"inspect", "job", "--json"}).text;
    CHECK_THAT(as_json, !ContainsSubstring("token-of"));
    auto told = nlohmann::json::parse(as_json);
    CHECK(told.at("state") == "blocked");
    CHECK(told.at("key_groups") == nlohmann::json{{"A", 1}, {"B", 1}, {"C", 1}});
    CHECK(told.at("reason").get<std::string>().starts_with("no group has a majority of the 3"));
    CHECK(told.at("nodes")[1].at("key_group") == "B");
    CHECK_FALSE(told.contains("holder_group"));
    CHECK_FALSE(told.contains("date"));

    nodes[2].command({"SET", "job", secrets[1], "PX", "60000"});
    CHECK(run(nodes, patient).text.starts_with("job: held by group B, for "));
    told = nlohmann::json::parse(run(nodes, {"inspect", "job", "--json"}).text);
    CHECK(told.at("holder_group") == "B");
    CHECK(told.at("key_groups") == nlohmann::json{{"A", 1}, {"B", 2}});
    CHECK_FALSE(told.contains("reason"));

    nodes[1].command({"DEL", "job"});
    nodes[2].command({"DEL", "job"});
    CHECK(run(nodes, patient)
              .text.starts_with("job: free: no group has a majority of the 3 nodes\n"));
}

TEST_CASE("an inspection says that keys without a ttl keep others out and never end", "[locks]")
{
    masters nodes(3);
    nodes[0].command({"SET", "job", "of one program"});
    nodes[2].command({"SET", "job", "of another"});
    const auto [status, text] = run(nodes, {"inspect", "job"});
    CAPTURE(text);
    CHECK(status == 0);
    CHECK_THAT(text, ContainsSubstring("; these keys keep other clients out, and the keys without "
                                       "a ttl never expire: another program wrote them; if they "
                                       "are not data, delete them (redis-cli DEL)\n"));
    CHECK_THAT(text, ContainsSubstring("/0  has the key of group B, without an end\n"));
    const auto told = nlohmann::json::parse(run(nodes, {"inspect", "job", "--json"}).text);
    CHECK(told.at("state") == "blocked");
    CHECK(told.at("nodes")[0].at("never_ends") == true);
    CHECK_FALSE(told.at("nodes")[1].contains("never_ends"));
    CHECK(run(nodes, {"acquire", "job", "--no-wait"}).status == 75);
    // One key leaves a majority free for others.
    nodes[0].command({"DEL", "job"});
    CHECK(run(nodes, {"inspect", "job"}).text.starts_with("job: free: "));
}

TEST_CASE("an inspection that watches continues until it is interrupted", "[locks]")
{
    const masters nodes(3);
    command one(nodes, {"inspect", "job", "--watch", "--interval", "100ms"});
    REQUIRE(one.says("job: free"));
    // Each line begins with the date.
    const std::regex dated(date_form + "  job: free\n");
    CHECK(std::regex_search(one.text(), dated, std::regex_constants::match_continuous));
    CHECK(run(nodes, {"acquire", "job"}).status == 0);
    CHECK(one.says("job: held"));
    REQUIRE(::kill(one.running().pid(), SIGINT) == 0);
    CHECK(one.end().status == 128 + SIGINT);
}

TEST_CASE("an inspection waits for all silent nodes at the same time", "[locks]")
{
    masters nodes(7);
    command one(nodes, {"inspect", "job", "--watch", "--json", "--interval", "100ms",
                        "--node-timeout", "6s"});
    const auto timed_out = [&one] {
        return one.text().find("\"outcome\":\"timed_out\"") != std::string::npos;
    };
    REQUIRE(one.says("\"state\":\"free\""));
    for (const std::size_t silent : {4U, 5U, 6U}) {
        nodes[silent].stop();
    }
    const auto began = std::chrono::steady_clock::now();
    CHECK(wait_for(timed_out));
    // One after the other the inspections would take three node timeouts.
    CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(3 * 6));
    for (const std::size_t silent : {4U, 5U, 6U}) {
        nodes[silent].cont();
    }
}

TEST_CASE("a name lookup that never ends does not keep a command from ending", "[locks]")
{
    const masters nodes(3);
    auto urls = nodes.urls();
    urls.emplace_back("redis://never.example");
    const std::vector<std::string> slow{nodes_variable(urls),
                                        std::string("LD_PRELOAD=") + SLOW_NAMES_SHIM};
    // A busy machine connects to the three nodes in less.
    const std::vector<std::string> impatient{"--connect-timeout", "5s"};
    const std::pair<std::vector<std::string>, int> commands[] = {
        {{"inspect", "job"}, 0},
        {{"acquire", "job", "--ttl", "1h"}, 0},
        {{"acquire", "job", "--no-wait"}, 75},
        {{"run", "other", "--", "/bin/true"}, 0},
        {{"doctor", "--watch", "10ms"}, 2},
    };
    for (auto [arguments, status] : commands) {
        CAPTURE(arguments);
        arguments.insert(arguments.begin(), impatient.begin(), impatient.end());
        CHECK(command(arguments, slow).end().status == status);
    }
    command watching({"inspect", "job", "--watch"}, slow);
    REQUIRE(watching.says("job: held"));
    REQUIRE(::kill(watching.running().pid(), SIGINT) == 0);
    CHECK(watching.end().status == 128 + SIGINT);
}

TEST_CASE("a command names wrong arguments and does nothing", "[locks]")
{
    const masters nodes(1);
    const std::string owner = "REDLOCK_OWNER_TOKEN=" + std::string(40, 'a');
    const std::pair<std::vector<std::string>, std::string> wrong[] = {
        {{"acquire", "job", "--ttl", "10x"}, "'10x' is not a duration"},
        {{"acquire", "job", "--ttl", "10ms"}, "--ttl: 10ms is shorter than 4 node timeouts, 8s"},
        {{"acquire", "job", "--ttl", "3650d", "--max-ttl", "1h"},
         "--ttl: 87600h is longer than the restart guard allows, 1h"},
        {{"acquire", "job", "--ttl", "100ms", "--node-timeout", "1ms", "--drift", "0.99"},
         "--ttl: 100ms is not longer than its allowance for clock drift, 101ms"},
        {{"extend", "job", "--ttl", "10ms"}, "--ttl: 10ms is shorter than 4 node timeouts, 8s"},
        {{"run", "job", "--ttl", "10ms", "--", "true"},
         "--ttl: 10ms is shorter than 4 node timeouts, 8s"},
        {{"acquire", "job", "--label", std::string(257, 'x')}, "--label: is longer than 256 bytes"},
        {{"acquire", "job", "--label", "a\nb"}, "--label: has a control character"},
        {{"inspect", ""}, "resource 1: is empty"},
        {{"acquire", "job", "a:fencing"}, "resource 2: ends with ':fencing'"},
        {{"release", "a:redlock:holder"}, "resource 1: ends with ':redlock:holder'"},
        {{"inspect", "a:redlock:queue"}, "resource 1: ends with ':redlock:queue'"},
        {{"acquire", "a:redlock:ticket"}, "resource 1: ends with ':redlock:ticket'"},
        {{"acquire", std::string(65'537, 'x')}, "resource 1: is longer than 65536 bytes"},
        {{"acquire", std::string(40'000, 'x'), std::string(40'000, 'y')},
         "resources: all names together are longer than 65536 bytes"},
        {{"acquire", "a", "b", "c", "b"}, "resource 2: is named twice"},
        {{"acquire", "job", "--ttl", "-1s"}, "'-1s' is negative"},
        {{"acquire", "job", "--db", "x"},
         "--db: 'x' is not a database: give its number, from 0 on"},
        {{"acquire", "job", "--db", "-1"}, "--db: '-1' is not a database"},
        {{"acquire", "job", "--db", "99999999999"}, "'99999999999' is not a database"},
        {{"acquire", "job", "--ttl", "30"}, "'30' has no unit"},
        {{"acquire", "job", "--ttl", "4000d"}, "'4000d' is too long"},
        {{"inspect", "job", "--watch", "--interval", "10ms"},
         "'10ms' is too short: 100ms at least"},
        {{"doctor", "--watch", "999d"}, "'999d' is too long: 1h at most"},
        {{"doctor", "--watch", "1x"}, "'1x' is not a duration"},
        {{"acquire"}, "RESOURCE"},
        {{"acquire", ""}, "resource"},
        {{"frobnicate", "job"}, "no command 'frobnicate'"},
        {{"acquire", "job", "--frobnicate"}, "--frobnicate"},
        {{}, "no command"},
        {{"--node", "http://x", "acquire", "job"}, "node 1: scheme"},
        {{"--config", "/no/such/file", "acquire", "job"}, "/no/such/file"},
        {{"--password-file", "/no/such/file", "acquire", "job"}, "/no/such/file"},
        {{"--config", "", "acquire", "job"}, "--config: an empty text names no file"},
        {{"acquire", "--config=", "job"}, "--config: an empty text names no file"},
        {{"--admit-new-nodes", "acquire", "job"}, "--admit-new-nodes needs --max-ttl"},
    };
    for (const auto& [arguments, text] : wrong) {
        const auto out = run(nodes, arguments, {owner});
        CAPTURE(arguments, out.text);
        CHECK(out.status == 64);
        CHECK(out.text.starts_with("redlock: "));
        CHECK_THAT(out.text, ContainsSubstring(text));
        auto for_scripts = arguments;
        for_scripts.insert(for_scripts.begin(), "--json");
        const auto why = nlohmann::json::parse(run(nodes, for_scripts, {owner}).text);
        CHECK(why.at("error") == "invalid_argument");
        CHECK_THAT(why.at("message").get<std::string>(), ContainsSubstring(text));
        CHECK(why.at("status") == 64);
    }
    CHECK(nodes.count("job") == 0);
    const auto lonely = command({"acquire", "job"}).end();
    CHECK(lonely.status == 64);
    CHECK_THAT(lonely.text, ContainsSubstring("no nodes"));
}

TEST_CASE("a command reads a password from a file or the environment and never prints it",
          "[locks]")
{
    server_options locked;
    locked.password = "open sesame@/#";
    const masters nodes(3, locked);
    const temp_dir folder;
    const auto file = (folder / "password").string();
    std::ofstream(file) << "open sesame@/#\n";
    CHECK(run(nodes, {"acquire", "a", "--password-file", file}).status == 0);
    CHECK(run(nodes, {"acquire", "b"}, {"REDLOCK_PASSWORD=open sesame@/#"}).status == 0);
    // As an editor of another system, or echo, writes it.
    for (const std::string end : {"\r", "\n", "\r\n"}) {
        const auto got = run(
            nodes, {"acquire", "e" + std::to_string(end.size()) + end},
            {"REDLOCK_PASSWORD=\xef\xbb\xbfopen sesame@/#" + end, "REDLOCK_USER=default" + end});
        CHECK(got.status == 0);
    }
    std::ofstream(file) << std::string("open sesame@/#\0", 15) << '\n';
    const auto torn = run(nodes, {"acquire", "f", "--password-file", file});
    CHECK(torn.status == 64);
    CHECK(torn.text == "redlock: --password-file: " + file +
                           ": its first line has a NUL character; save it as plain text\n");
    // A pipe can't be read twice.
    process piped("/usr/bin/env",
                  {"bash", "-c", "\"$REDLOCK\" acquire d --password-file <(echo 'open sesame@/#')"},
                  {folder / "piped",
                   {},
                   {own_options(folder), nodes_variable(nodes.urls()),
                    std::string("REDLOCK=") + REDLOCK_COMMAND}});
    CHECK(piped.wait() == 0);
    const auto wrong =
        run(nodes, {"acquire", "--no-wait", "-v", "c"}, {"REDLOCK_PASSWORD=wrong sesame"});
    CHECK(wrong.status == 69);
    CHECK(wrong.text.find("sesame") == std::string::npos);
    const auto none = run(nodes, {"acquire", "--no-wait", "c"});
    CHECK(none.status == 69);
}

TEST_CASE("a command that would wait ends at once if the nodes refuse its password", "[locks]")
{
    server_options locked;
    locked.password = "right";
    const masters nodes(3, locked);
    for (const std::string password : {"REDLOCK_PASSWORD=wrong", "REDLOCK_PASSWORD="}) {
        const auto [status, text] = run(nodes, {"acquire", "job"}, {password});
        CHECK(status == 69);
        CHECK_THAT(text, ContainsSubstring(password.ends_with("=") ? "NOAUTH" : "WRONGPASS"));
        CHECK_THAT(text, ContainsSubstring("(3 of 3)"));
    }
}

TEST_CASE("options from a file rank below the environment and the arguments", "[locks]")
{
    const masters nodes(3);
    const temp_dir folder;
    const auto file = (folder / "redlock.toml").string();
    {
        std::ofstream out(file);
        // Some editors begin a file with a byte order mark.
        out << "\xef\xbb\xbfnode = [";
        for (const auto& url : nodes.urls()) {
            out << '"' << url << "\", ";
        }
        out << "]\nnode-timeout = \"2500ms\"\n[acquire]\nttl = \"1h\"\n[ default ]\nkey-prefix = "
               "\"mine:\"\n";
    }
    auto out = command({"--config", file, "acquire", "job"}).end();
    CAPTURE(out.text);
    CHECK(out.status == 0);
    // As above, an hour less its drift, and below three hours less theirs. The machine may pause
    // for 64 s and for 92 s.
    CHECK_THAT(out.text, ContainsSubstring("valid_for_ms=35"));
    CHECK(nodes.count("mine:job") >= 2);
    out = command({"acquire", "--ttl", "3h", "other"}, {"REDLOCK_CONFIG=" + file}).end();
    CHECK_THAT(out.text, ContainsSubstring("valid_for_ms=106"));
    out = command({"--config", file, "acquire", "job2", "--no-wait"},
                  {"REDLOCK_NODES=unix:///no/such"})
              .end();
    CHECK(out.status == 69);
    CHECK_THAT(out.text, ContainsSubstring("unix:///no/such"));
    std::ofstream(file, std::ios::app) << "nonsense = 1\n";
    out = command({"--config", file, "acquire", "job3"}).end();
    CHECK(out.status == 64);
    CHECK_THAT(out.text, ContainsSubstring("nonsense"));
}

TEST_CASE("the command names the options for a certificate that a node requires", "[locks][tls]")
{
    const certificates world;
    const masters nodes(1, {.tls = server_tls{world.ca.certificate, world.server.certificate,
                                              world.server.key, true}});
    const auto [status, text] =
        command({"--node", nodes[0].tls_url(), "--ca-file", world.ca.certificate.string(),
                 "acquire", "job", "--no-wait"})
            .end();
    CHECK(status == 69);
    CHECK_THAT(text, ContainsSubstring("certificate required (SSL routines) (1 of 1); give the "
                                       "client a certificate with --cert-file and --key-file\n"));
}

TEST_CASE("a command admits new nodes to the restart guard", "[locks]")
{
    masters nodes(3);
    CHECK(run(nodes, {"acquire", "--no-wait", "--max-ttl", "1h", "job"}).status == 69);
    nodes.flush();
    const auto [status, text] = run(nodes, {"admit", "--max-ttl", "1h"});
    CHECK(status == 0);
    CHECK(text == "3 of 3 nodes are admitted\n");
    CHECK(run(nodes, {"acquire", "--no-wait", "--max-ttl", "1h", "job"}).status == 0);
    nodes[1].kill();
    // The command waits five seconds for the third node. A busy machine admits two in less.
    const auto two = run(nodes, {"admit", "--max-ttl", "1h", "--connect-timeout", "5s"});
    CHECK(two.status == 69);
    CHECK_THAT(two.text, ContainsSubstring("2 of 3 nodes are admitted\n  " + nodes[1].url()));
    CHECK_THAT(two.text, ContainsSubstring(": disconnected: Connection refused\n"));
    CHECK(run(nodes, {"admit"}).status == 64);
}

TEST_CASE("admit says why a node is not admitted", "[locks]")
{
    masters nodes(1);
    nodes[0].command({"ACL", "SETUSER", "default", "-eval"});
    const auto [status, text] =
        run(nodes, {"admit", "--max-ttl", "1h", "--connect-timeout", "5s", "--json"});
    CHECK(status == 69);
    const auto told = nlohmann::json::parse(text);
    CHECK(told.at("admitted") == 0);
    CHECK(told.at("nodes").at(0).at("admitted") == false);
    CHECK_THAT(told.at("nodes").at(0).at("error").get<std::string>(), ContainsSubstring("'eval'"));
}

TEST_CASE("a command that cannot write the owner token releases the lock", "[locks]")
{
    const masters nodes(3);
    const temp_dir folder;
    process sh("/bin/sh", {"-c", "\"$0\" acquire job >/dev/full", REDLOCK_COMMAND},
               {folder / "out", {}, {nodes_variable(nodes.urls()), own_options(folder)}});
    CHECK(sh.wait() == 70);
    CHECK_THAT(text_of(folder / "out"), ContainsSubstring("cannot be written"));
    CHECK(wait_for([&] { return nodes.count("job") == 0; }));
}

TEST_CASE("a command whose reader is gone releases the lock", "[locks]")
{
    const masters nodes(3);
    const temp_dir folder;
    const auto gone = (folder / "gone").string();
    process bash("/bin/bash",
                 {"-c",
                  "{ until [ -e \"$1\" ]; do sleep 0.01; done; exec \"$0\" acquire job; } | "
                  ": >\"$1\"; echo ${PIPESTATUS[0]}",
                  REDLOCK_COMMAND, gone},
                 {folder / "out", {}, {nodes_variable(nodes.urls()), own_options(folder)}});
    CHECK(bash.wait() == 0);
    CHECK_THAT(text_of(folder / "out"), ContainsSubstring("\n70\n"));
    CHECK(wait_for([&] { return nodes.count("job") == 0; }));
}

TEST_CASE("a resource may have a command's name", "[locks]")
{
    const masters nodes(3);
    CHECK(run(nodes, {"acquire", "run", "acquire"}).status == 0);
    CHECK(nodes.count("run") >= 2);
    CHECK(nodes.count("acquire") >= 2);
}

TEST_CASE("an argument outranks the file for every option", "[locks]")
{
    const masters nodes(3);
    const temp_dir folder;
    const auto file = (folder / "redlock.toml").string();
    std::ofstream(file)
        << "node-timeout = \"2500ms\"\n[acquire]\nwait = \"1m\"\n[inspect]\ninterval = \"5s\"\n";
    CHECK(run(nodes, {"acquire", "job"}).status == 0);
    CHECK(run(nodes, {"--config", file, "acquire", "--no-wait", "job"}).status == 75);
    CHECK(run(nodes, {"--config", file, "acquire", "--wait", "0s", "job"}).status == 75);
    CHECK(run(nodes, {"--config", file, "inspect", "job"}).status == 0);
    // Each default can be written down.
    std::ofstream(file, std::ios::app) << "watch = false\n[default]\nadmit-new-nodes = false\n";
    CHECK(run(nodes, {"--config", file, "inspect", "job"}).status == 0);
    // A command that reads no configuration ignores the file.
    std::ofstream(file, std::ios::app) << "nonsense = 1\n";
    CHECK_THAT(command({"--node", "redis://h", "demo"}, {"REDLOCK_CONFIG=" + file}).end().text,
               ContainsSubstring("demo: it starts nodes of its own"));
}

TEST_CASE("a command reports an error in a file or on a node in its own words", "[locks]")
{
    const temp_dir folder;
    const auto file = (folder / "redlock.toml").string();
    const std::pair<std::string, std::string> wrong[] = {
        {"[run]\nlease = 1\n", "line 2: there is no option run.lease"},
        {"\n[frob]\nttl = \"1s\"\n", "line 2: there is no command frob"},
        {"\n[frob]\n", "line 2: there is no command frob"},
        {"nonsense = 1\n", "line 1: there is no option nonsense that all commands have"},
        {"[run]\nttl = '9s'\n[default]\nttl = '9s'\n", "line 4: there is no option ttl that all"},
        {"[run]\nttl = '9s'\n[default]\ndrift = 7\n", "line 4: --drift: "},
        {"[inspect]\ninterval = \"10x\"\n", "line 2: --interval: '10x' is not a duration"},
        {"[inspect]\ninterval = \"10ms\"\n", "line 2: --interval: '10ms' is too short: 100ms"},
        // The error message never names the same option of another command, in any section.
        {"[acquire]\nttl = \"9s\"\n[run]\nttl = \"9x\"\n", "line 4: --ttl: '9x' is not a duration"},
        {"[acquire]\nttl = \"9x\"\n[run]\nttl = \"9s\"\n", "line 2: --ttl: '9x' is not a duration"},
        {"[acquire]\nttl = '9s'\n[run]\nttl = '9s'\n[extend]\nttl = '9x'\n",
         "line 6: --ttl: '9x' is no"},
        {"verbose = true\n[inspect]\nwatch = '2s'\n", "line 3: --watch: '2s' is neither"},
        {"[run]\nmax-hold = '1h'\n[bench]\nheld = 'x'\n", "line 4: --held: Value x not in range"},
        {"acquire.ttl = \"9s\"\nrun.ttl = \"9x\"\n", "line 2: --ttl: '9x' is not a duration"},
        {"[acquire]\nno-wait = true\n", "line 2: no-wait is only for the command line: write wait"},
        {"json = [true, true]\n", "line 1: json: too many inputs"},
        {"\ndrift = 'x'\n", "line 2: --drift: 'x' is not a number"},
        {"# all\ndrift = 7\n", "line 2: --drift: "},
        {"json = 'maybe'\n", "line 1: Could not convert: --json"},
        {"drift = 1\ndrift = 2\n", "line 2: drift is in a line above already"},
        {"[acquire]\nno-wait = true\n\nwait = '1s'\n", "line 4: acquire.wait, or acquire.no-wait,"},
        {"password = \"hidden\"\n", "line 1: there is no option password: write it to a file"},
        {"[run]\npassword = \"hidden\"\n", "line 2: there is no option password: write it"},
        {"password = hidden\n", "line 1: the value of password is not TOML"},
        {"user = \"hidden\n", "line 1: the value of user is not TOML"},
        {"password-file = \"/no/such\"\n",
         "line 1: --password-file: /no/such: No such file or directory"},
    };
    said out;
    for (const auto& [text, why] : wrong) {
        std::ofstream(file) << text;
        out = command({"--config", file, "--node", "redis://h", "inspect", "job"}).end();
        CAPTURE(text, out.text);
        CHECK(out.status == 64);
        CHECK(out.text.starts_with("redlock: " + file + ": " + why));
        CHECK_THAT(out.text, !ContainsSubstring("hidden"));
    }
    std::ofstream(file)
        << "key-prefix = ''\nnode = [  # two [of them]\n'redis://a',\n  'http://b'\n]\n";
    out = command({"--config", file, "inspect", "job"}).end();
    CHECK(out.text == "redlock: " + file +
                          ": line 2: node 2: scheme: must be redis:// or valkey://, with TLS "
                          "rediss:// or valkeys://, "
                          "or unix://\n");
    // An error in the arguments is not attributed to the section of the command,
    std::ofstream(file) << "[run]\nttl = \"9s\"\n[demo]\n";
    out = command({"--config", file, "--node", "redis://h", "run", "job"}).end();
    CHECK(out.text.starts_with("redlock: run: no command"));
    // an argument is not searched for in the file,
    std::ofstream(file) << "[acquire]\nttl = \"9s\"\n[run]\nttl = \"9s\"\n";
    out = command({"--config", file, "--node", "redis://h", "acquire", "--ttl", "9x", "job"}).end();
    CHECK(out.text.starts_with("redlock: acquire: --ttl: '9x' is not a duration"));
    // and an error in another command's section is found despite a similar argument.
    std::ofstream(file) << "[acquire]\nttl = \"9x\"\n[run]\nttl = \"9x\"\n";
    out = command({"--config", file, "acquire", "--ttl", "9s", "job"}, {"REDLOCK_NODES=redis://h"})
              .end();
    CHECK(out.text ==
          "redlock: " + file +
              ": line 4: --ttl: '9x' is not a duration: write it as 500ms, 30s, 5m or 2h\n");
    out = command({"--config", "/no/such", "--node", "redis://h", "inspect", "job"}).end();
    CHECK(out.text == "redlock: /no/such: No such file or directory\n");
    out = command({"--node", "redis://h", "inspect", "job"}, {"REDLOCK_CONFIG=/"}).end();
    CHECK(out.text == "redlock: /: is a folder, not a file of options\n");
    out = command({"--node", "redis://h", "--node", "redis://h:99999", "inspect", "job"}).end();
    CHECK(out.status == 64);
    CHECK(out.text == "redlock: node 2: port: must be a number from 1 to 65535\n");
    out = command({"--node", "redis://h", "--node", "redis://h:6379", "inspect", "job"}).end();
    CHECK(out.text == "redlock: node 2: is the same server as node 1\n");
    out = command({"--node", "rediss://h", "--key-file", "/no/such", "inspect", "job"}).end();
    CHECK(out.text == "redlock: --cert-file: is missing, and the private key needs it\n");
    out = command({"--node", "rediss://h", "--cert-file", "/no/such", "inspect", "job"}).end();
    CHECK(out.text == "redlock: --key-file: is missing, and the certificate needs it\n");
    out = command({"--node", "rediss://h", "--cert-file", "/no/such", "--key-file", "/no/such",
                   "inspect", "job"})
              .end();
    CHECK(out.text == "redlock: --cert-file: /no/such: No such file or directory\n");
    out = command({"--node", "rediss://h", "--ca-file", "/no/such", "inspect", "job"}).end();
    CHECK(out.text == "redlock: --ca-file: /no/such: No such file or directory\n");
    out = command({"--node", "redis://h", "acquire", "--ttl", "10ms", "--no-wait", "job"}).end();
    CHECK_THAT(out.text, ContainsSubstring("--ttl: 10ms is shorter than 4 node timeouts, 8s"));
    out = command({"--node", "redis://h", "doctor", "--resource", ""}).end();
    CHECK(out.status == 64);
    CHECK_THAT(out.text, ContainsSubstring("redlock: --resource: "));
}

TEST_CASE("a command warns of a TLS option that has no effect", "[locks]")
{
    const auto warned = [](const std::string& node, std::vector<std::string> option) {
        option.insert(option.end(), {"--node", node, "inspect", "job"});
        return command(option).end().text.find(" has no effect: ") != std::string::npos;
    };
    CHECK(warned("redis://127.0.0.1:1", {"--ca-file", "/etc/hosts"}));
    CHECK(warned("redis://127.0.0.1:1", {"--server-name", "h"}));
    CHECK(warned("redis://127.0.0.1:1", {"--insecure"}));
    CHECK_FALSE(warned("redis://127.0.0.1:1", {}));
    CHECK_FALSE(warned("rediss://127.0.0.1:1", {"--insecure"}));
}

TEST_CASE("a command without a usable node gives the reason first", "[locks]")
{
    const auto [status, text] = command({"--node", "redis://127.0.0.1:1", "--node",
                                         "redis://127.0.0.1:2", "acquire", "job", "--no-wait"})
                                    .end();
    CHECK(status == 69);
    CHECK(
        text.starts_with("redlock: job: No majority of the nodes can be used: Connection "
                         "refused (2 of 2); `redlock doctor` says what to do\n"));
}

TEST_CASE("a failure shows a shared reason once and different reasons beside their nodes",
          "[locks]")
{
    const masters nodes(3);
    const auto count = [](const std::string& text, const std::string& part) {
        std::size_t found = 0;
        for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) {
            ++found;
        }
        return found;
    };
    const std::string refusal = "the server refused the database 99";
    const std::string remedy = "; the database comes from the URL or from --db";
    SECTION("one reason for all nodes")
    {
        const auto [status, text] = run(nodes, {"--db", "99", "acquire", "job", "--no-wait"});
        INFO(text);
        CHECK(status == 69);
        CHECK_THAT(text, ContainsSubstring("redlock: job: No majority of the nodes can be used: " +
                                           refusal + " (3 of 3)" + remedy + '\n'));
        CHECK(count(text, remedy) == 1);
        CHECK(count(text, "disconnected\n") == 3);
    }
    SECTION("several reasons")
    {
        const auto [status, text] =
            command({"--node", nodes[0].url() + "/99", "--node", "redis://127.0.0.1:1", "--node",
                     nodes[2].url(), "acquire", "job", "--no-wait"})
                .end();
        INFO(text);
        CHECK(status == 69);
        CHECK_THAT(text,
                   ContainsSubstring("redlock: job: No majority of the nodes can be used; `redlock "
                                     "doctor` says what to do\n"));
        CHECK_THAT(text, ContainsSubstring("/99  disconnected: " + refusal + remedy + '\n'));
        CHECK_THAT(text, ContainsSubstring("disconnected: Connection refused\n"));
        CHECK(count(text, remedy) == 1);
    }
    SECTION("a node beyond the needed majority")
    {
        const auto [status, text] =
            command({"--node", nodes[0].url() + "/99", "--node", nodes[1].url(), "--node",
                     nodes[2].url(), "acquire", "job", "--quiet"})
                .end();
        INFO(text);
        CHECK(status == 0);
        CHECK_THAT(text, ContainsSubstring("redlock: error: " + nodes[0].url() +
                                           "/99 is out of use: " + refusal + "\n"));
    }
}

TEST_CASE("a default that another option rules out is called a default", "[locks]")
{
    // Without the file of options that the other tests have.
    const auto refusal = [](const char* option, const char* value) {
        return command({"acquire", "job", "--node", "redis://127.0.0.1:1", option, value},
                       {"REDLOCK_CONFIG=/dev/null"})
            .end()
            .text;
    };
    CHECK(refusal("--node-timeout", "20h") ==
          "redlock: --ttl: the default of 10s is shorter than 4 node timeouts, 80h\n");
    CHECK(refusal("--max-ttl", "9s") ==
          "redlock: --ttl: the default of 10s is longer than the restart guard allows, 9s\n");
    const auto given = command({"acquire", "job", "--node", "redis://127.0.0.1:1", "--ttl", "10s",
                                "--max-ttl", "9s"})
                           .end();
    CHECK(given.text == "redlock: --ttl: 10s is longer than the restart guard allows, 9s\n");
}

TEST_CASE("a file of options that is there and cannot be read ends the command", "[locks]")
{
    const masters nodes(1);
    const temp_dir folder;
    const auto file = folder / "redlock.toml";
    const auto with_file = [&] {
        std::filesystem::remove(folder / "said");
        process one("/usr/bin/env",
                    {"XDG_CONFIG_HOME=" + folder.path().string(), REDLOCK_COMMAND, "inspect", "job",
                     "--node", nodes[0].url(), "--node-timeout", "2s"},
                    {folder / "said", {}, {}});
        const int status = one.wait();
        return said{status, text_of(folder / "said")};
    };
    CHECK(with_file().status == 0);
    std::filesystem::create_directory(file);
    auto told = with_file();
    CHECK(told.status == 64);
    CHECK(told.text == "redlock: " + file.string() + ": is a folder, not a file of options\n");
    std::filesystem::remove(file);
    std::filesystem::create_symlink("not-there", file);
    told = with_file();
    CHECK(told.status == 64);
    CHECK(told.text == "redlock: " + file.string() + ": No such file or directory\n");
}

TEST_CASE("a command whose output cannot be written says so", "[locks]")
{
    const masters nodes(1);
    const temp_dir folder;
    const bool json = GENERATE(false, true);
    process full(
        "/usr/bin/env",
        {"bash", "-c",
         std::string("\"$REDLOCK\" inspect job ") + (json ? "--json" : "") + " >/dev/full"},
        {folder / "said",
         {},
         {own_options(folder), nodes_variable(nodes.urls()),
          std::string("REDLOCK=") + REDLOCK_COMMAND}});
    CHECK(full.wait() == 70);
    const auto text = text_of(folder / "said");
    CHECK(text.starts_with("{") == json);
    CHECK_THAT(text, ContainsSubstring("the output could not be written"));
}

TEST_CASE("a log line names the option in place of the field of the configuration", "[locks][tls]")
{
    const auto told = command({"acquire", "job", "--node", "rediss://127.0.0.1:1", "--no-wait",
                               "--insecure", "-v"})
                          .end();
    CHECK_THAT(told.text, ContainsSubstring("warning: --insecure is set: "));
    CHECK(told.text.find("config::") == told.text.npos);
}

TEST_CASE("an inspection whose state is unknown gives the reason in its JSON", "[locks]")
{
    masters nodes(3);
    nodes[0].kill();
    nodes[2].kill();
    const auto [status, text] = run(nodes, {"inspect", "job", "--json"});
    CHECK(status == 69);
    CHECK(nlohmann::json::parse(text).at("reason") ==
          "1 of 3 nodes can be used, which is not a majority");
}

TEST_CASE("an inspection says what helps a node that refuses the login", "[locks]")
{
    masters nodes(1);
    nodes[0].command({"CONFIG", "SET", "requirepass", "another"});
    const auto [status, text] = run(nodes, {"inspect", "job"});
    CHECK(status == 69);
    CHECK_THAT(text, ContainsSubstring("wants a login (NOAUTH); give a password with"));
}

TEST_CASE("an inspection that one dead node decides says that a majority can be used", "[locks]")
{
    masters nodes(3);
    nodes[0].command({"SET", "job", "of one client", "PX", "3600000"});
    nodes[2].kill();
    const auto [status, text] = run(nodes, {"inspect", "job"});
    CHECK(status == 69);
    CHECK_THAT(text, ContainsSubstring(
                         "job: unknown: 2 of 3 nodes can be used, and the answers of the others "
                         "would decide; `redlock doctor` says what to do\n"));
}

TEST_CASE("an option with an empty value does not lock another resource", "[locks]")
{
    const masters nodes(3);
    const std::string option = GENERATE("--label=", "--key-prefix=");
    const auto [status, text] =
        run(nodes, {"run", option, "a", "b", "--", "sh", "-c", "echo $REDLOCK_RESOURCE"});
    CHECK(status == 0);
    CHECK(text == "a b\n");
}

TEST_CASE("an inspection reports a key of another type at the label's key", "[locks]")
{
    const masters nodes(1);
    nodes[0].command({"SET", "job:redlock:holder", "theirs"});
    const auto [status, text] = run(nodes, {"inspect", "job"});
    CHECK(status == 0);
    CHECK_THAT(
        text,
        ContainsSubstring(
            "has no key: job:redlock:holder has something other than the label of a holder\n"));
}

TEST_CASE("a list of nodes with commas is refused", "[locks]")
{
    const auto [status, text] =
        command({"inspect", "job"}, {"REDLOCK_NODES=redis://a,redis://b"}).end();
    CHECK(status == 64);
    CHECK(text == "redlock: REDLOCK_NODES: ',' is between two nodes; write spaces instead\n");
    const temp_dir folder;
    const auto file = (folder / "redlock.toml").string();
    std::ofstream(file) << "\nnode = \"redis://a;redis://b\"\n";
    CHECK(command({"--config", file, "inspect", "job"}).end().text ==
          "redlock: " + file +
              ": line 2: --node: ';' is between two nodes; give each with a --node of its "
              "own\n");
}

TEST_CASE("a command ends once a majority has refused its login", "[locks]")
{
    const auto refuse = [](scripted_connection& c) -> boost::asio::awaitable<void> {
        co_await c.serve([](const arguments&) {
            return std::optional(wire::error("WRONGPASS invalid username-password pair"));
        });
    };
    scripted_server first(refuse);
    scripted_server second(refuse);
    scripted_server third(refuse);
    const auto [status, text] =
        command({"--node", first.url(), "--node", second.url(), "--node", third.url(),
                 "--connect-timeout", "1h", "acquire", "job", "--wait", "1h"})
            .end();
    CHECK(status == 69);
    CHECK_THAT(text, ContainsSubstring("the server refused user and password (WRONGPASS)"));
    CHECK_THAT(text, ContainsSubstring("; the login comes from the URL, --user"));
}

TEST_CASE("a command ends once a majority lacks its database", "[locks]")
{
    const masters nodes(3);
    const auto [status, text] =
        run(nodes, {"--db", "99", "--connect-timeout", "1h", "acquire", "job", "--wait", "1h"});
    CHECK(status == 69);
    CHECK_THAT(text, ContainsSubstring("the server refused the database 99"));
    CHECK_THAT(text, ContainsSubstring("; the database comes from the URL or from --db"));
}

TEST_CASE("a command waits for servers whose refusal is temporary", "[locks]")
{
    const std::string name = GENERATE("extend", "release", "inspect");
    CAPTURE(name);
    const auto load_first = [](scripted_connection& c) -> boost::asio::awaitable<void> {
        const bool loads = c.index() == 0;
        co_await c.serve([loads](const arguments& asked) {
            if (loads && asked.front() == "SCRIPT") {
                return std::optional(wire::error("LOADING the dataset in memory"));
            }
            if (asked.size() > 1 && asked[1] == redlock::resp::inspect_script.sha1) {
                return std::optional(wire::aggregate('*', {wire::null3(), wire::integer(-2)}));
            }
            return std::optional(obedient(asked));
        });
    };
    scripted_server first(load_first);
    scripted_server second(load_first);
    scripted_server third(load_first);
    const auto [status, text] = command({"--node", first.url(), "--node", second.url(), "--node",
                                         third.url(), "--connect-timeout", "1h", name, "job"},
                                        {"REDLOCK_OWNER_TOKEN=" + std::string(40, 'a')})
                                    .end();
    CAPTURE(text);
    CHECK(status == 0);
}

TEST_CASE("a command waits for a loading server for connect_timeout at most", "[locks]")
{
    scripted_server loads([](scripted_connection& c) -> boost::asio::awaitable<void> {
        co_await c.serve([](const arguments& asked) {
            return std::optional(asked.front() == "SCRIPT"
                                     ? wire::error("LOADING the dataset in memory")
                                     : obedient(asked));
        });
    });
    const auto one =
        command({"--node", loads.url(), "--connect-timeout", "300ms", "inspect", "job"}).end();
    CHECK(one.status == 69);
}

TEST_CASE("a command that does not wait ends once it cannot connect to a majority", "[locks]")
{
    const auto [status, text] = command({"--node", "redis://127.0.0.1:1", "acquire", "job",
                                         "--no-wait", "--connect-timeout", "1h"})
                                    .end();
    CHECK(status == 69);
    CHECK_THAT(text, ContainsSubstring("Connection refused (1 of 1)"));
}
