#pragma once

#include "base/instant.hpp"
#include "base/owner_token.hpp"
#include "core/votes.hpp"

#include <boost/intrusive/unordered_set_hook.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace redlock::core {

struct renewal;
struct wait_queue;
struct operation;

/// The names of several resources that are locked as one, without the key prefix.
using group = std::shared_ptr<const std::vector<std::string>>;

/// The place of a lease in the `leader_table`.
using leader_hook = boost::intrusive::unordered_set_base_hook<
    boost::intrusive::link_mode<boost::intrusive::normal_link>>;

/**
 * One owner token and the keys that hold it: an attempt, which becomes a held lock or is released.
 *
 * Everything that may still need the keys has a reference: the lock object, its operations, and
 * every command without an answer. Any thread may read `resource`, `group`, `within`, `token`,
 * `fencing_token`, `valid_until` and `granted` of a held lease.
 */
struct lease : leader_hook {
    /// The resource without the key prefix; among several, the first.
    std::string resource;
    /// All resources, if there are several; null: there is one.
    core::group group;
    base::owner_token token;
    /// The value of the keys that name the holder: a `label_tie` and the label. Set when the lock
    /// is granted; null: none.
    std::unique_ptr<const std::string> label;
    base::nanos ttl{};

    /// The instant before the first byte of the SET, or of the last extend that succeeded.
    base::instant t0{};

    /// The latest end of a key, if the nodes have executed every command in time.
    base::instant keys_end{};

    /// The end of the keys that the client asked for and a majority confirmed.
    base::instant asked_until{};

    /// The nodes to which the SET was written. No other node can have the key.
    node_mask asked = 0;
    /// The nodes whose answer to the SET was read.
    node_mask answered = 0;
    /// The nodes that granted the key, also too late. Atomic, since a lock may be asked on any
    /// thread.
    std::atomic<node_mask> granted{0};

    /// Under the restart guard, the nodes that have proved after their grant that they are
    /// admitted. Only their extends count without another proof.
    node_mask counted = 0;

    /// Greater than every token that was agreed on before this attempt began; zero: none. Set once,
    /// before a caller has the lease.
    std::uint64_t fencing_token = 0;

    /// The lease was adopted: another client set the keys, and any node may have one.
    bool adopted = false;
    /// The lease was lost: its validity has ended, or a majority does not have the key. Final.
    bool lost = false;
    /// The client has begun to release the keys. The lease is not valid any more.
    bool is_released = false;

    /// This record's own hold has ended.
    bool is_hold_over = false;
    /// The lease was detached, on any thread. The keys on the nodes are not this client's any more.
    std::atomic<bool> is_detached = false;
    /// The lease leads its resource within the client: see `wait_queue`.
    bool leads = false;
    /// The lease was granted.
    bool is_granted = false;

    /// The number of holds: of this record and of those within it.
    std::uint32_t holds = 1;
    std::uint32_t references = 0;
    /// The lease that this record is a further hold of; such a record has no keys. Counted.
    lease* within = nullptr;
    /// The reentrant owner, as `reentrant_holds` knows it; null: none.
    const char* held_by = nullptr;

    /// The renewals and waits of a held lease; null: none. Only the record of the root counts.
    core::renewal* renewal = nullptr;

    /// The hash of the resource, or of the first of several.
    std::uint64_t resource_hash = 0;
    /// The acquire whose attempts use the lease, while it leads and is not granted.
    operation* acquire = nullptr;
    /// The queue of the waiters for the resource; null: there is none.
    wait_queue* queue = nullptr;

    /// The next one in the list of leases that were detached on other threads.
    lease* left_before = nullptr;

    /// The first nanosecond at which the lock is not valid. Atomic, since a lock may be asked on
    /// any thread.
    std::atomic<std::int64_t> valid_until_ns{0};

    /// The lease whose keys are on the nodes.
    [[nodiscard]] lease& root() noexcept { return within != nullptr ? *within : *this; }
    [[nodiscard]] const lease& root() const noexcept { return within != nullptr ? *within : *this; }

    [[nodiscard]] std::span<const std::string> resources() const noexcept
    {
        return group ? std::span(*group) : std::span(&resource, 1);
    }

    [[nodiscard]] base::instant valid_until() const noexcept
    {
        return base::instant{base::nanos{valid_until_ns.load(std::memory_order_relaxed)}};
    }

    void set_valid_until(base::instant end) noexcept
    {
        valid_until_ns.store(end.time_since_epoch().count(), std::memory_order_relaxed);
    }
};

}  // namespace redlock::core
