#pragma once

#include <redlock/config.hpp>

#include "base/instant.hpp"
#include "core/votes.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace redlock::core {

/**
 * Remembers which nodes have a seeded fencing counter with a ttl for a resource, so that a plain
 * INCR is enough. It is a cache, which grows with the resources in use up to 4 MiB. For a counter
 * that is not in it, the client sends the script once more.
 */
class counters {
public:
    /// Whether the node's present connection has seen the counter, and the counter still has a part
    /// of its ttl left.
    [[nodiscard]] bool knows(std::uint64_t resource, unsigned node,
                             base::instant now) const noexcept;

    /// The counter was on the node at `when` or later, with a ttl of `life` from then on.
    void note(std::uint64_t resource, unsigned node, base::instant when, base::nanos life) noexcept;

    /// The node has another connection, and may have lost what was seen before.
    void on_connected(unsigned node) noexcept { made_[node] = ++connections_; }

    /// The counter has gone before its time.
    void forget(std::uint64_t resource, unsigned node) noexcept;

    /// Allocates the table at the first call. May throw `std::bad_alloc`.
    void reserve();

private:
    struct known {
        std::uint64_t resource = 0;
        base::instant end{};  ///< the earliest end on any of these nodes
        /// The youngest of the connections that saw the counter. A node with a younger connection
        /// may have lost the counter since.
        std::uint64_t youngest = 0;
        node_mask nodes = 0;
    };

    static constexpr std::size_t fewest = 8192;
    static constexpr std::size_t most = 131'072;
    /// The number of adjacent places of the table that may have a resource. With one place, a tenth
    /// of a thousand resources would displace each other all the time.
    static constexpr std::size_t ways = 4;

    template <class Table>
    [[nodiscard]] static auto places_in(Table& table, std::uint64_t resource) noexcept;
    [[nodiscard]] bool is_seen(const known& k, unsigned node) const noexcept;
    [[nodiscard]] node_mask others_that_know(const known& k, unsigned node) const noexcept;
    [[nodiscard]] known& place_for(std::uint64_t resource, base::instant when) noexcept;
    bool grow() noexcept;

    std::vector<known> table_;
    std::uint64_t connections_ = 0;
    /// The serial number of each node's present connection.
    std::array<std::uint64_t, max_nodes> made_{};
};

}  // namespace redlock::core
