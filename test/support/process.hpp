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
    /// Where both output streams are appended to. Empty: nowhere.
    std::filesystem::path output{};
    /// Where it runs. Empty: where the test runs.
    std::filesystem::path folder{};
    /// `NAME=value`, in front of the test's own environment.
    std::vector<std::string> environment{};
};

/**
 * A child process that cannot outlive the test: it is killed by the destructor, and by the kernel
 * when the thread that started it ends, however that came about. So start it from a thread that
 * stays.
 *
 * It inherits nothing but three standard streams: a leaked socket would keep a connection open that
 * the test believes to have closed. It leads a process group of its own, whose members are killed
 * with it.
 */
class process {
public:
    /// Returns when the program runs, throws when it cannot.
    process(const std::filesystem::path& program, const std::vector<std::string>& arguments,
            const process_options& options = {});
    ~process();
    process(const process&) = delete;
    process& operator=(const process&) = delete;

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }

    /// Whether it has not ended yet; a stopped process runs in this sense.
    [[nodiscard]] bool running();

    /// SIGKILL; returns when it is gone. Does nothing to a process that has ended.
    void kill();

    /// SIGTERM, also to a stopped process; waits for the end, throws when there is none.
    void terminate(std::chrono::milliseconds bound = patience);

    /// SIGSTOP; returns when every thread of it stands still.
    void stop();

    /// SIGCONT; returns when none of its threads is stopped any more.
    void cont();

    /// Waits for its end and gives the exit code, or the negative number of the signal it died
    /// from.
    int wait(std::chrono::milliseconds bound = patience);

private:
    void signal(int number);

    pid_t pid_ = -1;
    /// As waitpid gave it, once the process has ended; from then on the pid may be anybody's.
    std::optional<int> status_;
};

}  // namespace redlock::test
