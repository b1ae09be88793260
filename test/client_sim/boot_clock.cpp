#include <redlock/clock.hpp>

#include "client_sim/clockwork.hpp"

#include <ctime>

// Replaces the library's clock: during a play, locks read virtual time.
namespace redlock {

boot_clock::time_point boot_clock::now() noexcept
{
    if (const test::clockwork* const c = test::clockwork::playing) {
        return time_point{c->now().time_since_epoch()};
    }
    timespec t{};
    clock_gettime(CLOCK_BOOTTIME, &t);
    return time_point{std::chrono::seconds{t.tv_sec} + std::chrono::nanoseconds{t.tv_nsec}};
}

}  // namespace redlock
