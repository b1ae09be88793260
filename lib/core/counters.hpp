#pragma once

#include "base/instant.hpp"
#include "core/votes.hpp"

#include <cstdint>
#include <vector>

namespace redlock::core {

/**
 * The nodes on which the counter of a resource is known to be there, seeded and with a term of
 * life, so that a plain increment will do. A cache of fixed size: what is not in it is counted by
 * the script once more.
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

    static constexpr std::size_t places = 8192;

    [[nodiscard]] static std::size_t place_of(std::uint64_t resource) noexcept
    {
        return static_cast<std::size_t>(resource) & (places - 1);
    }

    std::vector<known> table_;
};

}  // namespace redlock::core
