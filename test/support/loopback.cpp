#include "support/loopback.hpp"

#include <cerrno>
#include <cstring>
#include <system_error>

#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace redlock::test {

void set_loopback(bool up)
{
    const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ifreq request{};
    std::strcpy(request.ifr_name, "lo");
    request.ifr_flags = static_cast<short>(IFF_LOOPBACK | (up ? IFF_UP | IFF_RUNNING : 0));
    const bool done = fd >= 0 && ::ioctl(fd, SIOCSIFFLAGS, &request) == 0;
    const int error = errno;
    if (fd >= 0) {
        ::close(fd);
    }
    if (!done) {
        throw std::system_error(error, std::generic_category(), "the loopback device");
    }
}

bool has_ipv6_loopback() noexcept
{
    const int fd = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_addr = IN6ADDR_LOOPBACK_INIT;
    const bool is_there =
        fd >= 0 && ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    if (fd >= 0) {
        ::close(fd);
    }
    return is_there;
}

}  // namespace redlock::test
