#include "support/masters.hpp"
#include "support/process.hpp"
#include "support/temp_dir.hpp"

#include <catch2/catch_test_macros.hpp>

#include <fstream>
#include <iterator>
#include <string>

using namespace redlock::test;

TEST_CASE("the program of the README works under its lock and releases it", "[examples]")
{
    const masters nodes(3);
    const temp_dir folder;
    process program(EXAMPLES "/readme", nodes.urls(), {folder / "out", {}, {}});
    REQUIRE(program.wait() == 0);
    std::ifstream file(folder / "out");
    const std::string said{std::istreambuf_iterator<char>(file), {}};
    CHECK(said.starts_with("working under token "));
    CHECK(nodes.count("invoices") == 0);
}
