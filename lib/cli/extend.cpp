#include "cli/checks.hpp"
#include "cli/commands.hpp"
#include "cli/exit_status.hpp"
#include "cli/held.hpp"
#include "cli/printing.hpp"
#include "cli/session.hpp"

#include <redlock/redlock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/deferred.hpp>

#include <nlohmann/json.hpp>

#include <chrono>
#include <iostream>
#include <string>
#include <utility>

namespace redlock::cli {

namespace asio = boost::asio;

int extend(const masters_options& masters, const extend_options& o)
{
    const std::string token = owner_token_of(o);
    const config c = config_of(masters);
    check_resources(c, o.resources);
    check_ttl(c, o.ttl);
    return with_client(c, interrupts::cancel_work, [&](client& locks) -> asio::awaitable<int> {
        co_await connected(locks, c, c.connect_timeout);
        report nodes;
        auto [error, lock] = co_await locks.async_adopt(
            o.resources, token, o.ttl.length, {.report = &nodes}, asio::as_tuple(asio::deferred));
        if (error) {
            co_return fail_held(o, error, nodes, masters.json);
        }
        const auto valid_for =
            std::chrono::duration_cast<std::chrono::milliseconds>(lock.remaining()).count();
        const auto valid_until = date_text(end_of(lock));
        // Detached, because the lock stays with the owner of the token.
        [[maybe_unused]] const std::string left = std::move(lock).detach();
        if (masters.json) {
            std::cout << nlohmann::json{{"valid_for_ms", valid_for}, {"valid_until", valid_until}}
                      << '\n'
                      << std::flush;
        } else {
            std::cout << "valid_for_ms=" << valid_for << "\nvalid_until=" << valid_until << '\n'
                      << std::flush;
        }
        co_return success;
    });
}

}  // namespace redlock::cli
