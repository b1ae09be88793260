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
 * The nodes on which the counter of a resource is known to be there, seeded and with a term of
 * life, so that a plain increment will do. A cache that grows with the resources in use, to 4 MiB
 * at most: what is not in it is counted by the script once more.
 */
class counters {
public:
    /// Whether the counter has been seen by the node's connection, and will be there for a while.
    [[nodiscard]] bool knows(std::uint64_t resource, unsigned node,
                             base::instant now) const noexcept;

    /// It was there at `when` or later, with a term of `life` from then on.
    void note(std::uint64_t resource, unsigned node, base::instant when, base::nanos life) noexcept;

    /// The node has another connection, and may have lost what was seen before.
    void on_connected(unsigned node) noexcept { made_[node] = ++connections_; }

    /// It is gone after all.
    void forget(std::uint64_t resource, unsigned node) noexcept;

    /// Takes the memory, if it has not been taken. May throw `std::bad_alloc`.
    void reserve();

private:
    struct known {
        std::uint64_t resource = 0;
        base::instant end{};  ///< the first of the nodes'
        /// The youngest of the connections that saw it. Nodes that have a younger one by now may
        /// have lost it since.
        std::uint64_t youngest = 0;
        node_mask nodes = 0;
    };

    static constexpr std::size_t fewest = 8192;
    static constexpr std::size_t most = 131'072;
    /// A resource has so many places, next to each other, in any of which it may stand. With one
    /// the tenth part of a thousand resources would put each other out for ever.
    static constexpr std::size_t ways = 4;

    template <class Table>
    [[nodiscard]] static auto places_in(Table& table, std::uint64_t resource) noexcept;
    [[nodiscard]] bool is_seen(const known& k, unsigned node) const noexcept;
    [[nodiscard]] node_mask others_that_know(const known& k, unsigned node) const noexcept;
    [[nodiscard]] known& place_for(std::uint64_t resource, base::instant when) noexcept;
    bool grow() noexcept;

    std::vector<known> table_;
    std::uint64_t connections_ = 0;
    /// Of each node: which of all connections it has.
    std::array<std::uint64_t, max_nodes> made_{};
};

}  // namespace redlock::core
