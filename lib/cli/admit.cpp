#include "cli/commands.hpp"
#include "cli/exit_status.hpp"
#include "cli/session.hpp"

#include <redlock/redlock.hpp>

#include <boost/asio/deferred.hpp>
#include <boost/asio/steady_timer.hpp>

#include <nlohmann/json.hpp>

#include <chrono>
#include <iostream>
#include <stdexcept>

namespace redlock::cli {

namespace asio = boost::asio;

int admit(const masters_options& masters)
{
    using namespace std::chrono_literals;
    if (!masters.max_ttl) {
        throw std::invalid_argument(
            "admit: --max-ttl is missing: give the value that all clients of these nodes have");
    }
    config c = config_of(masters);
    c.restart_guard->admit_new_nodes = true;
    return with_client(c, interrupts::cancel_work, [&](client& locks) -> asio::awaitable<int> {
        const auto end = boot_clock::now() + c.connect_timeout;
        asio::steady_timer timer(locks.get_executor());
        auto now = locks.stats();
        // A connected node reports a moment later whether it is admitted.
        while ((now.nodes_ready < c.nodes.size() || now.nodes_quarantined != 0) &&
               boot_clock::now() < end) {
            timer.expires_after(1ms);
            co_await timer.async_wait(asio::deferred);
            now = locks.stats();
        }
        const auto admitted = now.nodes_ready - now.nodes_quarantined;
        if (masters.json) {
            std::cout << nlohmann::json{{"nodes", c.nodes.size()}, {"admitted", admitted}} << '\n';
        } else {
            std::cout << admitted << " of " << c.nodes.size() << " nodes are admitted\n";
        }
        co_return admitted == c.nodes.size() ? success : unavailable;
    });
}

}  // namespace redlock::cli
