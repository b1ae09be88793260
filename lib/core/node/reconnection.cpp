#include "core/node/reconnection.hpp"

#include <algorithm>
#include <chrono>

namespace redlock::core {

using base::nanos;

namespace {

/// An idle connection that lived this long before the other end closed it was well. No server
/// closes an idle connection within a second.
constexpr nanos well_while_idle = std::chrono::milliseconds{500};

/// The maximum number of addresses to try without a wait. Each lookup of the name may return other
/// ones.
constexpr unsigned most_other_addresses = 8;

}  // namespace

nanos reconnection::wait_after(const connection_end& end, node_context& shared) noexcept
{
    const auto& s = shared.settings;
    const bool ended_idle = end.by_peer && end.was_idle;
    const nanos well = ended_idle ? std::min<nanos>(s.reconnect_backoff_max, well_while_idle)
                                  : s.reconnect_backoff_max;
    const bool lived_well = end.was_ready && end.was_fit && end.lived >= well;
    const bool tries_other =
        end.has_other_addresses && !end.was_ready && other_addresses_tried_ < most_other_addresses;
    other_addresses_tried_ = tries_other ? other_addresses_tried_ + 1 : 0;
    if (lived_well) {
        last_wait_ = {};
    }
    if ((lived_well && ended_idle) || tries_other) {
        return {};
    }
    const nanos upper = std::max(last_wait_, s.reconnect_backoff_min) * 3;
    last_wait_ =
        std::min(s.reconnect_backoff_max,
                 s.reconnect_backoff_min + shared.random_below(upper - s.reconnect_backoff_min));
    return last_wait_;
}

}  // namespace redlock::core
