#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::sim {

/// Several resources that one lock covers have one name here: "r0+r1".
[[nodiscard]] inline std::string joined(std::span<const std::string> names)
{
    std::string all;
    for (const std::string& name : names) {
        all += all.empty() ? name : '+' + name;
    }
    return all;
}

[[nodiscard]] inline std::vector<std::string> parts_of(std::string_view all)
{
    std::vector<std::string> names;
    while (!all.empty()) {
        const std::size_t end = std::min(all.find('+'), all.size());
        names.emplace_back(all.substr(0, end));
        all.remove_prefix(std::min(end + 1, all.size()));
    }
    return names;
}

}  // namespace redlock::sim
