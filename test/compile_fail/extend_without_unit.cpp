// expect: no matching (member )?function|could not convert|cannot convert
#include <redlock/client.hpp>

#include <boost/asio/detached.hpp>

using namespace std::chrono_literals;

void extend(redlock::client& locks, redlock::lock& held)
{
#ifdef REDLOCK_TWIN
    locks.async_extend(held, 10s, boost::asio::detached);
#else
    locks.async_extend(held, 10, boost::asio::detached);
#endif
}
