#include "cli/command.hpp"
#include "support/run.hpp"

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace redlock::test;

namespace {

/// A shell with job control, that runs a script at a terminal at which this test sits; $0 is the
/// redlock command.
class terminal {
public:
    terminal(const masters& nodes, const std::string& script)
    {
        std::string variable = nodes_variable(nodes.urls());
        std::vector<std::string> words{"bash", "--norc", "-m", "-c", script, REDLOCK_COMMAND};
        std::vector<char*> argv;
        for (auto& word : words) {
            argv.push_back(word.data());
        }
        argv.push_back(nullptr);
        pid_ = ::forkpty(&keyboard_, nullptr, nullptr, nullptr);
        REQUIRE(pid_ >= 0);
        if (pid_ == 0) {
            ::putenv(variable.data());
            ::execv("/bin/bash", argv.data());
            ::_exit(127);
        }
    }
    ~terminal()
    {
        if (!ended_) {
            ::kill(pid_, SIGKILL);
            ::waitpid(pid_, nullptr, 0);
        }
        ::close(keyboard_);
    }
    terminal(const terminal&) = delete;
    terminal& operator=(const terminal&) = delete;

    void type(const std::string& keys)
    {
        REQUIRE(::write(keyboard_, keys.data(), keys.size()) == static_cast<ssize_t>(keys.size()));
    }

    /// Waits for a text on the screen.
    bool shows(const std::string& what)
    {
        const bool shown = wait_for([&] {
            look();
            return screen_.find(what) != std::string::npos;
        });
        if (!shown) {
            UNSCOPED_INFO("the screen: " << screen_);
        }
        return shown;
    }
    [[nodiscard]] const std::string& screen() const { return screen_; }

    /// Waits until a job has the terminal, and what is typed.
    bool lets_a_job_read()
    {
        return wait_for([&] {
            const pid_t group = ::tcgetpgrp(keyboard_);
            return group > 0 && group != pid_;
        });
    }

    int end()
    {
        int status = 0;
        REQUIRE(wait_for([&] {
            look();
            return ::waitpid(pid_, &status, WNOHANG) == pid_;
        }));
        ended_ = true;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    }

private:
    void look()
    {
        pollfd there{keyboard_, POLLIN, 0};
        std::array<char, 4096> some;
        while (::poll(&there, 1, 0) == 1 && (there.revents & POLLIN) != 0) {
            const auto got = ::read(keyboard_, some.data(), some.size());
            if (got <= 0) {
                return;
            }
            screen_.append(some.data(), static_cast<std::size_t>(got));
        }
    }

    pid_t pid_ = -1;
    int keyboard_ = -1;
    bool ended_ = false;
    std::string screen_;
};

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
