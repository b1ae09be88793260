// expect: completion_token_for|no matching (member )?function|constraints not satisfied
#include <redlock/client.hpp>

void acquire(redlock::client& locks)
{
#ifdef REDLOCK_TWIN
    locks.async_acquire("orders/42", [](redlock::error_code, redlock::lock&&) {});
#else
    locks.async_acquire("orders/42", [](redlock::error_code, redlock::lock&) {});
#endif
}
