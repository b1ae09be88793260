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

/// The label of a holder: `program` without its folder, the process and this host. Truncated to the
/// longest label.
[[nodiscard]] std::string label_of(const std::string& program, int process);

/// Takes the lock as the options say. While it waits, it prints the reason on stderr, because the
/// wait may have no end.
[[nodiscard]] boost::asio::awaitable<taken> take(client& locks, const config& c,
                                                 const taking_options& o,
                                                 std::optional<keep_alive> keep, bool json);

}  // namespace redlock::cli
