#pragma once

#include "support/run.hpp"

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace redlock::test {

struct process_options {
    /// The file to which both output streams are appended. Empty: none.
    std::filesystem::path output{};
    /// The working directory. Empty: the test's own.
    std::filesystem::path folder{};
    /// `NAME=value` entries that precede the test's own environment.
    std::vector<std::string> environment{};
};

/**
 * A child process that cannot outlive the test. The destructor kills it, and so does the kernel
 * when the thread that started it ends for any reason. So start it from a thread that stays.
 *
 * The child inherits only three standard streams, because a leaked socket would keep a connection
 * open that the test believes closed. The child leads its own process group, and the whole group is
 * killed with it.
 */
class process {
public:
    /// Returns when the program runs. Throws if it can't be started.
    process(const std::filesystem::path& program, const std::vector<std::string>& arguments,
            const process_options& options = {});
    ~process();
    process(const process&) = delete;
    process& operator=(const process&) = delete;

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }

    /// Whether the process has not ended yet. A stopped process counts as running.
    [[nodiscard]] bool running();

    /// SIGKILL; returns when the process is gone. Does nothing to a process that has ended.
    void kill();

    /// SIGTERM, also to a stopped process. Waits for the end, and throws if the process does not
    /// end.
    void terminate(std::chrono::milliseconds bound = patience);

    /// SIGSTOP; returns when every thread is stopped.
    void stop();

    /// SIGCONT; returns when no thread is stopped any more.
    void cont();

    /// Waits for the end and returns the exit code, or the negative number of the signal that
    /// killed the process.
    int wait(std::chrono::milliseconds bound = patience);

private:
    void signal(int number);

    pid_t pid_ = -1;
    /// The status from waitpid, once the process has ended. From then on the pid may belong to any
    /// process.
    std::optional<int> status_;
};

}  // namespace redlock::test
