#include <redlock/error.hpp>
#include <redlock/version.hpp>

#include <cstdio>
#include <string>

// What every way of getting the library must be able to build and run: headers, symbols and one version.
int main()
{
    const redlock::error_code error = redlock::errc::contended;
    std::printf("redlock %s, %s: %s\n", std::string(redlock::version()).c_str(),
                error.category().name(), error.message().c_str());
    const std::string expected = std::to_string(REDLOCK_VERSION_MAJOR) + '.' +
                                 std::to_string(REDLOCK_VERSION_MINOR) + '.' +
                                 std::to_string(REDLOCK_VERSION_PATCH);
    return redlock::version() == expected && error.category().name() == std::string("redlock") ? 0
                                                                                               : 1;
}
