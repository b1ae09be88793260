#pragma once

#include "cli/commands.hpp"

#include <redlock/redlock.hpp>

#include <boost/asio/awaitable.hpp>

#include <functional>
#include <optional>
#include <string>

namespace redlock::cli {

/// Adopts the lock of the owner token, and passes it to `work`. Without a ttl, the lock gets the
/// shortest one, which does no harm: an adoption never shortens a lease. Returns the exit status.
[[nodiscard]] int with_held(const masters_options& masters, const held_options& o,
                            const std::optional<duration>& ttl,
                            const std::function<boost::asio::awaitable<int>(client&, lock)>& work);

/// Prints on stderr why a lock can't be extended or released. Returns the exit status. The nodes
/// don't distinguish a lock that has ended from a token of another lock, so the text doesn't
/// either.
int fail_held(const held_options& o, error_code error, const report& nodes, bool json);

}  // namespace redlock::cli
