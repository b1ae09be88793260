#pragma once

#include <redlock/log.hpp>
#include <redlock/stats.hpp>

#include "base/entropy.hpp"
#include "base/instant.hpp"
#include "base/settings.hpp"
#include "core/command.hpp"
#include "core/counters.hpp"
#include "core/debts.hpp"
#include "core/fifo.hpp"
#include "core/output.hpp"
#include "core/pool.hpp"
#include "core/votes.hpp"

#include <cstddef>
#include <initializer_list>
#include <string_view>

namespace redlock::core {

/// What the nodes of a client share.
struct node_context {
    node_context(const base::settings& s, base::entropy& source) : settings(s), random(source) {}

    const base::settings& settings;
    base::entropy& random;
    base::instant now{};
    /// The client makes no further connections.
    bool stopped = false;
    redlock::stats stats;

    // The nodes that the engine must connect to, disconnect from and write to.
    node_mask to_connect = 0;
    node_mask to_close = 0;
    node_mask written = 0;

    /// Fencing counters that nodes are known to have.
    counters known_counters;

    // Memory. It outlives the nodes, which give back what they have.
    pool<debt> pending_releases;
    /// A thousand acquires with tokens, all in one turn, take five blocks of each node. After a
    /// burst, half a MiB for each node is kept.
    static constexpr std::size_t blocks_a_node = 8;
    output_blocks blocks{settings.nodes.size() * blocks_a_node};
    fifo<pending>::blocks fifo_blocks;

    /// Writes a line to the user's log, from these parts.
    void log(log_level level, std::initializer_list<std::string_view> line) const noexcept;
    /// A random span from zero to below `bound`; half of it if there is no entropy.
    [[nodiscard]] base::nanos random_below(base::nanos bound) noexcept;
};

}  // namespace redlock::core
