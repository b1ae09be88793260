#pragma once

#include <redlock/error.hpp>

#include <functional>
#include <string>
#include <string_view>

namespace redlock {

/// The user and the password that a client logs in with at one node. Any bytes; both together at
/// most 16 KiB.
struct credentials {
    /// The server's default user if it is empty.
    std::string user{};
    /// With an empty user too, the client does not log in.
    std::string password{};
};

/**
 * Takes the answer to one call of a `credentials_provider`: an error, or user and password.
 *
 * It can be copied, and called at once or later, from any thread. The first call counts, and a
 * further one does nothing. So does a call that comes after `config::connect_timeout`, or after the
 * client or its execution context is gone. The client overwrites the password that it is given.
 */
using credentials_reply = std::function<void(error_code, credentials)>;

/**
 * Gives the user and the password for one node, in place of those in the node's URL.
 *
 * The client calls it before each attempt to connect to a node, on the client's executor (with
 * `config::thread_safe` on its strand), and connects once the reply has come. `node` is the node's
 * URL as log lines and reports have it, without user and password; it is valid during the call. The
 * provider may call the client and its locks, and must not block.
 *
 * Each of these ends the attempt to connect:
 * - the reply is an error
 * - the provider throws
 * - user and password are longer than they may be
 * - there is no reply within `config::connect_timeout`
 *
 * The log and the reports say why, with the message of the error or the exception: no message
 * should hold a secret. The client tries again after its usual back-off, and asks again.
 */
using credentials_provider = std::function<void(std::string_view node, credentials_reply reply)>;

}  // namespace redlock
