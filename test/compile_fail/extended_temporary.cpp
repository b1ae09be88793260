// expect: cannot bind non-const lvalue reference|no matching (member )?function|expects an lvalue
#include <redlock/client.hpp>

#include <boost/asio/detached.hpp>

using namespace std::chrono_literals;

void extend(redlock::client& locks, redlock::lock& held)
{
#ifdef REDLOCK_TWIN
    locks.async_extend(held, 10s, boost::asio::detached);
#else
    locks.async_extend(std::move(held), 10s, boost::asio::detached);
#endif
}
