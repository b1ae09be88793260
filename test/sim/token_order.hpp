#pragma once

#include "sim/clock.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace redlock::sim {

/// The fencing tokens of all leases: no two are the same, and one that was known when another
/// lease was begun is smaller. That holds whatever became of exclusion.
class token_order {
public:
    /// A lease that was begun, and whose token became known, at these instants in true time. What
    /// is wrong with it, or nothing.
    [[nodiscard]] std::string_view note(const std::string& resource, std::uint64_t token,
                                        instant begun, instant known);

private:
    struct tokens {
        std::unordered_set<std::uint64_t> all;
        /// The largest known from an instant on.
        std::vector<std::pair<instant, std::uint64_t>> largest;
    };
    std::map<std::string, tokens, std::less<>> by_resource_;
};

}  // namespace redlock::sim
