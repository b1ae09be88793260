#include "sim/token_order.hpp"

#include <algorithm>
#include <utility>

namespace redlock::sim {

std::string_view token_order::note(const std::string& resource, std::uint64_t token, instant begun,
                                   instant known)
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

}  // namespace redlock::sim
