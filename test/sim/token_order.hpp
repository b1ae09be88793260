#pragma once

#include "sim/clock.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace redlock::sim {

/// The fencing tokens of all leases. No two are equal, and a token that was known when another
/// lease began is smaller than that lease's token. This holds even if exclusion is broken.
class token_order {
public:
    /// Records a lease that began, and whose token became known, at these instants in true time.
    /// Returns what is wrong, or nothing.
    [[nodiscard]] std::string_view note(const std::string& resource, std::uint64_t token,
                                        instant begun, instant known);

private:
    struct tokens {
        std::unordered_set<std::uint64_t> all;
        /// The largest known token from an instant on.
        std::vector<std::pair<instant, std::uint64_t>> largest;
    };
    std::map<std::string, tokens, std::less<>> by_resource_;
};

}  // namespace redlock::sim
