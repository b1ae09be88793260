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

// The commands, and what each can be told. Each gives the exit status, writes what was asked for to
// stdout and why there is none to stderr.

/// What all that take a lock are told.
struct taking_options {
    std::vector<std::string> resources;
    duration ttl{std::chrono::milliseconds(10'000)};
    /// Empty: for as long as it takes.
    std::optional<duration> wait;
    /// Empty: it waits for masters too, but for none that refuses password or database.
    std::optional<duration> max_outage;
    /// What others are told about the holder. Without it: which command, process and host it is.
    std::optional<std::string> label;
    bool no_wait = false;
    bool fencing = true;
};

struct run_options : taking_options {
    std::vector<std::string> command;
    /// From the SIGTERM behind a loss to the SIGKILL.
    duration grace{std::chrono::milliseconds(5'000)};
    std::optional<duration> max_hold;
    /// The lock is held for so long, also where the command ends sooner.
    std::optional<duration> min_hold;
    /// Under the same lock in itself the command is run without taking it once more.
    bool nested = false;
};

/// Runs a command under a lock that redlock keeps alive.
[[nodiscard]] int run(const masters_options& masters, const run_options& o);

struct acquire_options : taking_options {
    bool quiet = false;  ///< nothing but the owner token
};

/// Takes a lock and leaves it to who knows the owner token.
[[nodiscard]] int acquire(const masters_options& masters, const acquire_options& o);

/// A lock that was left, and who may have it.
struct held_options {
    std::vector<std::string> resources;
    /// Where the owner token stands: a file, or "-" for stdin. Empty: in REDLOCK_OWNER_TOKEN.
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

/// Says who has a lock, node by node.
[[nodiscard]] int inspect(const masters_options& masters, const inspect_options& o);

/// Admits masters that are new to the restart guard at once.
[[nodiscard]] int admit(const masters_options& masters);

/// A command that is defined outside of this folder.
struct further_command {
    std::string name;
    std::string description;
    /// Adds its options, and gives what runs it. It may take those of all that speak to masters.
    std::function<std::function<int()>(CLI::App& sub, const masters_options& masters)> add;
};

/// `bench` and `demo`. Defined beside what they run.
[[nodiscard]] std::vector<further_command> further_commands();

}  // namespace redlock::cli
