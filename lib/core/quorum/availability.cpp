#include "core/quorum/availability.hpp"

#include <algorithm>
#include <cstddef>

namespace redlock::core {

void availability::on_connection() noexcept
{
    outage_.on_connections(shared_.now, has_majority());
}

bool availability::is_settling() const noexcept
{
    const auto is_unproven = [](const auto& n) noexcept { return n->is_unproven(); };
    return std::ranges::any_of(nodes_, is_unproven) && !has_majority();
}

bool availability::has_majority() const noexcept
{
    const auto ready =
        std::ranges::count_if(nodes_, [](const auto& n) noexcept { return n->is_ready(); });
    return static_cast<std::size_t>(ready) >= shared_.settings.quorum;
}

bool availability::is_hopeless(const operation& op, verdict of_attempt) const noexcept
{
    return op.max_outage ? outage::has_lasted(outage_.since(), op.max_outage, shared_.now)
                         : of_attempt == verdict::unavailable && is_refused_for_good();
}

/// Whether refused users, passwords and databases alone rule out a majority.
bool availability::is_refused_for_good() const noexcept
{
    const auto refused = std::ranges::count_if(
        nodes_, [](const auto& n) noexcept { return n->is_refused_for_good(); });
    return static_cast<std::size_t>(refused) > nodes_.size() - shared_.settings.quorum;
}

}  // namespace redlock::core
