#pragma once

#include <functional>
#include <string_view>

namespace redlock {

/// Importance of a log line.
enum class log_level {
    debug,    ///< A connection event, one line each, for troubleshooting.
    info,     ///< Another event, such as a node that became usable again.
    warning,  ///< A node is out of use or another server, or the client does without something.
    error,    ///< A mistake that only a change of configuration or code can correct.
};

/**
 * Receiver of a client's log lines. An empty function logs nothing.
 *
 * The client calls it on the client's executor, one call at a time. The receiver must not call the
 * client or its locks. The client ignores every exception from it, because a log must not break a
 * lock.
 *
 * A line contains no newline, no control character, no password and no owner token. It names its
 * node by the node's URL without user and password.
 */
using log_sink = std::function<void(log_level, std::string_view line)>;

}  // namespace redlock
