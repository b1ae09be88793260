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

/// A lock that encloses this process.
struct enclosing_lock {
    /// The pid of the `redlock run` that holds the lock.
    pid_t holder = 0;
    /// The descriptor of the holder's `published_validity`.
    int validity = -1;
    /// Zero if the lock has no fencing token.
    std::uint64_t fencing_token = 0;
    /// The end of validity that the holder last published. Empty if the holder can't be asked.
    std::optional<boot_clock::time_point> valid_until{};
    /// The holder has lost or released the lock, or hasn't renewed it in time.
    bool is_over = false;
    /// Identifies the lock: a digest of nodes and key prefix, a space, the resource.
    std::string key;
};

/// How many of several resources are locked by outer runs.
enum class enclosing : std::uint8_t { none, some, all };

/// The locks that enclose this process. Each `redlock run` among its ancestors holds some, as
/// REDLOCK_HELD lists them. A run that has ended holds no locks, even if its command continues.
class enclosing_locks {
public:
    /// Reads REDLOCK_HELD.
    /// @throws boost::system::system_error with `errc::invalid_config`
    explicit enclosing_locks(const config& c);

    /// The lock of this resource on the nodes of `c`. Null if no outer run holds it.
    [[nodiscard]] const enclosing_lock* find(std::string_view resource) const;

    /// How many of the resources outer runs have locked. A lock that is over doesn't count.
    [[nodiscard]] enclosing position_of(std::span<const std::string> resources) const;
    /// The first of the resources whose lock is over or whose holder can't be asked. Null if there
    /// is none.
    [[nodiscard]] const std::string* ended_among(std::span<const std::string> resources) const;

    /// The value of REDLOCK_HELD for a command of this process, which also holds these resources.
    [[nodiscard]] std::string and_of(std::span<const std::string> resources,
                                     std::uint64_t fencing_token, int validity) const;
    /// The value of REDLOCK_HELD without a further lock.
    [[nodiscard]] std::string text() const;

private:
    [[nodiscard]] std::string key_of(std::string_view resource) const;

    /// Digest of the nodes and the key prefix, because the same resource on other nodes is another
    /// lock.
    std::string place_;
    std::vector<enclosing_lock> locks_;
};

/// Prints on stderr that the command would wait for a lock that encloses it. Returns the exit
/// status. `way_out` is advice for the case that all resources are already locked.
int refuse_to_wait_for_itself(const std::vector<std::string>& resources, enclosing inside,
                              std::string_view way_out, bool json);

/// Formats a date as "1793887389.123". A script can compare it with the output of date +%s.
[[nodiscard]] std::string unix_time(std::chrono::system_clock::time_point when);

/// The environment variables of a command that runs under a lock.
[[nodiscard]] std::vector<std::string> variables_of(std::span<const std::string> names,
                                                    std::uint64_t token,
                                                    const std::string& valid_until,
                                                    const std::string& held);

/// Replaces this process by the command of a nested run, or refuses to wait for a lock of an outer
/// run. Returns the exit status. Empty if no outer run holds one of the locks.
[[nodiscard]] std::optional<int> run_inside(const run_options& o, const enclosing_locks& around,
                                            bool json);

/// Publishes the end of this run's lock for nested runs. They read it from memory through /proc,
/// which requires the same user or root.
class published_validity {
public:
    /// If the system has no memory for it, nested runs refuse to start.
    published_validity() noexcept;
    ~published_validity();
    published_validity(const published_validity&) = delete;
    published_validity& operator=(const published_validity&) = delete;

    void set(boot_clock::time_point end) const noexcept;
    /// Publishes that the lock is over.
    void withdraw() const noexcept { set({}); }

    [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

private:
    int descriptor_;
};

}  // namespace redlock::cli
