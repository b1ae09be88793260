#pragma once

#include "base/instant.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace redlock::test {

/// The fencing tokens of all leases. No two are equal, and a token that was known when another
/// lease began is smaller than that lease's token. This holds even if exclusion is broken.
class token_order {
public:
    /// Records a lease that began, and whose token became known, at these instants in true time.
    /// Returns what is wrong, or nothing.
    [[nodiscard]] std::string_view note(const std::string& resource, std::uint64_t token,
                                        base::instant begun, base::instant known);

private:
    struct tokens {
        std::unordered_set<std::uint64_t> all;
        /// The largest known token from an instant on.
        std::vector<std::pair<base::instant, std::uint64_t>> largest;
    };
    std::map<std::string, tokens, std::less<>> by_resource_;
};

inline std::string_view token_order::note(const std::string& resource, std::uint64_t token,
                                          base::instant begun, base::instant known)
{
    tokens& t = by_resource_[resource];
    if (token == 0) {
        return "was given no fencing token";
    }
    if (!t.all.insert(token).second) {
        return "was given a fencing token that another lease has";
    }
    const auto later = std::partition_point(t.largest.begin(), t.largest.end(),
                                            [&](const auto& k) { return k.first < begun; });
    if (later != t.largest.begin() && std::prev(later)->second > token) {
        return "was given a smaller fencing token than one that was known before";
    }
    if (t.largest.empty() || t.largest.back().second < token) {
        t.largest.emplace_back(known, token);
    }
    return {};
}

}  // namespace redlock::test
