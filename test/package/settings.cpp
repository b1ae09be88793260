// A user's unit that includes only HEADER. With USER_RUNS it makes a client.
#include HEADER

#ifdef USER_RUNS
#include <boost/asio/io_context.hpp>

int main()
{
    boost::asio::io_context context;
    redlock::client locks(context, {.nodes = {"redis://127.0.0.1:1"}});
    return locks.stats().acquired == 0 ? 0 : 1;
}
#elif !defined(USER_HAS_NO_MAIN)
int main() {}
#endif
