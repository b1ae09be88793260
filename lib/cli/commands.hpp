#pragma once

#include "cli/duration.hpp"
#include "cli/masters.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace redlock::cli {

// The commands and their options. Each command returns the exit status. It writes its result to
// stdout, and to stderr the reason if there is no result.

/// The options of all commands that take a lock.
struct taking_options {
    std::vector<std::string> resources;
    duration ttl{std::chrono::milliseconds(10'000)};
    /// Maximum wait. Empty means no limit.
    std::optional<duration> wait;
    /// Maximum time without a majority. If empty, the command also waits for nodes without a limit,
    /// but not if they refuse the password or the database.
    std::optional<duration> max_outage;
    /// The holder's name for other clients. If empty, it is made from the command, the process and
    /// the host.
    std::optional<std::string> label;
    bool no_wait = false;
    bool fencing = true;
};

struct run_options : taking_options {
    std::vector<std::string> command;
    /// Time between the SIGTERM after a loss and the SIGKILL.
    duration grace{std::chrono::milliseconds(5'000)};
    std::optional<duration> max_hold;
    /// Minimum time to hold the lock, even if the command ends sooner.
    std::optional<duration> min_hold;
    /// If an outer run holds the same lock, the command runs without a further acquire.
    bool nested = false;
};

/// Runs a command under a lock that redlock keeps alive.
[[nodiscard]] int run(const masters_options& masters, const run_options& o);

struct acquire_options : taking_options {
    bool quiet = false;  ///< prints only the owner token
};

/// Takes a lock and leaves it to any process that knows the owner token.
[[nodiscard]] int acquire(const masters_options& masters, const acquire_options& o);

/// A lock that a command left, and its owner token.
struct held_options {
    std::vector<std::string> resources;
    /// The file with the owner token, or "-" for stdin. If empty, REDLOCK_OWNER_TOKEN has it.
    std::string token_file;
};

struct extend_options : held_options {
    duration ttl{std::chrono::milliseconds(10'000)};
};

[[nodiscard]] int extend(const masters_options& masters, const extend_options& o);
[[nodiscard]] int release(const masters_options& masters, const held_options& o);

struct inspect_options {
    std::string resource;
    bool watch = false;
    duration interval{std::chrono::milliseconds(1'000)};
};

/// Prints whether a lock is held, and the answer of each node.
[[nodiscard]] int inspect(const masters_options& masters, const inspect_options& o);

/// Admits new nodes at once under the restart guard.
[[nodiscard]] int admit(const masters_options& masters);

// Adds the options of a command that loads nodes, and returns its action, which may use the options
// for nodes.

[[nodiscard]] std::function<int()> add_bench(CLI::App& sub, const masters_options& masters);
[[nodiscard]] std::function<int()> add_demo(CLI::App& sub, const masters_options& masters);

}  // namespace redlock::cli
