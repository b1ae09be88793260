#include "load/usage.hpp"

#include <fstream>
#include <string>
#include <string_view>

#include <sys/resource.h>

namespace redlock::bench {
namespace {

double seconds(const timeval& t)
{
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
}

/// A value from the kernel about this process.
std::uint64_t status_kib(std::string_view field)
{
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;) {
        std::uint64_t kib = 0;
        if (word == field && status >> kib) {
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
    // Not ru_maxrss, which outlives exec and so may report the peak of the parent process.
    return {seconds(spent.ru_utime) + seconds(spent.ru_stime), allocations(), status_kib("VmHWM:")};
}

std::uint64_t resident_kib()
{
    return status_kib("VmRSS:");
}

}  // namespace redlock::bench
