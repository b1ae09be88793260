#pragma once

#include "base/instant.hpp"
#include "core/node/context.hpp"

namespace redlock::core {

/// How a connection ended, or an attempt to make one.
struct connection_end {
    bool was_ready = false;
    /// No answer said that the node is unfit.
    bool was_fit = false;
    /// The client did not end it.
    bool by_peer = false;
    /// The node had answered all that it was asked.
    bool was_idle = false;
    /// The time from ready to the oldest command without an answer, or to the end; of no meaning
    /// unless it was ready.
    base::nanos lived{};
    /// The name of the node has addresses that were not tried yet.
    bool has_other_addresses = false;
};

/// When to connect to a node again.
class reconnection {
public:
    /// The time until the next attempt. Zero, to connect at once: there is another address of the
    /// name, or the connection ended while it was idle and can be made again before it is needed.
    /// After all other ends the client waits, so that many clients do not connect together: a
    /// random time from `shared` between the least and three times the last one (decorrelated
    /// jitter, https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/).
    [[nodiscard]] base::nanos wait_after(const connection_end& end, node_context& shared) noexcept;

private:
    base::nanos last_wait_{};
    /// Addresses that the client tried without a wait since the last one.
    unsigned other_addresses_tried_ = 0;
};

}  // namespace redlock::core
