#pragma once

#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace redlock::cli {

/**
 * A command in a process group of its own, which is the terminal's foreground one if this process'
 * was: so that a Ctrl-C reaches it once, and what it began can be ended with it. The kernel kills
 * it should this process be killed, as nobody would tell it of the loss of its lock.
 */
class child {
public:
    /**
     * Begins it, with `environment` (`NAME=value`) beside this process' own and with the signal
     * mask `mask`.
     *
     * @throws std::system_error when it cannot be begun, with what exec said.
     */
    child(const std::vector<std::string>& command, const std::vector<std::string>& environment,
          const sigset_t& mask);
    /// Takes the terminal back. The command is left as it is.
    ~child();
    child(const child&) = delete;
    child& operator=(const child&) = delete;

    /// Sends it to the whole group.
    void signal(int number) const noexcept;

    /// What the command ended with, as a shell tells it, if it has. Where it was stopped at the
    /// terminal, this process stops too, as a shell's user expects.
    [[nodiscard]] std::optional<int> look();

private:
    void follow_stop() const noexcept;

    pid_t pid_ = -1;
    bool at_terminal_;
};

}  // namespace redlock::cli
