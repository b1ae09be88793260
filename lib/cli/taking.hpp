#pragma once

#include "cli/commands.hpp"

#include <redlock/client.hpp>
#include <redlock/keep_alive.hpp>
#include <redlock/lock.hpp>
#include <redlock/report.hpp>

#include <boost/asio/awaitable.hpp>

#include <optional>
#include <string>

namespace redlock::cli {

struct taken {
    error_code error;
    redlock::lock lock;
    report nodes;
};

/// Names a holder: `program`, without its folder, as a process of this host. Cut to what a label
/// may be.
[[nodiscard]] std::string label_of(const std::string& program, int process);

/// Takes the lock, for as long as the options say; on the way it says on stderr that no majority
/// can be reached, since that may be for ever.
[[nodiscard]] boost::asio::awaitable<taken> take(client& locks, const config& c,
                                                 const taking_options& o,
                                                 std::optional<keep_alive> keep, bool json);

}  // namespace redlock::cli
