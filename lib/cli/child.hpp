#pragma once

#include "cli/descendants.hpp"
#include "cli/watchdog.hpp"

#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace redlock::cli {

/// The environment of a command: the variables `further` (`NAME=value`), and the variables of this
/// process, except the ones that describe a lock or contain a secret.
[[nodiscard]] std::vector<std::string> environment_with(const std::vector<std::string>& further);

/// The texts in the form that exec takes, with a null at the end. The pointers are valid as long as
/// `texts`.
[[nodiscard]] std::vector<char*> pointers(const std::vector<std::string>& texts);

/**
 * A command and all its descendants. A descendant that loses its parent becomes a child of this
 * process, so that all of them stay in reach.
 *
 * At a terminal, the command stays in this process' group, together with the other processes that
 * the shell put there. The terminal stops, continues and interrupts the whole group. Elsewhere the
 * command leads a group of its own. A watchdog kills that group if this process is killed, because
 * then no process could notify the command that the lock is lost.
 */
class child {
public:
    /**
     * Starts the command with the signal mask `mask`. Its environment is `environment`
     * (`NAME=value`), and the variables of this process, except the ones about a lock.
     *
     * @throws std::system_error with the error of exec if the command can't be started.
     */
    child(const std::vector<std::string>& command, const std::vector<std::string>& environment,
          const sigset_t& mask);
    child(const child&) = delete;
    child& operator=(const child&) = delete;
    ~child() = default;

    /// Whether the terminal sends its signals to the command too.
    [[nodiscard]] bool is_at_terminal() const noexcept { return at_terminal_; }

    /// Sends a signal to the command and its descendants. Returns false if one of them may not be
    /// signalled, for example because it runs as another user. If /proc does not list them, the
    /// signal goes to the command and, not at a terminal, to the processes of its group.
    bool signal(int number) const;

    /// Whether a signal has stopped the command and its descendants in the session of this process.
    [[nodiscard]] bool is_stopped() const;

    /// The descendants that still run, without the command itself. If /proc does not list them, the
    /// group of the command, by its number, as long as it has processes.
    [[nodiscard]] std::vector<pid_t> left() const;

    /// The exit status of the command in a shell's form. Empty while the command runs.
    [[nodiscard]] std::optional<int> look();

private:
    bool at_terminal_;
    pid_t pid_ = -1;
    bool has_ended_ = false;  ///< `look` has returned its status
    std::optional<watchdog> watchdog_;
    /// Processes that were descendants before the command started, for example background jobs of a
    /// shell that then ran `exec redlock`. They get no signal.
    std::vector<process_id> earlier_;
};

}  // namespace redlock::cli
