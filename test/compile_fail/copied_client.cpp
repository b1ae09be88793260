// expect: use of deleted function|call to deleted constructor
#include <redlock/client.hpp>

void use(redlock::client& shared)
{
#ifdef REDLOCK_TWIN
    redlock::client& other = shared;
#else
    redlock::client other = shared;
#endif
    (void)other.stats();
}
