#include "cli/checks.hpp"
#include "cli/commands.hpp"
#include "cli/exit_status.hpp"
#include "cli/inspection_text.hpp"
#include "cli/printing.hpp"
#include "cli/session.hpp"

#include "base/text.hpp"

#include <redlock/redlock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/steady_timer.hpp>

#include <nlohmann/json.hpp>

#include <chrono>
#include <iostream>
#include <string>

#include <unistd.h>

namespace redlock::cli {

namespace asio = boost::asio;

namespace {

/// Prints one inspection. With --watch each inspection has its date, so that the order of events is
/// visible.
void print(const inspect_options& o, bool json, const inspection& found, const report& r)
{
    const std::string date = o.watch ? date_text(std::chrono::system_clock::now()) : "";
    if (json) {
        nlohmann::json out = inspection_json(o.resource, found, r);
        if (o.watch) {
            out["date"] = date;
        }
        std::cout << out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
    } else {
        std::cout << date << (o.watch ? "  " : "") << inspection_text(o.resource, found, r);
    }
    std::cout << std::flush;
}

asio::awaitable<int> look(client& locks, const config& c, const inspect_options& o, bool json)
{
    co_await connected(locks, c, c.connect_timeout);
    const bool live = o.watch && !json && isatty(STDOUT_FILENO) != 0;
    asio::steady_timer timer(locks.get_executor());
    for (;;) {
        report nodes;
        const auto [error, found] = co_await locks.async_inspect(
            o.resource, {.report = &nodes, .every_node = true}, asio::as_tuple(asio::deferred));
        if (error) {
            co_return fail(base::printable(o.resource), error, nodes, json);
        }
        if (live) {
            std::cout << "\x1b[H\x1b[2J";  // clears the screen
        }
        print(o, json, found, nodes);
        if (!std::cout) {
            co_return success;  // the command line reports that the output was not written
        }
        if (!o.watch) {
            co_return found.state == lock_state::unknown ? unavailable : success;
        }
        timer.expires_after(o.interval.length);
        co_await timer.async_wait(asio::deferred);
    }
}

}  // namespace

int inspect(const masters_options& masters, const inspect_options& o)
{
    const config c = config_of(masters);
    check_resources(c, {o.resource});
    return with_client(c, interrupts::cancel_work,
                       [&](client& locks) { return look(locks, c, o, masters.json); });
}

}  // namespace redlock::cli
