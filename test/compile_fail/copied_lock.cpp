// expect: use of deleted function|call to deleted constructor
#include <redlock/lock.hpp>

redlock::lock taken_from(redlock::lock& held)
{
#ifdef REDLOCK_TWIN
    redlock::lock other = std::move(held);
#else
    redlock::lock other = held;
#endif
    return other;
}
