#pragma once

#include "base/instant.hpp"
#include "core/node/context.hpp"

namespace redlock::core {

/// The end of a connection, or of an attempt to make one.
struct connection_end {
    bool was_ready = false;
    /// No answer said that the node is unfit.
    bool was_fit = false;
    /// The client did not end it.
    bool by_peer = false;
    /// The node had answered every command.
    bool was_idle = false;
    /// The time from ready to the oldest unanswered command, or to the end. Only valid with
    /// `was_ready`.
    base::nanos lived{};
    /// The name of the node has addresses that were not tried yet.
    bool has_other_addresses = false;
};

/// Decides when the client connects to a node again.
class reconnection {
public:
    /// The time until the next attempt. It is zero if the name has another address. It is also zero
    /// if the connection was idle at its end, since it can then be made again before it is needed.
    /// In other cases the client waits, so that many clients do not connect together. The wait is a
    /// random time between the least one and three times the last one (decorrelated jitter,
    /// https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/).
    [[nodiscard]] base::nanos wait_after(const connection_end& end, node_context& shared) noexcept;

private:
    base::nanos last_wait_{};
    /// The number of addresses that the client has tried since its last wait.
    unsigned other_addresses_tried_ = 0;
};

}  // namespace redlock::core
