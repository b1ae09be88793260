#include "support/masters.hpp"
#include "support/process.hpp"
#include "support/temp_dir.hpp"

#include <catch2/catch_test_macros.hpp>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

using namespace redlock::test;

namespace {

/// What the program says.
std::string run(const std::vector<std::string>& nodes)
{
    const temp_dir folder;
    process program(EXAMPLES "/first_lock", nodes, {folder / "out", {}, {}});
    REQUIRE(program.wait() == 0);
    std::ifstream file(folder / "out");
    return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("the first example takes a lock and gives it back", "[examples]")
{
    masters nodes(3);
    CHECK(run(nodes.urls()).starts_with("orders/42 is ours for "));
    CHECK(nodes.count("orders/42") == 0);
}

TEST_CASE("the first example without nodes says how it is used", "[examples]")
{
    const temp_dir folder;
    process program(EXAMPLES "/first_lock", {}, {folder / "out", {}, {}});
    CHECK(program.wait() == 2);
    std::ifstream file(folder / "out");
    std::string line;
    std::getline(file, line);
    CHECK(line.starts_with("usage: first_lock redis://"));
}

TEST_CASE("the first example names the nodes that it could not reach", "[examples]")
{
    masters nodes(3);
    nodes[0].kill();
    nodes[2].kill();
    const auto said = run(nodes.urls());
    CAPTURE(said);
    CHECK(said.starts_with("no lock: "));
    CHECK(said.find(nodes[0].url() + "/0: disconnected") != std::string::npos);
    CHECK(said.find(nodes[2].url() + "/0: disconnected") != std::string::npos);
}
