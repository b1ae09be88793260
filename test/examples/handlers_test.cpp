#include "examples/program.hpp"
#include "support/masters.hpp"

#include <catch2/catch_test_macros.hpp>

#include <string>

using namespace redlock::test;

TEST_CASE("the example of completion handlers takes and extends and releases a lock", "[examples]")
{
    const masters nodes(3);
    // If the release is late, the program doesn't report it.
    ended_program example;
    CHECK(wait_for([&] {
        example = run_in_time("handlers", nodes.urls(),
                              {no_majority, timeout_passed, granted_too_late, "The lock is lost"});
        return example.said != "ours\nextended\ndone\n";
    }));
    CHECK(example.status == 0);
    CHECK(example.said == "ours\nextended\ndone\nreleased\n");
    CHECK(nodes.count("orders/42") == 0);
}

TEST_CASE("the example of completion handlers can be cancelled while it waits", "[examples]")
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
