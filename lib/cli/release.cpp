#include "cli/checks.hpp"
#include "cli/commands.hpp"
#include "cli/exit_status.hpp"
#include "cli/held.hpp"
#include "cli/session.hpp"

#include <redlock/redlock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/deferred.hpp>

#include <nlohmann/json.hpp>

#include <iostream>
#include <utility>

namespace redlock::cli {

namespace asio = boost::asio;

int release(const masters_options& masters, const held_options& o)
{
    const std::string token = owner_token_of(o);
    const config c = config_of(masters);
    check_resources(c, o.resources);
    return with_client(c, interrupts::cancel_work, [&](client& locks) -> asio::awaitable<int> {
        co_await connected(locks, c, c.connect_timeout);
        report nodes;
        // The shortest ttl of a lock. An extend never shortens a lease, so any ttl is safe here.
        auto [lost, lock] =
            co_await locks.async_adopt(o.resources, token, c.node_timeout * 4, {.report = &nodes},
                                       asio::as_tuple(asio::deferred));
        if (lost) {
            co_return fail_held(o, lost, nodes, masters.json);
        }
        const auto [error, result] = co_await locks.async_release(
            std::move(lock), {.report = &nodes}, asio::as_tuple(asio::deferred));
        if (error) {
            co_return fail_held(o, error, nodes, masters.json);
        }
        if (result == release_result::not_held) {
            co_return fail_held(o, errc::not_held, nodes, masters.json);
        }
        if (masters.json) {
            std::cout << nlohmann::json{{"result", "released"}} << '\n' << std::flush;
        }
        co_return success;
    });
}

}  // namespace redlock::cli
