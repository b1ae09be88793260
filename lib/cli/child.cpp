#include "cli/child.hpp"

#include "cli/exit_status.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace redlock::cli {
namespace {

/// A pipe that exec closes. By it the child reports why exec failed.
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

    /// Reports an error. Used in the child if exec has failed.
    void tell(int error) const noexcept
    {
        [[maybe_unused]] const auto written = write(ends_[1], &error, sizeof error);
    }

    /// Returns the reported error, or 0 after exec has closed the pipe. Used in the parent.
    [[nodiscard]] int hear(pid_t child) noexcept
    {
        close_end(1);
        // The terminal may stop the child before exec. Such a child would never report, so it is
        // continued.
        pollfd there{ends_[0], POLLIN, 0};
        while (poll(&there, 1, stopped_wait) <= 0) {
            kill(child, SIGCONT);
        }
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

    static constexpr int stopped_wait = 100;  ///< milliseconds

    std::array<int, 2> ends_{-1, -1};
};

/// Variables that the command must not inherit: they describe another lock, or are secrets.
constexpr std::string_view kept_back[] = {
    "REDLOCK_RESOURCE=", "REDLOCK_FENCING_TOKEN=", "REDLOCK_VALID_UNTIL=",
    "REDLOCK_PASSWORD=", "REDLOCK_OWNER_TOKEN=",   "REDLOCK_HELD="};

bool has_terminal() noexcept
{
    const int descriptor = open("/dev/tty", O_RDWR | O_CLOEXEC);
    if (descriptor >= 0) {
        close(descriptor);
    }
    return descriptor >= 0;
}

}  // namespace

std::vector<char*> pointers(const std::vector<std::string>& texts)
{
    std::vector<char*> out;
    out.reserve(texts.size() + 1);
    for (const auto& text : texts) {
        out.push_back(const_cast<char*>(text.c_str()));  // the type that exec requires
    }
    out.push_back(nullptr);
    return out;
}

std::vector<std::string> environment_with(const std::vector<std::string>& further)
{
    std::vector<std::string> out = further;
    for (char** at = environ; *at != nullptr; ++at) {
        const std::string_view own(*at);
        if (std::none_of(std::begin(kept_back), std::end(kept_back),
                         [&](std::string_view name) { return own.starts_with(name); })) {
            out.emplace_back(own);
        }
    }
    return out;
}

child::child(const std::vector<std::string>& command, const std::vector<std::string>& environment,
             const sigset_t& mask)
    : at_terminal_(has_terminal()),
      earlier_(descendants())
{
    // Everything that allocates memory happens before the fork.
    const auto variables = environment_with(environment);
    const auto arguments = pointers(command);
    const auto settings = pointers(variables);
    exec_pipe told;
    const pid_t parent = getpid();
    prctl(PR_SET_CHILD_SUBREAPER, 1);

    pid_ = fork();
    if (pid_ < 0) {
        throw std::system_error(errno, std::generic_category(), "fork");
    }
    if (pid_ == 0) {
        if (!at_terminal_) {
            setpgid(0, 0);
        }
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent) {
            std::signal(SIGPIPE, SIG_DFL);
            pthread_sigmask(SIG_SETMASK, &mask, nullptr);
            execvpe(arguments[0], arguments.data(), settings.data());
        }
        told.tell(errno);
        _exit(not_found);
    }
    if (!at_terminal_) {
        setpgid(pid_, pid_);  // parent and child both do this, whichever runs first
    }
    if (const int error = told.hear(pid_); error != 0) {
        waitpid(pid_, nullptr, 0);
        throw std::system_error(error, std::generic_category(), command[0]);
    }
    if (!at_terminal_) {
        watchdog_.emplace(pid_);
    }
}

bool child::signal(int number) const
{
    if (!sees_processes()) {
        if (at_terminal_ && has_ended_) {
            return true;  // its number may belong to another process now
        }
        return kill(at_terminal_ ? pid_ : -pid_, number) == 0 || errno != EPERM;
    }
    bool all = true;
    for (const auto& [pid, begun] : descendants(earlier_)) {
        const bool ours = !watchdog_ || pid != watchdog_->pid();
        all = !(ours && kill(pid, number) != 0 && errno == EPERM) && all;
    }
    return all;
}

bool child::is_stopped() const
{
    if (sees_processes()) {
        // The kernel does not stop a process that leads a session of its own.
        const auto all = descendants(earlier_);
        return cli::is_stopped(pid_) &&
               std::none_of(all.begin(), all.end(), [](const process_id& one) {
                   return is_in_session(one.pid, getsid(0)) && !cli::is_stopped(one.pid);
               });
    }
    siginfo_t found{};
    return waitid(P_PID, static_cast<id_t>(pid_), &found, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
           found.si_pid == pid_;
}

std::vector<pid_t> child::left() const
{
    if (!sees_processes()) {
        const bool has_group = !at_terminal_ && kill(-pid_, 0) == 0;
        return has_group ? std::vector{pid_} : std::vector<pid_t>{};
    }
    std::vector<pid_t> out;
    for (const auto& [pid, begun] : descendants(earlier_)) {
        if (pid != pid_ && !(watchdog_ && pid == watchdog_->pid())) {
            out.push_back(pid);
        }
    }
    return out;
}

std::optional<int> child::look()
{
    int status = 0;
    for (;;) {
        const pid_t pid = waitpid(-1, &status, WNOHANG);
        if (pid < 0 && errno == ECHILD) {
            return internal;  // other code has waited for the child
        }
        if (pid <= 0) {
            return std::nullopt;
        }
        if (pid == pid_) {
            has_ended_ = true;
            return WIFEXITED(status) ? WEXITSTATUS(status) : by_signal + WTERMSIG(status);
        }
    }
}

}  // namespace redlock::cli
