#pragma once

#include "load/result.hpp"
#include "load/usage.hpp"

#include <chrono>
#include <functional>
#include <utility>

namespace redlock::bench {

class histogram;

/// Measures the time that a run takes between two moments, of this process and of the servers.
class meter {
public:
    /// Returns the processor time of all servers, in seconds. Empty if it can't be known.
    explicit meter(std::function<double()> servers) : servers_(std::move(servers)) {}

    /// Call after the warm-up.
    void begin();

    /// Call at the end of the measured time. Fills everything in `r` that follows from it, after
    /// `r.cycles` is set.
    void end(result& r, const histogram& acquires) const;

private:
    std::function<double()> servers_;
    std::chrono::steady_clock::time_point start_;
    usage used_;
    double server_cpu_ = 0;
};

/// The versions that every C++ program here reports: compiler and Boost.
[[nodiscard]] std::map<std::string, std::string> build_versions();

}  // namespace redlock::bench
