#include "core/contention/back_off.hpp"

#include "base/settings.hpp"
#include "base/text.hpp"
#include "core/scheduler.hpp"

#include <redlock/log.hpp>

#include <algorithm>
#include <exception>

namespace redlock::core {

using base::nanos;

namespace {

nanos bound_of(const base::settings& s, std::uint32_t attempts) noexcept
{
    const unsigned doublings = std::min(attempts - 1, 30u);
    nanos bound = s.backoff_min;
    for (unsigned i = 0; i < doublings && bound < s.backoff_max; ++i) {
        bound = std::max(bound * 2, least_wait);  // twice nothing is nothing
    }
    return std::min(bound, s.backoff_max);
}

/// As the user's function says.
nanos own_back_off(const failed_attempt& last, nanos wait, const node_context& shared)
{
    try {
        return std::max(shared.settings.backoff(last.attempts, wait), nanos{});
    } catch (const std::exception& e) {
        shared.log(log_level::error,
                   {"config::backoff threw an exception: ", base::printable(e.what())});
    } catch (...) {
        shared.log(log_level::error, {"config::backoff threw an exception"});
    }
    return wait;
}

}  // namespace

nanos back_off(const failed_attempt& last, node_context& shared)
{
    const base::settings& s = shared.settings;
    nanos wait{};
    if (const nanos bound = bound_of(s, last.attempts); bound > nanos{}) {
        wait = std::min(last.round_trip, s.node_timeout) + shared.random_below(bound);
    }
    if (s.backoff) {
        wait = own_back_off(last, wait, shared);
    }
    if (last.holder_ttl && *last.holder_ttl < wait) {
        wait = std::max<nanos>(*last.holder_ttl, least_wait) +
               shared.random_below(std::max(last.round_trip, least_wait));
    }
    if (last.asked_nobody) {
        wait = std::max(wait, least_wait);
    }
    return wait < last.time_left ? wait : shared.random_below(last.time_left);
}

}  // namespace redlock::core
