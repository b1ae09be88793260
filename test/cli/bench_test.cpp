#include "cli/command.hpp"
#include "cli/terminal.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <nlohmann/json.hpp>

#include <fstream>
#include <string>
#include <utility>
#include <vector>

using namespace redlock::test;
using Catch::Matchers::ContainsSubstring;

namespace {

/// Appends the arguments of a short benchmark to those with the nodes.
std::vector<std::string> short_bench(std::vector<std::string> words)
{
    for (const char* word : {"bench", "--seconds", "0.2", "--warmup", "0.1", "--workers", "2"}) {
        words.emplace_back(word);
    }
    return words;
}

}  // namespace

TEST_CASE("a benchmark runs on the named nodes whichever way the user names them", "[bench]")
{
    server_options locked;
    locked.password = "open sesame";
    const masters nodes(3, locked);
    const std::string password = "REDLOCK_PASSWORD=open sesame";
    std::vector<std::string> named{"--json"};
    for (const auto& url : nodes.urls()) {
        named.insert(named.end(), {"--node", url});
    }
    // A busy machine may have no time for a cycle in 0.2 s.
    said in_front;
    REQUIRE(wait_for([&] {
        in_front = command(short_bench(named), {password}).end();
        CAPTURE(in_front.text);
        REQUIRE(in_front.status == 0);
        return in_front.text.find("\"cycles\": 0,") == std::string::npos;
    }));
    CAPTURE(in_front.text);
    // The line that names the loaded nodes comes first, on stderr. The result follows.
    const auto first_line = in_front.text.substr(0, in_front.text.find('\n'));
    const auto load = nlohmann::json::parse(first_line).at("message").get<std::string>();
    CHECK(load.starts_with("bench: loads " + nodes[0].url() + "/0, " + nodes[1].url() + "/0, "));
    CHECK_THAT(load, ContainsSubstring(nodes[2].url() + "/0 with 2 workers for 0.3 s; writes"));
    CHECK_THAT(load,
               ContainsSubstring("keys that begin with bench:, and leaves its fencing counters"));
    CHECK_THAT(in_front.text, !ContainsSubstring("sesame"));
    const auto told = nlohmann::json::parse(in_front.text.substr(first_line.size()));
    CHECK(told.at("nodes") == 3);
    CHECK(told.at("workers") == 2);
    CHECK(told.at("cycles").get<int>() > 0);

    auto behind = short_bench({});
    behind.insert(behind.end(), named.begin(), named.end());
    behind.insert(behind.end(),
                  {"--names", "mine", "--key-prefix", "app:", "--no-fencing", "--no-fair-queue"});
    const auto named_behind = command(behind, {password}).end().text;
    CHECK_THAT(named_behind, ContainsSubstring("writes keys that begin with app:mine\"}"));
    CHECK_THAT(named_behind, ContainsSubstring("\"nodes\": 3"));

    const auto by_environment = run(nodes, short_bench({"--json"}), {password});
    CHECK(by_environment.status == 0);
    CHECK(by_environment.text.starts_with(R"({"message":"bench: loads )"));
    const auto as_text = run(nodes, short_bench({}), {password}).text;
    CHECK(as_text.starts_with("redlock: bench: loads " + nodes[0].url() + "/0, "));
    CHECK_THAT(as_text, ContainsSubstring("/0 (from REDLOCK_NODES or a file; --local starts"));
    CHECK_THAT(by_environment.text, ContainsSubstring("\"nodes\": 3"));

    const temp_dir folder;
    const auto file = (folder / "redlock.toml").string();
    std::ofstream(file) << "node = [\"" << nodes.urls()[0] << "\"]\n";
    CHECK_THAT(command(short_bench({"--config", file, "--json"}), {password}).end().text,
               ContainsSubstring("\"nodes\": 1"));

    // With --local the benchmark starts nodes of its own and ignores the nodes of the environment.
    auto own = short_bench({});
    own.insert(own.end(),
               {"--local", "2", "--json", "--hold", "0", "--ttl", "0.5m", "--timeout", "1d"});
    CHECK(nlohmann::json::parse(run(nodes, own).text).at("nodes") == 2);
}

TEST_CASE("a benchmark or a demo refuses options that it cannot use", "[bench]")
{
    const std::string node = "--node=redis://127.0.0.1:1";
    const std::pair<std::vector<std::string>, std::string> wrong[] = {
        {{node, "bench", "--local", "3"}, "bench: --local"},
        {{node, "bench", "--stop-node", "1"}, "bench: --local"},
        {{"bench", "--server-pids", "1"}, "bench: --server-pids"},
        {{node, "demo"}, "demo: it starts nodes of its own"},
        {{"demo", node}, "--node"},
        {{"--json", "demo"}, "has no --json"},
        {{"bench", "--hold", "2"}, "'2' has no unit"},
        {{"bench", "--ttl", "1x"}, "'1x' is not a duration"},
        {{"bench", "--timeout", "2d"}, "--timeout: must be from 0ms to 86400000ms"},
    };
    for (const auto& [arguments, text] : wrong) {
        const auto out = command(arguments).end();
        CAPTURE(arguments, out.text);
        CHECK(out.status == 64);
        CHECK_THAT(out.text, ContainsSubstring(text));
    }
    const auto nobody = command(short_bench({node})).end();
    CHECK(nobody.status == 69);
    CHECK_THAT(nobody.text, ContainsSubstring("only 0 of 1 nodes can be reached"));
}

TEST_CASE("a benchmark shows its progress at a terminal and nowhere else", "[bench]")
{
    const masters nodes(3);
    const std::string live = "3 of 3 nodes";
    // The line is written every 200 ms. On a busy machine a benchmark of a second may end without
    // one, or before the last node is ready. Then there is another one.
    CHECK(wait_for([&] {
        terminal screen(nodes,
                        R"sh("$0" bench --seconds 1 --warmup 0.1 --workers 2; echo "status=$?")sh");
        CHECK(screen.shows("status=0"));
        CHECK(screen.screen().find("cycles/s") != std::string::npos);
        return screen.screen().find(live) != std::string::npos &&
               screen.screen().find("\r\x1b[K") != std::string::npos;
    }));
    CHECK(run(nodes, short_bench({})).text.find(live) == std::string::npos);

    CHECK(wait_for([&] {
        terminal narrow(nodes, R"sh(stty cols 40
            "$0" bench --seconds 1 --warmup 0.1 --workers 2 >/dev/null; echo "status=$?")sh");
        CHECK(narrow.shows("status=0"));
        CHECK(narrow.screen().find(live) == std::string::npos);
        return narrow.screen().find(" acquires/s") != std::string::npos;
    }));
}
