#pragma once

#include "cli/descendants.hpp"
#include "cli/watchdog.hpp"

#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace redlock::cli {

/// The environment of a command: the variables `further` (`NAME=value`), and this process' own ones
/// without those that say something of a lock or are a secret.
[[nodiscard]] std::vector<std::string> environment_with(const std::vector<std::string>& further);

/// As exec takes them; the pointers are valid as long as `texts`, and end with a null.
[[nodiscard]] std::vector<char*> pointers(const std::vector<std::string>& texts);

/**
 * A command, and all that it begins: whoever loses its parent becomes a child of this process, so
 * that nobody gets out of reach.
 *
 * At a terminal it stays in this process' group, with what else the shell put there: the terminal
 * stops, continues and interrupts all of them. Elsewhere it leads a group of its own, which a
 * watchdog kills should this process be killed, as nobody would tell it of the loss of its lock.
 */
class child {
public:
    /**
     * Begins it, with the variables `environment` (`NAME=value`), without this process' own ones
     * that concern a lock, and with the signal mask `mask`.
     *
     * @throws std::system_error when it cannot be begun, with what exec said.
     */
    child(const std::vector<std::string>& command, const std::vector<std::string>& environment,
          const sigset_t& mask);
    child(const child&) = delete;
    child& operator=(const child&) = delete;
    ~child() = default;

    /// Whether what the terminal sends comes to the command by itself.
    [[nodiscard]] bool is_at_terminal() const noexcept { return at_terminal_; }

    /// Sends it to all of them. False: somebody may not be sent signals to, as what runs as
    /// another user.
    bool signal(int number) const;

    /// Those that are there, the command aside.
    [[nodiscard]] std::vector<pid_t> left() const;

    /// What the command ended with, as a shell tells it, if it has.
    [[nodiscard]] std::optional<int> look();

private:
    bool at_terminal_;
    pid_t pid_ = -1;
    std::optional<watchdog> watchdog_;
    /// Processes that were below this one before the command began, as the background jobs of a
    /// shell that then ran `exec redlock`. They get no signal.
    std::vector<process_id> earlier_;
};

}  // namespace redlock::cli
