#pragma once

#include "base/instant.hpp"
#include "core/votes.hpp"

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
    /// Whether the counter has been seen on the node since `since`, and will be there for a while.
    [[nodiscard]] bool knows(std::uint64_t resource, unsigned node, base::instant since,
                             base::instant now) const noexcept;

    /// It was there at `when` or later, with a term of `life` from then on.
    void note(std::uint64_t resource, unsigned node, base::instant when, base::nanos life) noexcept;

    /// It is gone after all.
    void forget(std::uint64_t resource, unsigned node) noexcept;

    /// Takes the memory, if it has not been taken. May throw `std::bad_alloc`.
    void reserve();

private:
    struct known {
        std::uint64_t resource = 0;
        base::instant begin{};
        base::instant end{};
        node_mask nodes = 0;
    };

    static constexpr std::size_t fewest = 8192;
    static constexpr std::size_t most = 131'072;
    /// A resource has so many places, next to each other, in any of which it may stand. With one
    /// the tenth part of a thousand resources would put each other out for ever.
    static constexpr std::size_t ways = 4;

    template <class Table>
    [[nodiscard]] static auto places_in(Table& table, std::uint64_t resource) noexcept;
    [[nodiscard]] known& place_for(std::uint64_t resource, base::instant when) noexcept;
    bool grow() noexcept;

    std::vector<known> table_;
};

}  // namespace redlock::core
