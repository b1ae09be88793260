// expect: discards qualifiers|passing .* as .*this.*|rvalue
#include <redlock/lock.hpp>

std::string detach(redlock::lock& held)
{
#ifdef REDLOCK_TWIN
    return std::move(held).detach();
#else
    return held.detach();
#endif
}
