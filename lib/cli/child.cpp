#include "cli/child.hpp"

#include "cli/exit_status.hpp"

#include <array>
#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace redlock::cli {
namespace {

/// Both ends of a pipe that is closed by exec.
class exec_pipe {
public:
    exec_pipe()
    {
        if (pipe2(ends_.data(), O_CLOEXEC) != 0) {
            throw std::system_error(errno, std::generic_category(), "pipe");
        }
    }
    ~exec_pipe()
    {
        close_end(0);
        close_end(1);
    }
    exec_pipe(const exec_pipe&) = delete;
    exec_pipe& operator=(const exec_pipe&) = delete;

    /// In the child, that could not be begun.
    void tell(int error) const noexcept
    {
        [[maybe_unused]] const auto written = write(ends_[1], &error, sizeof error);
    }

    /// In the parent: what was told; 0 when exec closed it.
    [[nodiscard]] int hear() noexcept
    {
        close_end(1);
        int error = 0;
        ssize_t got = 0;
        do {
            got = read(ends_[0], &error, sizeof error);
        } while (got < 0 && errno == EINTR);
        return got == sizeof error ? error : 0;
    }

private:
    void close_end(std::size_t i) noexcept
    {
        if (ends_[i] >= 0) {
            close(ends_[i]);
            ends_[i] = -1;
        }
    }

    std::array<int, 2> ends_{-1, -1};
};

/// Gives the terminal to a group. Whoever is in the background is stopped for that, unless it
/// blocks SIGTTOU.
void give_terminal(pid_t group) noexcept
{
    sigset_t mask;
    sigset_t before;
    sigemptyset(&mask);
    sigaddset(&mask, SIGTTOU);
    pthread_sigmask(SIG_BLOCK, &mask, &before);
    tcsetpgrp(STDIN_FILENO, group);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

std::vector<char*> pointers(const std::vector<std::string>& texts)
{
    std::vector<char*> out;
    out.reserve(texts.size() + 1);
    for (const auto& text : texts) {
        out.push_back(const_cast<char*>(text.c_str()));  // exec's own type
    }
    out.push_back(nullptr);
    return out;
}

/// This process' environment, with `further` in place of what has the same names.
std::vector<std::string> environment_with(const std::vector<std::string>& further)
{
    std::vector<std::string> out = further;
    for (char** at = environ; *at != nullptr; ++at) {
        const std::string_view own(*at);
        const auto name = own.substr(0, own.find('=') + 1);
        bool replaced = false;
        for (const auto& other : further) {
            replaced = replaced || other.starts_with(name);
        }
        if (!replaced) {
            out.emplace_back(own);
        }
    }
    return out;
}

}  // namespace

child::child(const std::vector<std::string>& command, const std::vector<std::string>& environment,
             const sigset_t& mask)
    : at_terminal_(tcgetpgrp(STDIN_FILENO) == getpgrp())
{
    // All that allocates comes before the fork.
    const auto variables = environment_with(environment);
    const auto arguments = pointers(command);
    const auto settings = pointers(variables);
    exec_pipe told;
    const pid_t parent = getpid();

    pid_ = fork();
    if (pid_ < 0) {
        throw std::system_error(errno, std::generic_category(), "fork");
    }
    if (pid_ == 0) {
        setpgid(0, 0);
        if (at_terminal_) {
            give_terminal(getpid());
        }
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent) {
            pthread_sigmask(SIG_SETMASK, &mask, nullptr);
            execvpe(arguments[0], arguments.data(), settings.data());
        }
        told.tell(errno);
        _exit(not_found);
    }
    // Whichever of the two is first.
    setpgid(pid_, pid_);
    if (const int error = told.hear(); error != 0) {
        waitpid(pid_, nullptr, 0);
        if (at_terminal_) {
            give_terminal(getpgrp());
        }
        throw std::system_error(error, std::generic_category(), command[0]);
    }
}

child::~child()
{
    if (at_terminal_) {
        give_terminal(getpgrp());
    }
}

void child::signal(int number) const noexcept
{
    ::kill(-pid_, number);
}

std::optional<int> child::look()
{
    int status = 0;
    while (waitpid(pid_, &status, WNOHANG | WUNTRACED) == pid_) {
        if (WIFEXITED(status)) {
            return WEXITSTATUS(status);
        }
        if (WIFSIGNALED(status)) {
            return by_signal + WTERMSIG(status);
        }
        follow_stop();
    }
    return std::nullopt;
}

void child::follow_stop() const noexcept
{
    if (!at_terminal_) {
        return;
    }
    give_terminal(getpgrp());
    raise(SIGSTOP);
    give_terminal(pid_);
    signal(SIGCONT);
}

}  // namespace redlock::cli
