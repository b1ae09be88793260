#pragma once

#include <redlock/client.hpp>
#include <redlock/config.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <functional>

namespace redlock::cli {

/// The work of a command with a client. Returns the exit status.
using work = std::function<boost::asio::awaitable<int>(client& locks)>;

/// The part of the program that handles a signal that ends the command.
enum class interrupts {
    cancel_work,   ///< the session: SIGINT, SIGTERM and SIGHUP cancel the operation being awaited
    left_to_work,  ///< the command itself
};

/**
 * Runs `what` with a client in the calling thread. Then closes the client, so that its releases are
 * sent. Returns the exit status of `what`. If a signal ended the work, returns 128 plus the
 * signal's number.
 */
[[nodiscard]] int with_client(const config& c, interrupts who, const work& what);

/// Waits until each node can be asked or has failed to connect. A node that refuses temporarily,
/// for example with LOADING, has not failed. Once a majority can be asked, the wait lasts at most a
/// node timeout; it never exceeds `bound`. Without this wait, an operation that makes one attempt
/// would find no connected node in a new client.
[[nodiscard]] boost::asio::awaitable<void> connected(client& locks, const config& c,
                                                     std::chrono::milliseconds bound);

}  // namespace redlock::cli
