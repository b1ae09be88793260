#pragma once

#include <functional>
#include <string_view>

namespace redlock {

/// How much a log line matters.
enum class log_level {
    debug,    ///< one line a connection event, for who looks for a fault
    info,     ///< a node became usable again
    warning,  ///< a node is out of use, or something was done without
    error,    ///< somebody has to change a configuration
};

/**
 * Where the client's log lines go.
 *
 * Called on the client's executor, one call at a time; it must not call the client or its locks. A
 * line holds no newline, no control character, no password and no owner token, and names the node
 * it speaks of by its URL, without user and password. What it throws is swallowed: a log must not
 * break a lock. An empty function logs nothing.
 */
using log_sink = std::function<void(log_level, std::string_view line)>;

}  // namespace redlock
