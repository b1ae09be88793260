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
    /// How long it was ready until the node was asked what it has not answered.
    base::nanos lived{};
    /// The name of the node has addresses that were not tried yet.
    bool has_other_addresses = false;
};

/// When to connect to a node again.
class reconnection {
public:
    /// The time until the next attempt. Zero: connect at once, as to the next address of the name,
    /// or because a connection that ended while it was idle can be made again before it is needed.
    /// What the client ended itself, or what did not answer, is a sign of trouble, after which many
    /// clients come back together. Random numbers are drawn from `shared`.
    ///
    /// Each wait is random between the least and three times the last (decorrelated jitter,
    /// https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/).
    [[nodiscard]] base::nanos wait_after(const connection_end& end, node_context& shared) noexcept;

private:
    base::nanos last_wait_{};
    /// Addresses that the client tried without a wait since the last one.
    unsigned other_addresses_tried_ = 0;
};

}  // namespace redlock::core
