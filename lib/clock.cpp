#include <redlock/clock.hpp>

#include <ctime>

namespace redlock {

boot_clock::time_point boot_clock::now() noexcept
{
#if defined(CLOCK_BOOTTIME)
    constexpr clockid_t clock = CLOCK_BOOTTIME;
#else
    constexpr clockid_t clock = CLOCK_MONOTONIC;
#endif
    timespec t{};
    // The call can't fail, because the clock exists.
    clock_gettime(clock, &t);
    return time_point{std::chrono::seconds{t.tv_sec} + std::chrono::nanoseconds{t.tv_nsec}};
}

}  // namespace redlock
