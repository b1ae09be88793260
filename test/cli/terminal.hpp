#pragma once

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

namespace redlock::test {

/// A shell with job control that runs a script at a pseudo-terminal of this test. $0 is the redlock
/// command.
class terminal {
public:
    terminal(const masters& nodes, const std::string& script)
    {
        std::string variable = nodes_variable(nodes.urls());
        std::string options = own_options(folder_);
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
            ::putenv(options.data());
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

    /// Waits until a job owns the terminal and reads its input.
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

    temp_dir folder_;
    pid_t pid_ = -1;
    int keyboard_ = -1;
    bool ended_ = false;
    std::string screen_;
};

}  // namespace redlock::test
