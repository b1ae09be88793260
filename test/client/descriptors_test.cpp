#include "client/fixture.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cstddef>
#include <filesystem>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>

using namespace redlock;
using namespace redlock::test;

namespace {

/// Counts the sockets of this process.
template <class Which>
std::size_t sockets(Which which)
{
    std::size_t found = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        const int fd = std::stoi(entry.path().filename());
        struct stat what {};
        if (::fstat(fd, &what) == 0 && S_ISSOCK(what.st_mode)) {
            found += which(fd);
        }
    }
    return found;
}

}  // namespace

TEST_CASE("a child program inherits no connection of the client", "[descriptors]")
{
    const auto any = [](int) { return true; };
    const auto kept = [](int fd) { return (::fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0; };
    (void)nodes();
    const std::size_t others = sockets(any);
    const std::size_t others_kept = sockets(kept);
    running_client c;
    CHECK(sockets(any) == others + nodes().size());
    CHECK(sockets(kept) == others_kept + nodes().size());
}
