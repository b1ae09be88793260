#pragma once

#include <redlock/log.hpp>
#include <redlock/stats.hpp>

#include "base/entropy.hpp"
#include "base/instant.hpp"
#include "base/settings.hpp"
#include "core/lease.hpp"
#include "core/node/batch.hpp"
#include "core/node/command.hpp"
#include "core/node/counters.hpp"
#include "core/node/fifo.hpp"
#include "core/node/output.hpp"
#include "core/node/pending_release.hpp"
#include "core/pool.hpp"
#include "core/round.hpp"
#include "core/votes.hpp"

#include <array>
#include <cassert>
#include <cstddef>
#include <initializer_list>
#include <string_view>

namespace redlock::core {

/// Takes records back when their last reference is gone.
class record_owner {
public:
    virtual void take_back(round& r) noexcept = 0;
    virtual void take_back(lease& l) noexcept = 0;

protected:
    ~record_owner() = default;
};

/// The data that the nodes of a client share.
struct node_context {
    node_context(const base::settings& s, base::entropy& source, record_owner& records)
        : settings(s),
          random(source),
          owner(records)
    {}

    const base::settings& settings;
    base::entropy& random;
    record_owner& owner;
    base::instant now{};
    /// The client makes no further connections.
    bool stopped = false;
    redlock::stats stats;

    // The nodes that the engine must connect to, disconnect from and write to.
    node_mask to_connect = 0;
    node_mask to_close = 0;
    node_mask written = 0;

    /// The number of waiters that rely on each node for a notification.
    std::array<std::size_t, max_nodes> waiters_at{};
    /// The run id of the server that each ready node leads to; empty: unknown, or not ready.
    std::array<std::string_view, max_nodes> run_ids{};
    /// Fencing counters that nodes are known to have.
    counters known_counters;

    // Memory. It outlives the nodes, which return their part of it.
    pool<pending_release> pending_releases;
    /// A thousand acquires with tokens, all in one turn, take five blocks of each node. After a
    /// burst, half a MiB for each node is kept.
    static constexpr std::size_t blocks_a_node = 8;
    output_blocks blocks{settings.nodes.size() * blocks_a_node};
    fifo<pending>::blocks fifo_blocks;
    batch_pool batches;

    template <class Record>
    void unref(Record& counted) noexcept
    {
        assert(counted.references > 0);
        if (--counted.references == 0) {
            owner.take_back(counted);
        }
    }
    /// Writes a line to the user's log, from these parts.
    void log(log_level level, std::initializer_list<std::string_view> line) const noexcept;
    /// A random time below `bound`, or half of it if there is no entropy.
    [[nodiscard]] base::nanos random_below(base::nanos bound) noexcept;
};

}  // namespace redlock::core
