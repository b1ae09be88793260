#pragma once

#include "support/server.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::test {

/// Several independent servers that start at the same time.
class masters {
public:
    explicit masters(std::size_t count, const server_options& options = {});

    [[nodiscard]] std::size_t size() const noexcept { return servers_.size(); }
    [[nodiscard]] server& operator[](std::size_t i) { return *servers_.at(i); }
    [[nodiscard]] const server& operator[](std::size_t i) const { return *servers_.at(i); }

    /// The URLs for `config::nodes`.
    [[nodiscard]] std::vector<std::string> urls(std::string_view user = {},
                                                std::string_view password = {},
                                                unsigned db = 0) const;

    /// The number of running, not stopped servers that have the key. A lock has it on a majority: a
    /// node whose connection is late has no part in it.
    [[nodiscard]] std::size_t count(const std::string& key) const;

    /// FLUSHALL on each of those servers.
    void flush() const;

private:
    std::vector<std::unique_ptr<server>> servers_;
};

}  // namespace redlock::test
