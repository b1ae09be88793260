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

/// The redlock command as the foreground job of a terminal, at which this test sits.
class terminal {
public:
    terminal(const masters& nodes, const std::vector<std::string>& arguments)
    {
        std::string variable = nodes_variable(nodes.urls());
        std::vector<std::string> words{REDLOCK_COMMAND};
        words.insert(words.end(), arguments.begin(), arguments.end());
        std::vector<char*> argv;
        for (auto& word : words) {
            argv.push_back(word.data());
        }
        argv.push_back(nullptr);
        pid_ = ::forkpty(&keyboard_, nullptr, nullptr, nullptr);
        REQUIRE(pid_ >= 0);
        if (pid_ == 0) {
            ::putenv(variable.data());
            ::execv(REDLOCK_COMMAND, argv.data());
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
        return wait_for([&] {
            look();
            return screen_.find(what) != std::string::npos;
        });
    }
    [[nodiscard]] const std::string& screen() const { return screen_; }

    /// Whether it stops, as at a Ctrl-Z.
    bool stops()
    {
        int status = 0;
        return wait_for([&] {
            look();
            return ::waitpid(pid_, &status, WNOHANG | WUNTRACED) == pid_ && WIFSTOPPED(status);
        });
    }
    /// What a shell's `fg` does to a job that was stopped.
    void go_on() { ::kill(pid_, SIGCONT); }

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
    terminal screen(nodes, {"run", "job", "--", "sh", "-c",
                            "trap 'echo inter''rupted; n=1' INT; echo begun; read line; "
                            "echo \"read $line\"; while [ -z \"$n\" ]; do sleep 0.05; done; "
                            "sleep 0.2; exit 9"});
    REQUIRE(screen.shows("begun"));
    screen.type("hello\n");
    REQUIRE(screen.shows("read hello"));
    screen.type("\x03");
    CHECK(screen.end() == 9);
    CHECK(count(screen.screen(), "interrupted") == 1);
    CHECK(nodes.count("job") == 0);
}

TEST_CASE("a Ctrl-C ends a command that does not care, and a wait", "[run]")
{
    const masters nodes(3);
    terminal screen(nodes, {"run", "job", "--", "sh", "-c", "echo begun; exec sleep 30"});
    REQUIRE(screen.shows("begun"));
    terminal waiting(nodes, {"-v", "run", "job", "--", "true"});
    REQUIRE(waiting.shows(": usable"));
    waiting.type("\x03");
    CHECK(waiting.end() == 128 + SIGINT);
    screen.type("\x03");
    CHECK(screen.end() == 128 + SIGINT);
    CHECK(nodes.count("job") == 0);
}

TEST_CASE("a Ctrl-Z stops both, and behind the validity the lock is lost", "[run]")
{
    const masters nodes(3);
    // A shell that begins one program after the other might not be there to be stopped.
    terminal screen(nodes,
                    {"run", "--ttl", "1s", "job", "--", "sh", "-c", "echo begun; exec sleep 30"});
    REQUIRE(screen.shows("begun"));
    screen.type("\x1a");
    REQUIRE(screen.stops());
    SECTION("in time it goes on")
    {
        screen.go_on();
        screen.type("\x03");
        CHECK(screen.end() == 128 + SIGINT);
    }
    SECTION("too late it is told to end")
    {
        REQUIRE(wait_for([&] { return nodes.count("job") == 0; }));
        screen.go_on();
        CHECK(screen.end() == 76);
        CHECK(screen.screen().find("the lock is lost") != std::string::npos);
    }
}
