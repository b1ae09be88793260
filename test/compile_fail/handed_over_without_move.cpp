// expect: discards qualifiers|passing .* as .*this.*|rvalue
#include <redlock/lock.hpp>

std::string hand_over(redlock::lock& held)
{
#ifdef REDLOCK_TWIN
    return std::move(held).hand_over();
#else
    return held.hand_over();
#endif
}
