#include "examples/http.hpp"
#include "examples/program.hpp"
#include "support/masters.hpp"
#include "support/port.hpp"

#include <catch2/catch_test_macros.hpp>

#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>

using namespace redlock::test;

namespace {

/// The values by their names. Each name must have a HELP and a TYPE line before it.
std::map<std::string, std::string> values(const std::string& text)
{
    std::map<std::string, std::string> result;
    std::istringstream lines(text);
    const std::regex help("# HELP (\\w+) [^\\\\]+");
    const std::regex type("# TYPE (\\w+) (counter|gauge)");
    const std::regex value("(\\w+) (\\d+)");
    for (std::string line; std::getline(lines, line);) {
        CAPTURE(line);
        std::smatch of_help;
        std::smatch of_type;
        std::smatch of_value;
        const std::string first = line;
        REQUIRE(std::regex_match(first, of_help, help));
        REQUIRE(std::getline(lines, line));
        const std::string second = line;
        REQUIRE(std::regex_match(second, of_type, type));
        REQUIRE(std::getline(lines, line));
        REQUIRE(std::regex_match(line, of_value, value));
        CHECK(of_help[1] == of_value[1]);
        CHECK(of_type[1] == of_value[1]);
        CHECK(of_value[1].str().ends_with("_total") == (of_type[2] == "counter"));
        CHECK(result.emplace(of_value[1], of_value[2]).second);
    }
    return result;
}

/// The names that the header requires.
std::map<std::string, std::string> fields()
{
    std::map<std::string, std::string> result;
    std::ifstream header(STATS_HEADER);
    const std::regex field(" +std::(uint64_t|size_t) (\\w+) =.*");
    for (std::string line; std::getline(header, line);) {
        std::smatch found;
        if (std::regex_match(line, found, field)) {
            result["redlock_" + found[2].str() + (found[1] == "uint64_t" ? "_total" : "")];
        }
    }
    return result;
}

}  // namespace

TEST_CASE("the example for Prometheus exports each field of the statistics", "[examples]")
{
    const masters nodes(3);
    const reserved_port port;
    program example("prometheus", with({std::to_string(port.number())}, nodes.urls()));
    std::map<std::string, std::string> told;
    // Some locks were acquired by then, and the third node may have connected after the first of
    // them.
    REQUIRE(wait_for([&] {
        const auto answer = http_request(port.number(), "GET", "/metrics").answer();
        REQUIRE(answer.starts_with("HTTP/1.1 200 "));
        REQUIRE(answer.find("Content-Type: text/plain; version=0.0.4") != std::string::npos);
        told = values(answer.substr(answer.find("\r\n\r\n") + 4));
        return told.at("redlock_acquired_total") != "0" && told.at("redlock_nodes_ready") == "3";
    }));
    const auto wanted = fields();
    CHECK(wanted.size() == told.size());
    for (const auto& [name, nothing] : wanted) {
        CAPTURE(name);
        CHECK(told.contains(name));
    }
    CHECK(http_request(port.number(), "GET", "/").answer().starts_with("HTTP/1.1 404 "));
    example.process().terminate();
    CHECK(example.process().wait() == 0);
}
