#include "cli/watchdog.hpp"

#include <array>
#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace redlock::cli {
namespace {

[[noreturn]] void watch(int leash, pid_t group) noexcept
{
    // Leaves the group and the terminal, so that their signals don't reach it. Closes all pipes.
    setsid();
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
    dup2(leash, STDIN_FILENO);
    close_range(STDOUT_FILENO, ~0U, 0);
    char word = 0;
    ssize_t got = 0;
    do {
        got = ::read(STDIN_FILENO, &word, 1);
    } while (got < 0 && errno == EINTR);
    if (got == 0) {
        kill(-group, SIGKILL);
    }
    _exit(0);
}

}  // namespace

watchdog::watchdog(pid_t group) noexcept
{
    std::array<int, 2> ends{-1, -1};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) {
        return;
    }
    pid_ = fork();
    if (pid_ == 0) {
        close(ends[1]);
        watch(ends[0], group);
    }
    close(ends[0]);
    leash_ = ends[1];
}

watchdog::~watchdog()
{
    if (leash_ >= 0) {
        [[maybe_unused]] const auto told = ::write(leash_, "", 1);
        close(leash_);
    }
    if (pid_ > 0) {
        waitpid(pid_, nullptr, 0);
    }
}

}  // namespace redlock::cli
