#pragma once

#include <redlock/config.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::cli {

/// The locks that this process runs under: those of each `redlock run` that it was begun by, as
/// REDLOCK_HELD tells it. One that has ended, so that the command lives on without it, holds none.
class enclosing_locks {
public:
    /// @throws boost::system::system_error with `errc::invalid_config`
    explicit enclosing_locks(const config& c);

    /// Whether the lock of this resource, on the masters of `c`, is among them.
    [[nodiscard]] bool hold(std::string_view resource) const;

    /// What a command that this process runs is to find in REDLOCK_HELD.
    [[nodiscard]] std::string and_of(std::span<const std::string> resources) const;

private:
    [[nodiscard]] std::string line(std::string_view resource) const;

    /// Of the masters and the key prefix: which lock a name means.
    std::string place_;
    std::vector<std::string> lines_;
};

}  // namespace redlock::cli
