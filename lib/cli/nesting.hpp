#pragma once

#include "cli/commands.hpp"

#include <redlock/clock.hpp>
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
    /// The holder's descriptor of its `published_validity`.
    int validity = -1;
    /// Zero: it has none.
    std::uint64_t fencing_token = 0;
    /// The end that the holder published last; empty if the holder cannot be asked.
    std::optional<boot_clock::time_point> valid_until{};
    /// The holder has lost it, gives it back, or has not renewed it in time.
    bool is_over = false;
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
    /// The first of the resources whose lock is over, or has a holder that cannot be asked; null if
    /// there is none.
    [[nodiscard]] const std::string* ended_among(std::span<const std::string> resources) const;

    /// What a command that this process runs is to find in REDLOCK_HELD.
    [[nodiscard]] std::string and_of(std::span<const std::string> resources,
                                     std::uint64_t fencing_token, int validity) const;
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

/// Runs the command of a nested run in this process' place, or refuses to wait for a lock of an
/// outer run. Gives the exit status; nothing if this process runs under none of the locks.
[[nodiscard]] std::optional<int> run_inside(const run_options& o, const enclosing_locks& around,
                                            bool json);

/// Shows runs inside of this one until when its lock is valid: in memory that they read by way of
/// /proc, which they may as the same user or as root.
class published_validity {
public:
    /// Where the system gives no memory, nested runs refuse to begin.
    published_validity() noexcept;
    ~published_validity();
    published_validity(const published_validity&) = delete;
    published_validity& operator=(const published_validity&) = delete;

    void set(boot_clock::time_point end) const noexcept;
    /// The lock is over.
    void withdraw() const noexcept { set({}); }

    [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

private:
    int descriptor_;
};

}  // namespace redlock::cli
