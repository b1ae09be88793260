#include "examples/program.hpp"
#include "support/masters.hpp"

#include <catch2/catch_test_macros.hpp>

#include <string>

using namespace redlock::test;

TEST_CASE("the example of completion handlers takes, extends and gives back", "[examples]")
{
    const masters nodes(3);
    program example("handlers", nodes.urls());
    CHECK(example.process().wait() == 0);
    CHECK(example.said() == "ours\nextended\ndone\nreleased\n");
    CHECK(nodes.count("orders/42") == 0);
}

TEST_CASE("the example of completion handlers is cancelled while it waits", "[examples]")
{
    const masters nodes(3);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        nodes[i].command({"SET", "orders/42", "somebody", "PX", "600000"});
    }
    program example("handlers", nodes.urls());
    REQUIRE(wait_for([&] {  // until it has asked for the lock
        return nodes[0].command({"INFO", "commandstats"}).find("cmdstat_evalsha:") !=
               std::string::npos;
    }));
    example.process().terminate();
    CHECK(example.said() == "cancelled\n");
    CHECK(nodes.count("orders/42") >= 2);
}
