#include "cli/command.hpp"
#include "support/run.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <string>
#include <vector>

using namespace redlock::test;
using Catch::Matchers::ContainsSubstring;

namespace {

/// Runs a script under a lock; in it `$me` is the redlock command, by the name of its parent.
said inside(const masters& nodes, std::vector<std::string> outer, const std::string& script)
{
    outer.insert(outer.begin(), "run");
    outer.insert(outer.end(), {"--", "sh", "-c", "export me=/proc/$PPID/exe; " + script});
    return run(nodes, outer);
}

}  // namespace

TEST_CASE("a nested run that wants a fencing token refuses a lock without one", "[run]")
{
    const masters nodes(3);
    SECTION("the outer run took its lock without a token")
    {
        const auto [status, text] =
            inside(nodes, {"job", "--no-fencing"}, "$me run job --nested -- echo inside");
        CHECK(status == 64);
        CHECK(text ==
              "redlock: job: the enclosing lock has no fencing token: the outer run needs "
              "--fencing, or this one --no-fencing\n");
    }
    SECTION("the locks of two outer runs have different tokens")
    {
        const auto [status, text] =
            inside(nodes, {"a"}, "$me run b -- $me run a b --nested -- echo inside");
        CHECK(status == 64);
        CHECK(text ==
              "redlock: a, b: the enclosing locks have different fencing tokens: take them "
              "together in one run, or give this one --no-fencing\n");
    }
}

TEST_CASE("a nested run without fencing runs under a lock without a token", "[run]")
{
    const masters nodes(3);
    const auto [status, text] =
        inside(nodes, {"job", "--no-fencing"},
               "$me run job --nested --no-fencing -- sh -c 'echo ${REDLOCK_FENCING_TOKEN-none}'");
    CHECK(status == 0);
    CHECK(text == "none\n");
}
