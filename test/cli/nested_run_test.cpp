#include "cli/command.hpp"
#include "support/run.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

using namespace redlock::test;
using Catch::Matchers::ContainsSubstring;

namespace {

/// Runs a script under a lock. In the script `$me` is the redlock command, by the name of its
/// parent.
said inside(const masters& nodes, std::vector<std::string> outer, const std::string& script)
{
    outer.insert(outer.begin(), "run");
    outer.insert(outer.end(), {"--", "sh", "-c", "export me=/proc/$PPID/exe; " + script});
    return run(nodes, outer);
}

/// A line for such a script. It changes the data that the outer run passed to the command.
std::string held_by_sed(const std::string& expression)
{
    return "export REDLOCK_HELD=$(echo \"$REDLOCK_HELD\" | sed '" + expression + "'); ";
}

/// A run whose command starts a nested run on request and prints its status.
struct later_nested_run {
    /// `end`: text after the command, which is a subshell.
    later_nested_run(const masters& nodes, std::vector<std::string> outer, const std::string& end)
        : outer_run(nodes, with_command(std::move(outer), end))
    {}

    /// A command that makes the nested run find no lock.
    void begin_in_vain()
    {
        std::ofstream(folder / "go") << "go";
        CHECK(outer_run.says("status=76"));
    }

    [[nodiscard]] std::vector<std::string> with_command(std::vector<std::string> outer,
                                                        const std::string& end) const
    {
        outer.insert(outer.begin(), "run");
        outer.insert(outer.end(),
                     {"--", "sh", "-c",
                      "me=/proc/$PPID/exe; (echo begun; until [ -e \"$0\" ]; do sleep 0.05; done; "
                      "$me run job --nested -- echo inside; echo status=$?)" +
                          end,
                      (folder / "go").string()});
        return outer;
    }

    temp_dir folder;
    command outer_run;
};

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
              "redlock: a, b: the enclosing locks have different fencing tokens: acquire them "
              "together in one run, or give this run --no-fencing\n");
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

TEST_CASE("a nested run learns the validity of the enclosing lock after its renewals", "[run]")
{
    const masters nodes(3);
    // Each renewal adds two seconds or more.
    const auto [status, text] =
        inside(nodes, {brief_option, "job"},
               "first=${REDLOCK_VALID_UNTIL%.*}; now=$first; until [ $now -gt $((first + 1)) ]; do "
               "now=$($me run job --nested -- sh -c 'echo ${REDLOCK_VALID_UNTIL%.*}'); done; "
               "echo renewed");
    CHECK(status == 0);
    CHECK(text == "renewed\n");
}

TEST_CASE("a nested run starts no command when the outer run could not renew the lock", "[run]")
{
    const masters nodes(3);
    later_nested_run nested(nodes, {brief_option, "job"}, "");
    command& outer = nested.outer_run;
    REQUIRE(outer.says("begun"));
    REQUIRE(::kill(outer.running().pid(), SIGSTOP) == 0);
    REQUIRE(wait_for([&] { return nodes.count("job") == 0; }));
    nested.begin_in_vain();
    REQUIRE(::kill(outer.running().pid(), SIGCONT) == 0);
    const auto [status, text] = outer.end();
    CHECK(status == 76);
    CHECK(text.find("inside") == text.npos);
}

TEST_CASE("a nested run in the background starts no command after the outer command has ended",
          "[run]")
{
    const masters nodes(3);
    later_nested_run nested(nodes, {"--min-hold", "1h", "job"}, " &");
    command& outer = nested.outer_run;
    REQUIRE(outer.says("(--min-hold)"));
    nested.begin_in_vain();
    REQUIRE(::kill(outer.running().pid(), SIGTERM) == 0);
    const auto [status, text] = outer.end();
    CHECK(status == 0);
    CHECK(text.find("inside") == text.npos);
}

TEST_CASE("a nested run in the background takes the lock itself after the outer run has ended",
          "[run]")
{
    const masters nodes(3);
    const temp_dir folder;
    const auto out = (folder / "out").string();
    const auto copy = (folder / "redlock").string();
    CHECK(inside(nodes, {"job"},
                 "cp $me " + copy + "; (while [ -e /proc/$PPID ]; do sleep 0.05; done; " + copy +
                     " run job --nested --no-fencing -- sh -c "
                     "'echo $REDLOCK_HELD >" +
                     out + ".new; mv " + out + ".new " + out + "') >/dev/null 2>&1 &")
              .status == 0);
    REQUIRE(wait_for([&] { return std::filesystem::exists(out); }));
    // The nested run's own lock has no token: "HOLDER VALIDITY 0 ...".
    CHECK_THAT(text_of(out), ContainsSubstring(" 0 "));
}

TEST_CASE("a nested run under the locks of two runs runs under both", "[run]")
{
    const masters nodes(3);
    const auto [status, text] =
        inside(nodes, {"a lock"},
               "$me run 'other  lock' -- $me run 'a lock' 'other  lock' --nested --no-fencing -- "
               "sh -c 'echo \"$REDLOCK_RESOURCE ${REDLOCK_FENCING_TOKEN-none}\"'");
    CHECK(status == 0);
    CHECK(text == "a lock\nother  lock none\n");
    CHECK(nodes.count("a lock") == 0);
    CHECK(nodes.count("other  lock") == 0);
}

TEST_CASE("a nested run distinguishes lock names with spaces", "[run]")
{
    const masters nodes(3);
    const auto [status, text] = inside(nodes, {"a lock"},
                                       "$me run 'a lock' --nested -- echo same; "
                                       "$me run 'a  lock' --no-wait -- echo another");
    CHECK(status == 0);
    CHECK(text == "same\nanother\n");
}

TEST_CASE("a malformed line of REDLOCK_HELD counts as no lock", "[run]")
{
    const masters nodes(3);
    for (const char* mutation : {"s/ .*//", "s/ [0-9]* / x /", "s/ [0-9]* / 99999999999999999999 /",
                                 "s/^/-/", "s/ /:/g"}) {
        CAPTURE(mutation);
        const auto [status, text] =
            inside(nodes, {"job"},
                   held_by_sed(mutation) + "$me run job --nested --no-wait -- echo inside");
        CHECK(status == 75);
        CHECK(text.find("inside") == text.npos);
    }
}

TEST_CASE("a run whose outer run does not answer neither runs nested nor waits for itself", "[run]")
{
    const masters nodes(3);
    // First a descriptor that isn't the holder's, then none.
    for (const char* descriptor : {"0", "12345"}) {
        CAPTURE(descriptor);
        const std::string change = held_by_sed(std::string("s/ [0-9]* / ") + descriptor + " /");
        const auto [status, text] =
            inside(nodes, {"job"}, change + "$me run job --nested -- echo inside");
        CHECK(status == 76);
        CHECK(text.find("inside") == text.npos);
        // Without --nested the run would wait for itself.
        CHECK(inside(nodes, {"job"}, change + "$me run job -- echo inside").status == 64);
    }
}
