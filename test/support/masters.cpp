#include "support/masters.hpp"

#include <algorithm>

namespace redlock::test {

masters::masters(std::size_t count, const server_options& options)
{
    for (std::size_t i = 0; i < count; ++i) {
        servers_.push_back(
            std::make_unique<server>(options, server::not_started{.keeps_ports = false}));
        servers_.back()->launch();
    }
    for (const auto& one : servers_) {
        one->await();
    }
}

std::vector<std::string> masters::urls(std::string_view user, std::string_view password,
                                       unsigned db) const
{
    std::vector<std::string> result;
    for (const auto& one : servers_) {
        result.push_back(one->url(user, password, db));
    }
    return result;
}

std::size_t masters::count(const std::string& key) const
{
    return static_cast<std::size_t>(
        std::count_if(servers_.begin(), servers_.end(),
                      [&](const auto& one) { return one->responsive() && one->exists(key); }));
}

void masters::flush() const
{
    for (const auto& one : servers_) {
        if (one->responsive()) {
            one->flush();
        }
    }
}

}  // namespace redlock::test
