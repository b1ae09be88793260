#pragma once

#include "cli/commands.hpp"

#include <redlock/config.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace redlock::cli {

/// A lock that this process runs under.
struct enclosing_lock {
    /// The `redlock run` that holds it.
    pid_t holder = 0;
    /// The outer run has seen that it is lost, or gives it back.
    bool is_over = false;
    /// Zero: it has none.
    std::uint64_t fencing_token = 0;
    /// As REDLOCK_VALID_UNTIL has it.
    std::string valid_until;
    /// Identifies the lock: a digest of masters and key prefix, a space, the resource.
    std::string key;
};

/// Of several resources: which are locked already by what this process runs under.
enum class enclosing : std::uint8_t { none, some, all };

/// The locks that this process runs under: those of each `redlock run` that it was begun by, as
/// REDLOCK_HELD tells it. A run that has ended, so that the command lives on without it, holds
/// none.
class enclosing_locks {
public:
    /// @throws boost::system::system_error with `errc::invalid_config`
    explicit enclosing_locks(const config& c);

    /// The lock of this resource, on the masters of `c`; null: it is not among them.
    [[nodiscard]] const enclosing_lock* find(std::string_view resource) const;

    /// How many of the resources are locked by it. A lock that is over does not count.
    [[nodiscard]] enclosing position_of(std::span<const std::string> resources) const;
    /// Whether one of them was locked by it, and that lock is over.
    [[nodiscard]] bool has_ended(std::span<const std::string> resources) const;

    /// What a command that this process runs is to find in REDLOCK_HELD.
    [[nodiscard]] std::string and_of(std::span<const std::string> resources,
                                     std::uint64_t fencing_token,
                                     std::string_view valid_until) const;
    /// The same without a further lock.
    [[nodiscard]] std::string text() const;

private:
    [[nodiscard]] std::string key_of(std::string_view resource) const;

    /// Of the masters and the key prefix: which lock a name means.
    std::string place_;
    std::vector<enclosing_lock> locks_;
};

/// Says on stderr that a command would wait for a lock that it runs under; gives the exit status.
/// `way_out`: advice that follows where all resources are locked already.
int refuse_to_wait_for_itself(const std::vector<std::string>& resources, enclosing inside,
                              std::string_view way_out, bool json);

/// "1793887389.123": to reckon with, beside what date +%s prints.
[[nodiscard]] std::string unix_time(std::chrono::system_clock::time_point when);

/// What a command that runs under a lock finds in its environment.
[[nodiscard]] std::vector<std::string> variables_of(std::span<const std::string> names,
                                                    std::uint64_t token,
                                                    const std::string& valid_until,
                                                    const std::string& held);

/// What becomes of a run inside of another one: with --nested the command takes this process' place
/// under the locks that are there, and else the run is refused. Gives the exit status; nothing: it
/// is inside of none of its locks.
[[nodiscard]] std::optional<int> run_inside(const run_options& o, const enclosing_locks& around,
                                            bool json);

/// Lets commands that run under this process' lock see that it is over: by the name of this
/// process, which `ps` shows as well.
void show_end() noexcept;

}  // namespace redlock::cli
