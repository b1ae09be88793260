#include "support/masters.hpp"
#include "support/process.hpp"
#include "support/temp_dir.hpp"

#include <catch2/catch_test_macros.hpp>

#include <fstream>
#include <iterator>
#include <string>

using namespace redlock::test;

TEST_CASE("the pieces of code that stand in the pages do what is said of them", "[examples]")
{
    const masters nodes(3);
    const temp_dir folder;
    process program(EXAMPLES "/pieces", nodes.urls(), {folder / "out", {}, {}});
    CHECK(program.wait() == 0);
    std::ifstream file(folder / "out");
    const std::string said{std::istreambuf_iterator<char>(file), {}};
    CAPTURE(said);
    for (const auto* line : {"kept alive: orders/42\n", "over: ", "both: account/7 account/9\n",
                             "given back, and still held\n", "somebody else works\n",
                             "mistake: ", "read: completed\n"}) {
        CHECK(said.find(line) != std::string::npos);
    }
}
