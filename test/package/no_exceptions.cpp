// A part of a program that is compiled without exceptions and gets locks, reports and errors. It
// includes all headers except the three that docs/install.md names.
#include <redlock/clock.hpp>
#include <redlock/config.hpp>
#include <redlock/error.hpp>
#include <redlock/keep_alive.hpp>
#include <redlock/lock.hpp>
#include <redlock/log.hpp>
#include <redlock/reentrant_owner.hpp>
#include <redlock/report.hpp>
#include <redlock/result.hpp>
#include <redlock/scope.hpp>
#include <redlock/stats.hpp>
#include <redlock/version.hpp>

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

namespace {

bool may_write(const redlock::lock& held, std::uint64_t last_token)
{
    return held.owns() && held.fencing_token() >= last_token;
}

bool is_worth_a_retry(redlock::error_code ec, const redlock::report& met)
{
    for (const auto& node : met.nodes) {
        std::printf("%s: %s\n", node.node.c_str(), to_string(node.outcome));
    }
    return ec == redlock::condition::not_acquired;
}

}  // namespace

int main()
{
    redlock::lock held;
    const bool was_let = may_write(held, 0);
    const std::string token = std::move(held).detach();
    redlock::report met;
    met.nodes.emplace_back().node = "redis://127.0.0.1";
    const bool is_well = !was_let && token.empty() && !redlock::version().empty() &&
                         is_worth_a_retry(redlock::errc::contended, met);
    return is_well ? 0 : 1;
}
