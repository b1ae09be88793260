#include "sim/contention/contender.hpp"

#include <redlock/config.hpp>

#include <algorithm>
#include <chrono>
#include <string>

namespace redlock::contention {

base::settings settings_of(const plan& p, bool has_notifications)
{
    config c;
    for (unsigned i = 0; i < p.nodes; ++i) {
        c.nodes.push_back("redis://10.0.0." + std::to_string(i + 1));
    }
    c.ping_interval = std::chrono::milliseconds{0};
    // As a user far from the nodes sets it, and all clients alike.
    c.node_timeout =
        std::max(c.node_timeout, std::chrono::duration_cast<std::chrono::milliseconds>(2 * p.far));
    c.release_notifications = has_notifications;
    c.fair_queue = p.mode == wait_mode::fair_queue;
    return base::make_settings(c);
}

}  // namespace redlock::contention
