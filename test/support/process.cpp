#include "support/process.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace redlock::test {
namespace {

std::vector<char*> pointers(std::vector<std::string>& strings)
{
    std::vector<char*> result;
    for (auto& s : strings) {
        result.push_back(s.data());
    }
    result.push_back(nullptr);
    return result;
}

std::vector<std::string> environment_with(const std::vector<std::string>& additions)
{
    auto result = additions;
    for (char** entry = ::environ; *entry != nullptr; ++entry) {
        const std::string_view present = *entry;
        const auto name = present.substr(0, present.find('=') + 1);
        bool replaced = false;
        for (const auto& addition : additions) {
            replaced = replaced || addition.starts_with(name);
        }
        if (!replaced) {
            result.emplace_back(present);
        }
    }
    return result;
}

struct launch {
    const char* program;
    char* const* arguments;
    char* const* environment;
    const char* output;
    const char* folder;
    pid_t parent;
    int report;  ///< gets errno if the child fails; closed by exec
};

/// No handler of the test may run in the child or receive a signal before exec.
void reset_signals()
{
    for (int number = 1; number < NSIG; ++number) {
        ::signal(number, SIG_DFL);
    }
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

bool prepare(const launch& how)
{
    if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) {
        return false;
    }
    if (::getppid() != how.parent) {
        return false;  // the parent died before the line above could take effect
    }
    ::setpgid(0, 0);
    reset_signals();
    const int in = ::open("/dev/null", O_RDONLY);
    const int out = ::open(how.output, O_WRONLY | O_CREAT | O_APPEND, 0600);
    return in >= 0 && out >= 0 && ::dup2(in, 0) >= 0 && ::dup2(out, 1) >= 0 &&
           ::dup2(out, 2) >= 0 && ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) == 0 &&
           (*how.folder == '\0' || ::chdir(how.folder) == 0);
}

/// Runs in the child between fork and exec. Only calls that are safe there are allowed.
[[noreturn]] void become(const launch& how)
{
    if (prepare(how)) {
        ::execve(how.program, how.arguments, how.environment);
    }
    const int error = errno;
    const auto written = ::write(how.report, &error, sizeof error);
    ::_exit(written == sizeof error ? 127 : 126);
}

/// Forks with all signals blocked, so that none reaches the child before it is ready for it.
pid_t fork_into(const launch& how)
{
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    const pid_t pid = ::fork();
    if (pid == 0) {
        become(how);
    }
    const int error = errno;
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    errno = error;
    return pid;
}

/// Waits for exec and returns 0, or the errno that the child failed with.
int exec_error(int report)
{
    int error = 0;
    ssize_t size = 0;
    do {
        size = ::read(report, &error, sizeof error);
    } while (size < 0 && errno == EINTR);
    return size == 0 ? 0 : error;
}

/// The state letters of all threads, in no particular order.
std::string thread_states(pid_t pid)
{
    std::string states;
    std::error_code ec;
    const std::filesystem::path tasks = "/proc/" + std::to_string(pid) + "/task";
    for (std::filesystem::directory_iterator i(tasks, ec), end; !ec && i != end; i.increment(ec)) {
        std::ifstream file(i->path() / "stat");
        const std::string line{std::istreambuf_iterator<char>(file), {}};
        const auto name_end = line.rfind(") ");
        if (name_end != std::string::npos && name_end + 2 < line.size()) {
            states += line[name_end + 2];
        }
    }
    return states;
}

}  // namespace

process::process(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                 const process_options& options)
{
    std::vector<std::string> argument_strings{program.native()};
    argument_strings.insert(argument_strings.end(), arguments.begin(), arguments.end());
    auto environment_strings = environment_with(options.environment);
    const auto argv = pointers(argument_strings);
    const auto envp = pointers(environment_strings);
    const std::string output = options.output.empty() ? "/dev/null" : options.output.native();

    std::array<int, 2> report{};
    if (::pipe2(report.data(), O_CLOEXEC) != 0) {
        throw std::system_error(errno, std::generic_category(), "pipe");
    }
    pid_ = fork_into({program.c_str(), argv.data(), envp.data(), output.c_str(),
                      options.folder.c_str(), ::getpid(), report[1]});
    int error = pid_ < 0 ? errno : 0;
    ::close(report[1]);
    if (pid_ > 0) {
        error = exec_error(report[0]);
    }
    ::close(report[0]);
    if (error != 0) {
        if (pid_ > 0) {
            ::waitpid(pid_, nullptr, 0);
        }
        throw std::system_error(error, std::generic_category(), program.native());
    }
}

process::~process()
{
    if (running()) {
        ::kill(-pid_, SIGKILL);
        while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
        }
    }
}

bool process::running()
{
    if (status_) {
        return false;
    }
    siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        info.si_pid == 0) {
        return true;
    }
    // Children of the child, such as a server's background save, would write into a folder that is
    // being removed. The number still belongs to them, because its first owner has not been reaped.
    ::kill(-pid_, SIGKILL);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    status_ = status;
    return false;
}

void process::signal(int number)
{
    if (!running()) {
        throw std::runtime_error("the child process has ended");
    }
    if (::kill(pid_, number) != 0) {
        throw std::system_error(errno, std::generic_category(), "kill");
    }
}

void process::kill()
{
    if (running()) {
        ::kill(-pid_, SIGKILL);
        wait();
    }
}

void process::terminate(std::chrono::milliseconds bound)
{
    if (running()) {
        signal(SIGTERM);
        ::kill(pid_, SIGCONT);
        wait(bound);
    }
}

void process::stop()
{
    signal(SIGSTOP);
    const bool stopped = wait_for([this] {
        const auto states = thread_states(pid_);
        return !states.empty() && states.find_first_not_of("Tt") == std::string::npos;
    });
    if (!stopped) {
        throw std::runtime_error("the child process does not stop");
    }
}

void process::cont()
{
    signal(SIGCONT);
    const bool going = wait_for([this] {
        const auto states = thread_states(pid_);
        return !states.empty() && states.find_first_of("Tt") == std::string::npos;
    });
    if (!going) {
        throw std::runtime_error("the child process does not go on");
    }
}

int process::wait(std::chrono::milliseconds bound)
{
    if (!wait_for([this] { return !running(); }, bound)) {
        throw std::runtime_error("the child process does not end");
    }
    return WIFEXITED(*status_) ? WEXITSTATUS(*status_) : -WTERMSIG(*status_);
}

}  // namespace redlock::test
