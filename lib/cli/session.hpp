#pragma once

#include <redlock/client.hpp>
#include <redlock/config.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <functional>

namespace redlock::cli {

/// What a command does with a client; gives the exit status.
using work = std::function<boost::asio::awaitable<int>(client& locks)>;

/// Who ends a command that is told to end.
enum class interrupts {
    cancel_work,   ///< the session: SIGINT, SIGTERM and SIGHUP cancel what is awaited
    left_to_work,  ///< the command itself
};

/**
 * Runs `what` with a client in the calling thread, and closes the client behind it, so that what is
 * to be given back goes out. Gives what `what` gave, or 128 and the signal's number when one ended
 * it.
 */
[[nodiscard]] int with_client(const config& c, interrupts who, const work& what);

/// Waits until each node can be asked or has failed to connect. A node whose refusal passes by
/// itself, such as LOADING, has not failed. The wait lasts no longer than a node timeout once a
/// majority can be asked, and not longer than `bound`. An operation that waits for nobody would
/// find none in a new client.
[[nodiscard]] boost::asio::awaitable<void> connected(client& locks, const config& c,
                                                     std::chrono::milliseconds bound);

}  // namespace redlock::cli
