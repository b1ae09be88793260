#include "support/loopback.hpp"

#include <cerrno>
#include <cstring>
#include <system_error>

#include <net/if.h>
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

}  // namespace redlock::test
