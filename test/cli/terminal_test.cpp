#include "cli/terminal.hpp"
#include "support/run.hpp"

#include <catch2/catch_test_macros.hpp>

#include <fstream>
#include <memory>
#include <string>

#include <sys/stat.h>

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

TEST_CASE("at a terminal the command reads the input and gets a Ctrl-C once", "[run]")
{
    const masters nodes(3);
    terminal screen(nodes, R"sh("$0" run job -- bash -c '
        trap "echo inter""rupted; ((++n))" INT; trap "exit 9" USR1
        echo begun; read line; echo "read $line"; until ((n)); do sleep 0.05; done
        kill -USR1 $PPID; while :; do sleep 0.05; done'; echo "status=$?")sh");
    // redlock passes SIGUSR1 on after it has handled the Ctrl-C.
    REQUIRE(screen.shows("begun"));
    screen.type("hello\n");
    REQUIRE(screen.shows("read hello"));
    screen.type("\x03");
    CHECK(screen.shows("status=9"));
    CHECK(count(screen.screen(), "interrupted") == 1);
    CHECK(nodes.count("job") == 0);
    CHECK(screen.end() == 0);
}

TEST_CASE("a Ctrl-C ends a wait and a command that does not handle it", "[run]")
{
    const masters nodes(3);
    terminal screen(nodes,
                    R"sh("$0" run job -- sh -c 'echo begun; exec sleep 1000'; echo "status=$?")sh");
    REQUIRE(screen.shows("begun"));
    terminal waiting(nodes, R"sh("$0" -v run job -- true; echo "status=$?")sh");
    REQUIRE(waiting.shows(": usable"));
    waiting.type("\x03");
    CHECK(waiting.shows("status=130"));
    screen.type("\x03");
    CHECK(screen.shows("status=130"));
    CHECK(nodes.count("job") == 0);
}

TEST_CASE("a Ctrl-Z stops both processes and the lock is lost when its validity ends", "[run]")
{
    const masters nodes(3);
    const auto stopped = [&](const std::string& ttl) {
        // A shell that starts one program after the other might not be ready to be stopped.
        auto screen = std::make_unique<terminal>(
            nodes, "\"$0\" run " + ttl + R"sh( job -- sh -c 'echo begun; exec sleep 1000'
        echo "status=$?"; read go; fg; echo "end=$?")sh");
        REQUIRE(screen->shows("begun"));
        screen->type("\x1a");
        REQUIRE(screen->shows("status=148"));
        return screen;
    };
    SECTION("the command continues in time")
    {
        const auto owned = stopped("--ttl 1h");
        terminal& screen = *owned;
        screen.type("\n");
        REQUIRE(screen.lets_a_job_read());
        screen.type("\x03");
        CHECK(screen.shows("end=130"));
    }
    SECTION("the command is signalled when it continues too late")
    {
        const auto owned = stopped(brief_option);
        terminal& screen = *owned;
        REQUIRE(wait_for([&] { return nodes.count("job") == 0; }));
        screen.type("\n");
        CHECK(screen.shows("end=76"));
        CHECK(screen.shows("the lock is lost"));
    }
}

TEST_CASE("a run does not stop without its command", "[run]")
{
    const masters nodes(3);
    terminal screen(nodes, "\"$0\" run " + brief_option +
                               R"sh( job -- sh -c 'trap "" TSTP; echo begun; read line; exit 7'
        echo "status=$?")sh");
    REQUIRE(screen.shows("begun"));
    screen.type("\x1a");
    CHECK(screen.shows("job: the command does not stop, so redlock keeps the lock"));
    CHECK(nodes.count("job") >= 2);
    screen.type("\n");
    CHECK(screen.shows("status=7"));
}

TEST_CASE("a process in a session of its own does not keep a run from stopping", "[run]")
{
    const masters nodes(3);
    const temp_dir folder;
    const auto file = folder / "running";
    // The process ends with the file, also after a failed test.
    terminal screen(nodes, "\"$0\" run --ttl 1h job -- sh -c 'setsid sh -c \"echo begun >" +
                               file.string() + "; while [ -e " + file.string() +
                               R"sh( ]; do sleep 0.05; done" & exec sleep 1000'
        echo "status=$?"; read go; fg; echo "end=$?")sh");
    REQUIRE(wait_for([&] { return text_of(file) == "begun\n"; }));
    screen.type("\x1a");
    REQUIRE(screen.shows("status=148"));
    screen.type("\n");
    REQUIRE(screen.lets_a_job_read());
    screen.type("\x03");
    CHECK(screen.shows("end=130"));
}

TEST_CASE("a run does not wait for a terminal that takes no messages", "[run]")
{
    const masters nodes(3);
    const temp_dir folder;
    const auto file = folder / "status";
    // Nobody reads the terminal, and dd ends when it takes no more.
    const terminal screen(nodes,
                          "head -c 1000000 /dev/zero | tr '\\0' x | "
                          "dd of=/dev/tty oflag=nonblock bs=1 2>/dev/null\n"
                          "\"$0\" -v run job -- true 2>/dev/tty\necho $? >" +
                              file.string());
    CHECK(wait_for([&] { return text_of(file) == "0\n"; }));
}

TEST_CASE("a command that was stopped continues in the background", "[run]")
{
    const masters nodes(3);
    const temp_dir folder;
    const auto go = (folder / "go").string();
    REQUIRE(::mkfifo(go.c_str(), 0600) == 0);
    // The command ends once the test has written there, so not before it was stopped.
    terminal screen(nodes, R"sh("$0" run --ttl 1h job -- cat )sh" + go + R"sh(
        echo "status=$?"; bg; wait; echo "end=$?")sh");
    REQUIRE(wait_for([&] { return nodes.count("job") >= 2; }));
    REQUIRE(screen.lets_a_job_read());
    screen.type("\x1a");
    REQUIRE(screen.shows("status=148"));
    std::ofstream(go) << "gone on\n";
    CHECK(screen.shows("gone on"));
    CHECK(screen.shows("end=0"));
    CHECK(nodes.count("job") == 0);
}

TEST_CASE("a command in a pipeline is stopped and interrupted with the others", "[run]")
{
    const masters nodes(3);
    terminal screen(nodes, R"sh(
        "$0" run --ttl 1h job -- sh -c 'echo begun; exec sleep 1000' </dev/null | cat
        echo "status=$?"; read go; fg)sh");
    REQUIRE(screen.shows("begun"));
    screen.type("\x1a");
    REQUIRE(screen.shows("status=148"));
    screen.type("\n");
    REQUIRE(screen.lets_a_job_read());
    screen.type("\x03");
    CHECK(wait_for([&] { return nodes.count("job") == 0; }));
}
