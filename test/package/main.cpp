#include <redlock/redlock.hpp>

#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/system/system_error.hpp>

#include <chrono>
#include <cstdio>
#include <string>

namespace {

using namespace std::chrono_literals;

bool has_the_version_of_its_headers()
{
    const std::string expected = std::to_string(REDLOCK_VERSION_MAJOR) + '.' +
                                 std::to_string(REDLOCK_VERSION_MINOR) + '.' +
                                 std::to_string(REDLOCK_VERSION_PATCH);
    return redlock::version() == expected;
}

/// An acquire from a node that doesn't exist fails when its deadline has passed.
redlock::error_code acquire_from_nobody()
{
    boost::asio::io_context context;
    redlock::config config;
    config.nodes = {"redis://127.0.0.1:1"};
    redlock::client locks(context, config);
    locks.async_run(boost::asio::detached);
    redlock::error_code got;
    locks.async_acquire("resource", {.timeout = 300ms},
                        [&](redlock::error_code ec, redlock::lock held) {
                            got = held.owns() ? redlock::error_code() : ec;
                            locks.async_close(boost::asio::detached);
                        });
    // The run ends with the client. A client that hangs lasts for a minute.
    context.run_for(1min);
    return context.stopped() ? got : redlock::error_code();
}

#ifdef USER_WITHOUT_TLS
/// A library that was built without TLS says so. A library with TLS would try to connect.
bool refuses_tls()
{
    boost::asio::io_context context;
    redlock::config config;
    config.nodes = {"rediss://127.0.0.1:1"};
    try {
        redlock::client locks(context, config);
    } catch (const boost::system::system_error& e) {
        std::printf("%s\n", e.what());
        return e.code() == redlock::errc::invalid_config;
    }
    return false;
}
#else
bool refuses_tls()
{
    return true;
}
#endif

}  // namespace

// A program that must build and run with the library from every source.
int main()
{
    const redlock::error_code error = acquire_from_nobody();
    std::printf("redlock %s, %s: %s\n", std::string(redlock::version()).c_str(),
                error.category().name(), error.message().c_str());
    const bool is_well = has_the_version_of_its_headers() && refuses_tls() &&
                         error == redlock::condition::not_acquired;
    return is_well ? 0 : 1;
}
