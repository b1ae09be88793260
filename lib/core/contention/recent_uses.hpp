#pragma once

#include "base/instant.hpp"

#include <boost/unordered/unordered_flat_map.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace redlock::core {

/**
 * Remembers which resources the client uses again and again, and whether other clients wait for
 * them. A resource that is not remembered is asked for as if no other client waited.
 */
class recent_uses {
public:
    /// How long a resource counts as used after its last use, and how often the client asks while
    /// it uses the resource whether others wait.
    static constexpr base::nanos remembered = std::chrono::milliseconds{100};

    struct use {
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
    static constexpr std::size_t most = 8192;

    boost::unordered_flat_map<std::uint64_t, use> uses_;
    /// The use that `note` returns if there is no memory for a new one.
    use forgotten_;
};

}  // namespace redlock::core
