#pragma once

#include "base/instant.hpp"
#include "core/node/context.hpp"
#include "core/node/node.hpp"
#include "core/operation.hpp"
#include "core/quorum/outage.hpp"
#include "core/votes.hpp"

#include <algorithm>

namespace redlock::core {

/// Knows whether a majority of the nodes can be asked, and whether it is worth waiting for one.
class availability {
public:
    /// All arguments must outlive the object.
    availability(const node_context& shared, const node_list& nodes) noexcept
        : shared_(shared),
          nodes_(nodes)
    {}

    /// A node became ready, or is not ready any more.
    void on_connection() noexcept;
    /// An attempt that began at `begun` was decided.
    void on_attempt(base::instant begun, verdict v) noexcept
    {
        outage_.on_attempt(begun, shared_.now, v);
    }

    /// Whether a majority is still being connected to for the first time.
    [[nodiscard]] bool is_settling() const noexcept;
    /// Whether a waiting acquire ends because the nodes have been disconnected for too long.
    [[nodiscard]] bool is_out_too_long(const operation& op) const noexcept
    {
        return outage::has_lasted(outage_.disconnected_since(), op.max_outage, shared_.now);
    }
    /// Whether an acquire ends after this attempt, though it has time left.
    [[nodiscard]] bool is_hopeless(const operation& op, verdict of_attempt) const noexcept;
    /// The instant at which a waiting acquire must check next whether its time is over.
    [[nodiscard]] base::instant next_look(const operation& op) const noexcept
    {
        return std::min(op.deadline, outage_.next_look(op.max_outage, shared_.now));
    }

private:
    [[nodiscard]] bool has_majority() const noexcept;
    [[nodiscard]] bool is_refused_for_good() const noexcept;

    const node_context& shared_;
    const node_list& nodes_;
    /// While there is no majority, a waiting acquire makes attempts at least this often.
    outage outage_{2 * (shared_.settings.backoff_max + shared_.settings.node_timeout)};
};

}  // namespace redlock::core
