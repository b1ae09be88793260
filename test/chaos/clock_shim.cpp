// Preloaded into a server: its wall clock is as wrong as its page says (see clock_page.hpp). It
// makes system calls only, because the server's allocator reads the time before anything else is
// ready.

#include "chaos/clock_page.hpp"

#include <cstdlib>
#include <ctime>

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

namespace {

using redlock::chaos::clock_page;

constexpr std::int64_t second = 1'000'000'000;

const clock_page* page = nullptr;

__attribute__((constructor)) void open_page()
{
    const char* path = std::getenv(redlock::chaos::clock_page_variable);
    const int fd = path != nullptr ? ::open(path, O_RDONLY | O_CLOEXEC) : -1;
    void* memory =
        fd >= 0 ? ::mmap(nullptr, sizeof(clock_page), PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (memory == MAP_FAILED) {
        // A test that expects a wrong clock must not run with a right one.
        std::abort();
    }
    ::close(fd);
    page = static_cast<const clock_page*>(memory);
}

std::int64_t ahead()
{
    if (page == nullptr) {
        return 0;
    }
    timespec monotonic{};
    ::syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &monotonic);
    const std::int64_t at = monotonic.tv_sec * second + monotonic.tv_nsec;
    for (;;) {
        const auto before = page->version.load(std::memory_order_acquire);
        const auto result = page->ahead_at(at);
        std::atomic_thread_fence(std::memory_order_acquire);
        if (before % 2 == 0 && before == page->version.load(std::memory_order_relaxed)) {
            return result;
        }
        ::sched_yield();
    }
}

int read_clock(clockid_t id, timespec* t)
{
    const auto result = static_cast<int>(::syscall(SYS_clock_gettime, id, t));
    if (result == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) {
        const std::int64_t shown = t->tv_sec * second + t->tv_nsec + ahead();
        t->tv_sec = shown / second;
        t->tv_nsec = shown % second;
    }
    return result;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t id, timespec* t) noexcept
{
    return read_clock(id, t);
}

int gettimeofday(timeval* __restrict t, void* __restrict) noexcept
{
    timespec shown{};
    const int result = read_clock(CLOCK_REALTIME, &shown);
    *t = {shown.tv_sec, shown.tv_nsec / 1'000};
    return result;
}

time_t time(time_t* t) noexcept
{
    timespec shown{};
    read_clock(CLOCK_REALTIME, &shown);
    if (t != nullptr) {
        *t = shown.tv_sec;
    }
    return shown.tv_sec;
}
}
