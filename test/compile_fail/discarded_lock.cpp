// expect: nodiscard|unused-result|unused-value
#include <redlock/lock.hpp>

redlock::lock take();

void work()
{
#ifdef REDLOCK_TWIN
    const redlock::lock held = take();
#else
    take();
#endif
}
