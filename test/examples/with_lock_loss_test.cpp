#include "examples/program.hpp"
#include "support/masters.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace redlock::test;

TEST_CASE("the example of a loss goes on where it was", "[examples]")
{
    const masters nodes(3);
    program example("with_lock_loss", nodes.urls());
    REQUIRE(example.says("step 2\n"));
    nodes[0].command({"DEL", "orders/42"});
    nodes[1].command({"DEL", "orders/42"});
    REQUIRE(example.process().wait() == 0);
    const auto said = example.said();
    CAPTURE(said);
    CHECK(said.find("lost after step ") != std::string::npos);
    CHECK(said.find("step 1\n") == said.rfind("step 1\n"));
    CHECK(said.ends_with("step 10\ndone\n"));
    CHECK(nodes.count("orders/42") == 0);
}

TEST_CASE("the example of a loss ends when another holder has the lock", "[examples]")
{
    const masters nodes(3);
    program example("with_lock_loss", nodes.urls());
    REQUIRE(example.says("step 1\n"));
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        nodes[i].command({"SET", "orders/42", "somebody", "PX", "600000"});
    }
    REQUIRE(example.process().wait() == 0);
    const auto said = example.said();
    CAPTURE(said);
    CHECK(said.find("lost after step ") != std::string::npos);
    CHECK(said.ends_with("not acquired: The timeout passed before the lock was acquired\n"));
    CHECK(nodes.count("orders/42") == 3);
}
