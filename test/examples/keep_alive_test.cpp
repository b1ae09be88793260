#include "support/masters.hpp"
#include "support/process.hpp"
#include "support/temp_dir.hpp"

#include <catch2/catch_test_macros.hpp>

#include <fstream>
#include <iterator>
#include <string>

using namespace redlock::test;

TEST_CASE("the example of keeping a lock alive works for longer than its ttl", "[examples]")
{
    const masters nodes(3);
    const temp_dir folder;
    process program(EXAMPLES "/keep_alive", nodes.urls(), {folder / "out", {}, {}});
    REQUIRE(program.wait() == 0);
    std::ifstream file(folder / "out");
    const std::string said{std::istreambuf_iterator<char>(file), {}};
    CAPTURE(said);
    CHECK(said.find("done after 5 steps\n") != std::string::npos);
    CHECK(said.find("orders/42: renewed\n") != std::string::npos);
    CHECK(nodes.count("orders/42") == 0);
}
