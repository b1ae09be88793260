#include "examples/program.hpp"
#include "support/masters.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace redlock::test;

namespace {

bool has_ended(program& example)
{
    return !example.process().running();
}

}  // namespace

TEST_CASE("the example of a loss resumes at the step where it was", "[examples]")
{
    const masters nodes(3);
    std::string said;
    CHECK(wait_for([&] {
        program example("with_lock_loss", nodes.urls());
        REQUIRE(wait_for([&] { return example.has_said("step 2\n") || has_ended(example); }));
        nodes[0].command({"DEL", "orders/42"});
        nodes[1].command({"DEL", "orders/42"});
        REQUIRE(example.process().wait() == 0);
        said = example.said();
        // The program waits for a lock for three seconds. On a busy machine it may get none in that
        // time.
        return said.find("not acquired: ") == std::string::npos;
    }));
    CAPTURE(said);
    CHECK(said.find("lost after step ") != std::string::npos);
    CHECK(said.find("step 1\n") == said.rfind("step 1\n"));
    CHECK(said.ends_with("step 10\ndone\n"));
    CHECK(nodes.count("orders/42") == 0);
}

TEST_CASE("the example of a loss ends when another holder has the lock", "[examples]")
{
    const masters nodes(3);
    std::string said;
    CHECK(wait_for([&] {
        nodes.flush();
        program example("with_lock_loss", nodes.urls());
        REQUIRE(wait_for([&] { return example.has_said("step 1\n") || has_ended(example); }));
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            nodes[i].command({"SET", "orders/42", "somebody", "PX", "600000"});
        }
        REQUIRE(example.process().wait() == 0);
        said = example.said();
        // A program that got no lock within three seconds shows nothing.
        return said.find("step 1\n") != std::string::npos;
    }));
    CAPTURE(said);
    CHECK(said.find("lost after step ") != std::string::npos);
    CHECK(said.ends_with("not acquired: The timeout passed before the lock was acquired\n"));
    CHECK(nodes.count("orders/42") == 3);
}
