#include "load/meter.hpp"

#include "load/histogram.hpp"

#include <boost/version.hpp>

#include <algorithm>

namespace redlock::bench {

void meter::begin()
{
    server_cpu_ = servers_ ? servers_() : 0;
    used_ = usage_now();
    start_ = std::chrono::steady_clock::now();
}

void meter::end(result& r, const histogram& acquires) const
{
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
    const usage used = usage_now();
    const auto cycles = static_cast<double>(std::max<std::uint64_t>(r.cycles, 1));

    r.seconds = elapsed.count();
    r.cycles_per_second = static_cast<double>(r.cycles) / r.seconds;
    r.acquire_p50_us = acquires.percentile_us(0.5);
    r.acquire_p99_us = acquires.percentile_us(0.99);
    r.acquire_p999_us = acquires.percentile_us(0.999);
    r.client_cpu_us_per_cycle = (used.cpu_seconds - used_.cpu_seconds) * 1e6 / cycles;
    r.allocations_per_cycle = static_cast<double>(used.allocations - used_.allocations) / cycles;
    r.peak_rss_kib = used.peak_rss_kib;
    if (servers_) {
        r.server_cpu_us_per_cycle = (servers_() - server_cpu_) * 1e6 / cycles;
    }
}

std::map<std::string, std::string> build_versions()
{
#if defined(__clang__)
    std::string compiler = "clang " __clang_version__;
#else
    std::string compiler = "gcc " __VERSION__;
#endif
    return {
        {"compiler", std::move(compiler)},
        {"boost", std::to_string(BOOST_VERSION / 100'000) + "." +
                      std::to_string(BOOST_VERSION / 100 % 1000)},
    };
}

}  // namespace redlock::bench
