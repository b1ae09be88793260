#include "client/system/network.hpp"

#include <charconv>
#include <filesystem>
#include <map>
#include <mutex>
#include <utility>

#include <dlfcn.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace redlock::test {
namespace {

/// The next function of that name after this program's own: a sanitizer's, or the C library's.
template <class Function>
Function* next(const char* name)
{
    return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

std::mutex mutex;
std::map<std::string, std::vector<std::string>> names;
std::map<std::uint16_t, std::size_t> writes;
std::map<std::uint16_t, std::size_t> connects;

/// 0 if it is not a TCP port.
std::uint16_t port_of(const sockaddr& address)
{
    switch (address.sa_family) {
        case AF_INET: return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
        case AF_INET6: return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
        default: return 0;
    }
}

/// 0 if it is not a connection to a TCP port.
std::uint16_t peer_port(int fd)
{
    sockaddr_storage peer{};
    auto& address = reinterpret_cast<sockaddr&>(peer);
    socklen_t size = sizeof peer;
    return ::getpeername(fd, &address, &size) == 0 ? port_of(address) : 0;
}

void count_write(int fd, ssize_t written)
{
    if (written < 0) {
        return;
    }
    if (const auto port = peer_port(fd); port != 0) {
        const std::lock_guard lock(mutex);
        ++writes[port];
    }
}

/// The addresses of a name that is set here, or null for other names.
const std::vector<std::string>* addresses_of(const char* name)
{
    const auto found = name != nullptr ? names.find(name) : names.end();
    return found != names.end() ? &found->second : nullptr;
}

}  // namespace

resolved_name::resolved_name(std::string name, std::vector<std::string> addresses)
    : name_(std::move(name))
{
    const std::lock_guard lock(mutex);
    names[name_] = std::move(addresses);
}

resolved_name::~resolved_name()
{
    const std::lock_guard lock(mutex);
    names.erase(name_);
}

std::size_t writes_to(std::uint16_t port)
{
    const std::lock_guard lock(mutex);
    return writes[port];
}

std::size_t connects_to(std::uint16_t port)
{
    const std::lock_guard lock(mutex);
    return connects[port];
}

std::vector<int> sockets_to(std::uint16_t port)
{
    std::vector<int> result;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        const auto digits = entry.path().filename().string();
        int fd = -1;
        std::from_chars(digits.data(), digits.data() + digits.size(), fd);
        if (peer_port(fd) == port) {
            result.push_back(fd);
        }
    }
    return result;
}

}  // namespace redlock::test

// Replaces the C library's function for all libraries of this program.
extern "C" {

ssize_t send(int fd, const void* data, std::size_t size, int flags)
{
    static auto* const real = redlock::test::next<decltype(send)>("send");
    const auto written = real(fd, data, size, flags);
    redlock::test::count_write(fd, written);
    return written;
}

ssize_t sendmsg(int fd, const msghdr* message, int flags)
{
    static auto* const real = redlock::test::next<decltype(sendmsg)>("sendmsg");
    const auto written = real(fd, message, flags);
    redlock::test::count_write(fd, written);
    return written;
}

int connect(int fd, const sockaddr* address, socklen_t size)
{
    static auto* const real = redlock::test::next<decltype(connect)>("connect");
    if (const auto port = redlock::test::port_of(*address); port != 0) {
        const std::lock_guard lock(redlock::test::mutex);
        ++redlock::test::connects[port];
    }
    return real(fd, address, size);
}

int getaddrinfo(const char* name, const char* service, const addrinfo* hints, addrinfo** found)
{
    static auto* const real = redlock::test::next<decltype(getaddrinfo)>("getaddrinfo");
    const std::lock_guard lock(redlock::test::mutex);
    const auto* addresses = redlock::test::addresses_of(name);
    if (addresses == nullptr) {
        return real(name, service, hints, found);
    }
    // The caller that frees the first one frees the whole list.
    addrinfo** end = found;
    *found = nullptr;
    for (const auto& address : *addresses) {
        const int error = real(address.c_str(), service, hints, end);
        if (error != 0) {
            ::freeaddrinfo(*found);
            return error;
        }
        while (*end != nullptr) {
            end = &(*end)->ai_next;
        }
    }
    return 0;
}
}
