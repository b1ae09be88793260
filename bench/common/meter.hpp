#pragma once

#include "common/result.hpp"
#include "common/usage.hpp"

#include <chrono>
#include <functional>
#include <utility>

namespace redlock::bench {

class histogram;

/// Measures from one moment to another what a run took of time, of this process and of the servers.
class meter {
public:
    /// What tells the processor time of all servers, in seconds; empty if nobody can.
    explicit meter(std::function<double()> servers) : servers_(std::move(servers)) {}

    /// Call after the warm-up.
    void begin();

    /// Call at the end of the measured time. Fills everything in `r` that follows from it,
    /// `r.cycles` being set.
    void end(result& r, const histogram& acquires) const;

private:
    std::function<double()> servers_;
    std::chrono::steady_clock::time_point start_;
    usage used_;
    double server_cpu_ = 0;
};

/// The versions every C++ program here tells: compiler and Boost.
[[nodiscard]] std::map<std::string, std::string> build_versions();

}  // namespace redlock::bench
