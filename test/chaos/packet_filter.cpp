#include "chaos/packet_filter.hpp"

#include "support/loopback.hpp"
#include "support/process.hpp"

#include <cerrno>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <stdexcept>
#include <utility>

#include <sched.h>
#include <unistd.h>

namespace redlock::chaos {
namespace {

constexpr const char* rules = R"(
table inet chaos {
    set swallowed_up { type inet_service; }
    set swallowed_down { type inet_service; }
    set rejected { type inet_service; }
    set scattered { type inet_service; }
    chain input {
        type filter hook input priority 0;
        tcp dport @swallowed_up drop
        tcp sport @swallowed_down drop
        tcp dport @rejected reject with tcp reset
        tcp dport @scattered numgen random mod 10 < 3 drop
        tcp sport @scattered numgen random mod 10 < 3 drop
    }
}
)";

const char* set_of(packet_fate fate)
{
    switch (fate) {
        case packet_fate::swallowed_up: return "swallowed_up";
        case packet_fate::swallowed_down: return "swallowed_down";
        case packet_fate::rejected: return "rejected";
        case packet_fate::scattered: return "scattered";
    }
    return "";
}

std::filesystem::path find_nft()
{
    // Often missing from the PATH of users without root, and even of users that became root.
    for (const std::filesystem::path each : {"/usr/sbin/nft", "/sbin/nft", "/usr/bin/nft"}) {
        if (std::filesystem::exists(each)) {
            return each;
        }
    }
    return {};
}

}  // namespace

std::unique_ptr<packet_filter> packet_filter::make(std::string& why_not)
{
    if (::geteuid() != 0) {
        why_not = "that takes root, who also needs nft";
        return nullptr;
    }
    auto program = find_nft();
    if (program.empty()) {
        why_not = "there is no program nft";
        return nullptr;
    }
    if (::unshare(CLONE_NEWNET) != 0) {
        why_not = std::string("no network namespace: ") + std::strerror(errno);
        return nullptr;
    }
    test::set_loopback(true);
    std::unique_ptr<packet_filter> result(new packet_filter(std::move(program)));
    try {
        result->run(rules);
    } catch (const std::exception& e) {
        // A kernel without a part of nftables. The namespace works without it.
        why_not = e.what();
        return nullptr;
    }
    return result;
}

void packet_filter::begin(packet_fate fate, std::uint16_t port) const
{
    run("add element inet chaos " + std::string(set_of(fate)) + " { " + std::to_string(port) +
        " }");
}

void packet_filter::end(packet_fate fate, std::uint16_t port) const
{
    run("delete element inet chaos " + std::string(set_of(fate)) + " { " + std::to_string(port) +
        " }");
}

void packet_filter::run(const std::string& command) const
{
    test::process nft(program_, {command});
    if (nft.wait() != 0) {
        throw std::runtime_error("nft refuses its rules");
    }
}

}  // namespace redlock::chaos
