#include "cli/commands.hpp"
#include "cli/exit_status.hpp"
#include "cli/held.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/deferred.hpp>

#include <nlohmann/json.hpp>

#include <iostream>
#include <utility>

namespace redlock::cli {

namespace asio = boost::asio;

int release(const masters_options& masters, const held_options& o)
{
    const auto release_it = [&](client& locks, lock held) -> asio::awaitable<int> {
        report nodes;
        const auto [error, result] = co_await locks.async_release(
            std::move(held), {.report = &nodes}, asio::as_tuple(asio::deferred));
        if (error || result == release_result::not_held) {
            co_return fail_held(o, error ? error : make_error_code(errc::not_held), nodes,
                                masters.json);
        }
        if (masters.json) {
            std::cout << nlohmann::json{{"result", "released"}} << '\n' << std::flush;
        }
        co_return success;
    };
    return with_held(masters, o, std::nullopt, release_it);
}

}  // namespace redlock::cli
