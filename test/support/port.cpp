#include "support/port.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace redlock::test {
namespace {

/// The benchmarks' own nodes have ports below this range (lib/load/servers.cpp, bench/harness).
constexpr unsigned first_port = 12'000;

unsigned first_ephemeral_port()
{
    unsigned low = 32'768;
    std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> low;
    return low;
}

/// A socket that holds the abstract name of the port, or -1 if another process holds it.
int claim(unsigned port)
{
    const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    const auto text = "redlock-test-port-" + std::to_string(port);
    std::memcpy(name.sun_path + 1, text.data(), text.size());
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
    if (fd >= 0 && ::bind(fd, reinterpret_cast<sockaddr*>(&name), size) != 0) {
        ::close(fd);
        return -1;
    }
    return fd;
}

bool nobody_listens(unsigned port)
{
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_port = htons(static_cast<std::uint16_t>(port));
    name.sin_addr.s_addr = htonl(INADDR_ANY);
    const bool free = ::bind(fd, reinterpret_cast<sockaddr*>(&name), sizeof name) == 0;
    ::close(fd);
    return free;
}

}  // namespace

reserved_port::reserved_port()
{
    const unsigned end = std::max(first_ephemeral_port(), first_port + 1'000);
    const unsigned count = std::min(end, 65'536U) - first_port;
    // Each process begins at a different place, and never takes the same port twice in a row. So a
    // client that still tries to reach one test's server does not reach the next one's.
    static std::atomic<unsigned> tries{static_cast<unsigned>(::getpid()) * 37U};
    for (unsigned i = 0; i < count; ++i) {
        const unsigned port = first_port + tries.fetch_add(1) % count;
        const int fd = claim(port);
        if (fd >= 0 && nobody_listens(port)) {
            number_ = static_cast<std::uint16_t>(port);
            claim_ = fd;
            return;
        }
        if (fd >= 0) {
            ::close(fd);
        }
    }
    throw std::runtime_error("no free port on the loopback");
}

reserved_port::~reserved_port()
{
    ::close(claim_);
}

}  // namespace redlock::test
