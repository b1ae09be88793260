#include "client/system/clocks.hpp"

#include <cstdint>
#include <ctime>

#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

// The replacements run before a sanitizer is ready for the program's own code.
#define REDLOCK_TEST_PLAIN __attribute__((no_sanitize("address", "thread", "undefined")))

namespace redlock::test {
namespace {

constexpr std::int64_t second = 1'000'000'000;

/// Nanoseconds. Not std::atomic, whose functions are not plain in the sense above.
std::int64_t system_time_ahead = 0;
std::int64_t boot_time_ahead = 0;

REDLOCK_TEST_PLAIN std::int64_t ahead(clockid_t id) noexcept
{
    switch (id) {
        case CLOCK_REALTIME:
        case CLOCK_REALTIME_COARSE:
        case CLOCK_TAI: return __atomic_load_n(&system_time_ahead, __ATOMIC_RELAXED);
        case CLOCK_BOOTTIME: return __atomic_load_n(&boot_time_ahead, __ATOMIC_RELAXED);
        default: return 0;
    }
}

REDLOCK_TEST_PLAIN int read_clock(clockid_t id, timespec* t) noexcept
{
    const auto result = static_cast<int>(::syscall(SYS_clock_gettime, id, t));
    if (result == 0) {
        const std::int64_t now = t->tv_sec * second + t->tv_nsec + ahead(id);
        t->tv_sec = now / second;
        t->tv_nsec = now % second;
    }
    return result;
}

void add(std::int64_t& ahead, std::chrono::nanoseconds by) noexcept
{
    __atomic_fetch_add(&ahead, by.count(), __ATOMIC_RELAXED);
}

}  // namespace

clocks::~clocks()
{
    __atomic_store_n(&system_time_ahead, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&boot_time_ahead, 0, __ATOMIC_RELAXED);
}

void clocks::step_system_time(std::chrono::nanoseconds by) noexcept
{
    add(system_time_ahead, by);
}

void clocks::suspend(std::chrono::nanoseconds time) noexcept
{
    add(system_time_ahead, time);
    add(boot_time_ahead, time);
}

std::chrono::nanoseconds time_since_boot() noexcept
{
    timespec t{};
    ::syscall(SYS_clock_gettime, CLOCK_BOOTTIME, &t);
    return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

}  // namespace redlock::test

extern "C" {

REDLOCK_TEST_PLAIN int clock_gettime(clockid_t id, timespec* t) noexcept
{
    return redlock::test::read_clock(id, t);
}

REDLOCK_TEST_PLAIN int gettimeofday(timeval* __restrict t, void* __restrict) noexcept
{
    timespec now{};
    const int result = redlock::test::read_clock(CLOCK_REALTIME, &now);
    *t = {now.tv_sec, now.tv_nsec / 1000};
    return result;
}

REDLOCK_TEST_PLAIN time_t time(time_t* t) noexcept
{
    timespec now{};
    redlock::test::read_clock(CLOCK_REALTIME, &now);
    if (t != nullptr) {
        *t = now.tv_sec;
    }
    return now.tv_sec;
}
}
