#include "common/usage.hpp"

#include <fstream>
#include <string>

#include <sys/resource.h>

namespace redlock::bench {
namespace {

double seconds(const timeval& t)
{
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
}

// Not ru_maxrss: that one outlives exec, so it may tell the peak of whoever started this process.
std::uint64_t peak_rss_kib()
{
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;) {
        std::uint64_t kib = 0;
        if (word == "VmHWM:" && status >> kib) {
            return kib;
        }
    }
    return 0;
}

}  // namespace

usage usage_now()
{
    rusage spent{};
    ::getrusage(RUSAGE_SELF, &spent);
    return {seconds(spent.ru_utime) + seconds(spent.ru_stime), allocations(), peak_rss_kib()};
}

}  // namespace redlock::bench
