#pragma once

#include "base/instant.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace redlock::core {

/**
 * Remembers which resources the client uses again and again, and whether other clients wait for
 * them. It is a table that grows with the resources in use, up to 512 KiB. A resource that is not
 * in it is asked for as if no other client waited.
 */
class recent_uses {
public:
    /// How long a resource counts as used after its last use, and how often the client asks while
    /// it uses the resource whether others wait.
    static constexpr base::nanos remembered = std::chrono::milliseconds{100};

    struct use {
        std::uint64_t resource = 0;
        base::instant until = base::instant::min();
        /// When it was last known whether others wait, or when the uses began.
        base::instant asked{};
        bool do_others_wait = false;
        /// Until then, others count as waiting although the queue is empty.
        base::instant may_return_until = base::instant::min();
        /// The resource for which they wait, among several, from one.
        unsigned member = 0;
    };

    /// Null: the client has not used the resource lately.
    [[nodiscard]] use* find(std::uint64_t resource, base::instant now) noexcept;
    /// The client uses the resource until `until`.
    use& note(std::uint64_t resource, base::instant now, base::instant until) noexcept;

private:
    /// The number of places that a resource may have. They are adjacent.
    static constexpr std::size_t ways = 8;
    static constexpr std::size_t fewest = 256 / ways;
    static constexpr std::size_t most = 8192 / ways;

    using bucket = std::array<use, ways>;

    [[nodiscard]] bucket& bucket_of(std::uint64_t resource) noexcept
    {
        return table_[static_cast<std::size_t>(resource) & (table_.size() - 1)];
    }
    [[nodiscard]] use& oldest(std::uint64_t resource) noexcept;
    bool grow() noexcept;

    std::vector<bucket> table_ = std::vector<bucket>(fewest);
};

}  // namespace redlock::core
