#include "cli/command.hpp"
#include "cli/page.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <regex>
#include <sstream>
#include <string>
#include <vector>

using namespace redlock::test;
using Catch::Matchers::StartsWith;

namespace {

/// The first match of the group in `pattern` on the page.
std::string on_page(const std::string& pattern)
{
    std::smatch found;
    const std::string text = text_of_page("operate/stuck_lock.md");
    REQUIRE(std::regex_search(text, found, std::regex(pattern)));
    return found[1];
}

long long token_in(const std::string& text)
{
    return std::stoll(text.substr(text.find("token=") + 6));
}

}  // namespace

TEST_CASE("a lock whose keys are deleted as the page says goes to the next holder", "[run]")
{
    std::vector<std::string> deletion{"DEL"};
    std::istringstream keys(on_page("redis-cli -h \\$node del ([^;]*); done"));
    for (std::string key; keys >> key;) {
        deletion.push_back(key);
    }
    REQUIRE(deletion.size() == 3);
    const std::string resource = deletion[1];
    const int lost = std::stoi(on_page("live `redlock run [^`]*`[^:]* ended with (\\d+):"));

    const masters nodes(3);
    command first(nodes, {"run", brief_option, resource, "--", "sh", "-c",
                          "echo token=$REDLOCK_FENCING_TOKEN.; exec sleep 1000"});
    REQUIRE(first.says("."));
    for (std::size_t i = 1; i < deletion.size(); ++i) {
        REQUIRE(wait_for([&] { return nodes.count(deletion[i]) >= 2; }));
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        nodes[i].command(deletion);
    }
    CHECK_THAT(run(nodes, {"inspect", resource}).text, StartsWith(resource + ": free"));
    const auto next =
        run(nodes, {"run", resource, "--", "sh", "-c", "echo token=$REDLOCK_FENCING_TOKEN"});
    CHECK(next.status == 0);
    CHECK(token_in(next.text) > token_in(first.text()));
    CHECK(first.end().status == lost);
}
