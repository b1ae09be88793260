#include "cli/terminal.hpp"
#include "support/run.hpp"

#include <catch2/catch_test_macros.hpp>

#include <string>

using namespace redlock::test;

namespace {

std::size_t count(const std::string& text, const std::string& what)
{
    std::size_t found = 0;
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
        ++found;
    }
    return found;
}

}  // namespace

TEST_CASE("at a terminal the command reads what is typed, and has a Ctrl-C once", "[run]")
{
    const masters nodes(3);
    terminal screen(nodes, R"sh("$0" run job -- bash -c '
        trap "echo inter""rupted; ((++n))" INT; echo begun; read line; echo "read $line"
        until ((n)); do sleep 0.05; done; sleep 0.3; exit 9'; echo "status=$?")sh");
    REQUIRE(screen.shows("begun"));
    screen.type("hello\n");
    REQUIRE(screen.shows("read hello"));
    screen.type("\x03");
    CHECK(screen.shows("status=9"));
    CHECK(count(screen.screen(), "interrupted") == 1);
    CHECK(nodes.count("job") == 0);
    CHECK(screen.end() == 0);
}

TEST_CASE("a Ctrl-C ends a command that does not care, and a wait", "[run]")
{
    const masters nodes(3);
    terminal screen(nodes,
                    R"sh("$0" run job -- sh -c 'echo begun; exec sleep 30'; echo "status=$?")sh");
    REQUIRE(screen.shows("begun"));
    terminal waiting(nodes, R"sh("$0" -v run job -- true; echo "status=$?")sh");
    REQUIRE(waiting.shows(": usable"));
    waiting.type("\x03");
    CHECK(waiting.shows("status=130"));
    screen.type("\x03");
    CHECK(screen.shows("status=130"));
    CHECK(nodes.count("job") == 0);
}

TEST_CASE("a Ctrl-Z stops both, and behind the validity the lock is lost", "[run]")
{
    const masters nodes(3);
    // A shell that begins one program after the other might not be there to be stopped.
    terminal screen(nodes, R"sh("$0" run --ttl 1s job -- sh -c 'echo begun; exec sleep 30'
        echo "status=$?"; read go; fg; echo "end=$?")sh");
    REQUIRE(screen.shows("begun"));
    screen.type("\x1a");
    REQUIRE(screen.shows("status=148"));
    SECTION("in time it goes on")
    {
        screen.type("\n");
        REQUIRE(screen.lets_a_job_read());
        screen.type("\x03");
        CHECK(screen.shows("end=130"));
    }
    SECTION("too late it is told to end")
    {
        REQUIRE(wait_for([&] { return nodes.count("job") == 0; }));
        screen.type("\n");
        CHECK(screen.shows("end=76"));
        CHECK(screen.shows("the lock is lost"));
    }
}

TEST_CASE("a command that was stopped goes on in the background", "[run]")
{
    const masters nodes(3);
    terminal screen(nodes, R"sh("$0" run job -- sleep 1
        echo "status=$?"; bg; wait; echo "end=$?")sh");
    REQUIRE(screen.lets_a_job_read());
    screen.type("\x1a");
    REQUIRE(screen.shows("status=148"));
    CHECK(screen.shows("end=0"));
    CHECK(nodes.count("job") == 0);
}

TEST_CASE("a command in a pipe with others is stopped and interrupted with them", "[run]")
{
    const masters nodes(3);
    terminal screen(nodes, R"sh(
        "$0" run --ttl 1h job -- sh -c 'echo begun; exec sleep 30' </dev/null | cat
        echo "status=$?"; read go; fg)sh");
    REQUIRE(screen.shows("begun"));
    screen.type("\x1a");
    REQUIRE(screen.shows("status=148"));
    screen.type("\n");
    REQUIRE(screen.lets_a_job_read());
    screen.type("\x03");
    CHECK(wait_for([&] { return nodes.count("job") == 0; }));
}
