#include "client/system/own_network.hpp"

#include "support/loopback.hpp"
#include "support/process.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

namespace redlock::test {
namespace {

constexpr const char* nft = "/usr/sbin/nft";

constexpr const char* loss =
    "table inet loss { chain input { type filter hook input priority 0; "
    "numgen random mod 10 < 3 drop; }; }";

void filter(const char* command)
{
    process program(nft, {command});
    if (program.wait() != 0) {
        throw std::runtime_error("nft refuses its rules");
    }
}

}  // namespace

std::unique_ptr<own_network> own_network::enter(std::string& why_not)
{
    if (::geteuid() != 0) {
        why_not = "not root";
        return nullptr;
    }
    if (!std::filesystem::exists(nft)) {
        why_not = "no nft";
        return nullptr;
    }
    const int before = ::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    if (before < 0 || ::unshare(CLONE_NEWNET) != 0) {
        why_not = std::string("no network namespace: ") + std::strerror(errno);
        if (before >= 0) {
            ::close(before);
        }
        return nullptr;
    }
    std::unique_ptr<own_network> result(new own_network(before));
    result->link(true);
    return result;
}

own_network::~own_network()
{
    (void)::setns(before_, CLONE_NEWNET);
    ::close(before_);
}

void own_network::link(bool up)
{
    set_loopback(up);
}

void own_network::lose_packets(bool lose)
{
    filter(lose ? loss : "delete table inet loss");
}

}  // namespace redlock::test
