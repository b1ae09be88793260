#pragma once

#include <redlock/error.hpp>

#include <functional>
#include <string>
#include <string_view>

namespace redlock {

/// User and password with which a client logs in at one node. Any bytes, at most 16 KiB in sum.
struct credentials {
    /// User name. Empty: the user of the node's URL, or without one the default user of the node.
    std::string user{};
    /// Password. Empty with a user: the user logs in without one, because a password of the URL may
    /// be another user's. If user and password are both empty, the client does not log in, even if
    /// the URL has a user or a password.
    std::string password{};
};

/**
 * Function that takes the answer of a `credentials_provider`: an error, or user and password.
 *
 * The provider may copy it, and may call it at once or later, from any thread. The first call
 * counts. These calls do nothing:
 * - a further call
 * - a call after `config::connect_timeout`
 * - a call after the client or its execution context is gone
 *
 * The client overwrites the password that it receives.
 */
using credentials_reply = std::function<void(error_code, credentials)>;

/**
 * Provider of user and password for one node, in place of those in the node's URL.
 *
 * The client calls it before each attempt to connect to a node, and connects once the reply has
 * come. The call is made on the client's executor, with `config::thread_safe` on its strand. `node`
 * is the node's URL as in log lines and reports, without user and password. It is valid during the
 * call. The provider may call the client and its locks, and must not block.
 *
 * Each of these ends the attempt to connect:
 * - the reply is an error
 * - the provider throws
 * - user and password are too long
 * - there is no reply within `config::connect_timeout`
 *
 * The log and the reports say why, with the message of the error or the exception. So such a
 * message must contain no secret. The client tries again after its usual back-off, and asks the
 * provider again.
 */
using credentials_provider = std::function<void(std::string_view node, credentials_reply reply)>;

}  // namespace redlock
