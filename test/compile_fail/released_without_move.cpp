// expect: use of deleted function|call to deleted constructor
#include <redlock/client.hpp>

#include <boost/asio/detached.hpp>

void release(redlock::client& locks, redlock::lock& held)
{
#ifdef REDLOCK_TWIN
    locks.async_release(std::move(held), boost::asio::detached);
#else
    locks.async_release(held, boost::asio::detached);
#endif
}
