#include "support/resp_client.hpp"

#include "support/run.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace redlock::test {
namespace {

[[noreturn]] void fail(const char* what)
{
    throw std::system_error(errno, std::generic_category(), what);
}

template <class Address>
int connected(const Address& address)
{
    const int fd = ::socket(reinterpret_cast<const sockaddr&>(address).sa_family,
                            SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        fail("socket");
    }
    const timeval bound{patience.count(), 0};
    ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &bound, sizeof bound);
    ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &bound, sizeof bound);
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        const int error = errno;
        ::close(fd);
        errno = error;
        fail("connect");
    }
    return fd;
}

}  // namespace

resp_client::resp_client(const std::filesystem::path& unix_socket)
{
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const auto& name = unix_socket.native();
    if (name.size() >= sizeof address.sun_path) {
        throw std::length_error("the path of the unix socket is too long");
    }
    std::memcpy(address.sun_path, name.data(), name.size());
    fd_ = connected(address);
}

resp_client::resp_client(std::uint16_t loopback_port)
{
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(loopback_port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    fd_ = connected(address);
}

resp_client::~resp_client()
{
    ::close(fd_);
}

reply resp_client::ask(const std::vector<std::string>& arguments)
{
    send(wire::command(arguments));
    return read();
}

void resp_client::send(std::string_view bytes)
{
    while (!bytes.empty()) {
        const auto sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR) {
            fail("send");
        }
        bytes.remove_prefix(sent < 0 ? 0 : static_cast<std::size_t>(sent));
    }
}

reply resp_client::read()
{
    for (;;) {
        if (auto complete = parse_reply(buffer_)) {
            buffer_.erase(0, complete->size);
            return std::move(complete->value);
        }
        std::array<char, 16 * 1024> chunk;
        const auto received = ::recv(fd_, chunk.data(), chunk.size(), 0);
        if (received == 0) {
            throw std::runtime_error("the server closed the connection");
        }
        if (received < 0 && errno != EINTR) {
            fail("recv");
        }
        buffer_.append(chunk.data(), received < 0 ? 0 : static_cast<std::size_t>(received));
    }
}

}  // namespace redlock::test
