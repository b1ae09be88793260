#pragma once

#include "common/result.hpp"
#include "common/servers.hpp"
#include "common/usage.hpp"

#include <chrono>

namespace redlock::bench {

class histogram;

/// Measures from one moment to another what a run took of time, of this process and of the local
/// servers.
class meter {
public:
    /// `servers` may be null, if they are not of this machine.
    explicit meter(const local_servers* servers) : servers_(servers) {}

    /// Call after the warm-up.
    void begin();

    /// Call at the end of the measured time. Fills everything in `r` that follows from it,
    /// `r.cycles` being set.
    void end(result& r, const histogram& acquires) const;

private:
    const local_servers* servers_;
    std::chrono::steady_clock::time_point start_;
    usage used_;
    double server_cpu_ = 0;
};

/// The versions every C++ program here tells: compiler and Boost.
[[nodiscard]] std::map<std::string, std::string> build_versions();

}  // namespace redlock::bench
