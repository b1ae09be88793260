#pragma once

#include "support/masters.hpp"
#include "support/proxy.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace redlock::test {

/// Nodes, each with a network of its own in front.
struct bad_network {
    masters nodes;
    std::vector<std::unique_ptr<proxy>> paths;

    explicit bad_network(std::size_t count, const server_options& options = {})
        : nodes(count, options)
    {
        for (std::size_t i = 0; i < count; ++i) {
            paths.push_back(std::make_unique<proxy>(nodes[i].port()));
        }
    }

    /// The URLs for `config::nodes`.
    [[nodiscard]] std::vector<std::string> urls() const
    {
        std::vector<std::string> result;
        for (const auto& path : paths) {
            result.push_back(path->url());
        }
        return result;
    }
};

}  // namespace redlock::test
