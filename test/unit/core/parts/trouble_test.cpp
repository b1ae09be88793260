#include "core/node/trouble.hpp"

#include "context.hpp"

#include <catch2/catch_test_macros.hpp>

#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;

namespace {

struct trouble_of_a_node {
    part_context context;
    const std::string name = context.settings.nodes[0].display;
    core::trouble trouble{context.shared, context.settings.nodes[0]};
};

using lines = std::vector<std::string>;

}  // namespace

TEST_CASE_METHOD(trouble_of_a_node, "the log has each reason once, and its end once",
                 "[core][trouble]")
{
    CHECK(trouble.text() == "no connection yet");
    trouble.on_ready();
    CHECK(context.log.empty());
    for (int i = 0; i < 2; ++i) {
        trouble.on_ended("reset", log_level::warning);
        trouble.on_connected();
        CHECK(trouble.text() == "reset");
    }
    CHECK(context.log == lines{name + " is out of use: reset"});
    trouble.on_ended("refused", log_level::warning);
    trouble.on_ready();
    trouble.on_ready();
    CHECK(trouble.text().empty());
    CHECK(context.log == lines{name + " is out of use: reset", name + " is out of use: refused",
                               name + " is usable again"});
}

TEST_CASE_METHOD(trouble_of_a_node, "an unfit node is usable again when it grants",
                 "[core][trouble]")
{
    constexpr const char* unfit = "a replica";
    for (int i = 0; i < 2; ++i) {
        trouble.on_ended(unfit, log_level::warning);
        trouble.on_unfit(unfit);
        trouble.on_ready();
        CHECK(trouble.is_unfit());
    }
    CHECK(context.log == lines{name + " is out of use: a replica"});
    trouble.on_granted();
    CHECK_FALSE(trouble.is_unfit());
    CHECK(context.log.size() == 2);
    CHECK(context.log.back() == name + " is usable again");
}

TEST_CASE_METHOD(trouble_of_a_node, "a client that has stopped logs no trouble", "[core][trouble]")
{
    context.shared.stopped = true;
    trouble.on_ended("reset", log_level::warning);
    trouble.on_ready();
    CHECK(context.log.empty());
}
