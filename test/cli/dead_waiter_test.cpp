#include "cli/command.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <cstddef>
#include <iostream>
#include <string>

using namespace redlock::test;
using namespace std::chrono_literals;

namespace {

const std::string queue_key = "job:redlock:queue";

/// Waits until the queue of a node has so many tickets. Returns the node.
const server& queue_node(const masters& nodes, int tickets)
{
    std::size_t found = 0;
    REQUIRE(wait_for([&] {
        found = (found + 1) % nodes.size();
        return nodes[found].ask({"ZCARD", queue_key}).integer == tickets;
    }));
    return nodes[found];
}

}  // namespace

TEST_CASE("a waiter passes a killed one whose ticket key still lives", "[run]")
{
    const masters nodes(3);
    command holder(nodes, {"run", "--ttl=1h", "job", "--", "sh", "-c", "echo held; exec sleep 1h"});
    REQUIRE(holder.says("held"));
    command first(nodes, {"run", "job", "--", "true"});
    (void)queue_node(nodes, 1);
    command second(nodes, {"run", "job", "--", "echo", "passed"});
    const server& node = queue_node(nodes, 2);
    const std::string first_key =
        "job:" + node.ask({"ZRANGE", queue_key, "0", "0"}).items.at(0).text + ":redlock:ticket";
    first.running().kill();
    REQUIRE(node.pttl(first_key) > 20s);

    const auto released = std::chrono::steady_clock::now();
    holder.running().terminate();
    REQUIRE(second.says("passed"));
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::steady_clock::now() - released);
    std::cout << "passed a killed waiter within " << took.count() << " ms\n";
    // Two polls take at most 750 ms. A process on a busy machine may pause for seconds, and the
    // ticket key would live for twice as long.
    CHECK(took < 10s);
    CHECK(second.end().status == 0);
    CHECK_FALSE(node.exists(first_key));
}
