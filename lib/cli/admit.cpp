#include "cli/commands.hpp"
#include "cli/exit_status.hpp"
#include "cli/printing.hpp"
#include "cli/session.hpp"
#include "resp/error_text.hpp"

#include <redlock/redlock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/steady_timer.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <stdexcept>
#include <string>

namespace redlock::cli {

namespace asio = boost::asio;

namespace {

/// The resource of the inspection that asks each node whether it takes requests.
constexpr const char* inspected = "redlock:admit";

/// Whether the node takes requests. Its user need not be permitted to use the inspected key.
bool is_admitted(const node_report& node)
{
    return !is_out_of_use(node.outcome) ||
           (node.outcome == node_outcome::failed && resp::says_key_not_permitted(node.error));
}

nlohmann::json admission_json(const report& r)
{
    auto nodes = nlohmann::json::array();
    for (const node_report& node : r.nodes) {
        nlohmann::json one{{"node", node.node}, {"admitted", is_admitted(node)}};
        if (!is_admitted(node)) {
            one["error"] = node.error.empty() ? to_string(node.outcome) : node.error;
        }
        nodes.push_back(std::move(one));
    }
    return nodes;
}

/// Why nodes are not admitted, a line for each of them.
std::string missing_text(const report& r)
{
    std::string out;
    for (const node_report& node : r.nodes) {
        if (!is_admitted(node)) {
            out += "  " + node.node + ": " + to_string(node.outcome);
            out += node.error.empty() ? "" : ": " + node.error + remedy_for(node.error);
            out += '\n';
        }
    }
    return out;
}

}  // namespace

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
        report r;
        if (const auto [error, found] = co_await locks.async_inspect(
                inspected, {.report = &r, .every_node = true}, asio::as_tuple(asio::deferred));
            error) {
            co_return fail("admit", error, r, masters.json);
        }
        const auto admitted = std::ranges::count_if(r.nodes, is_admitted);
        if (masters.json) {
            std::cout << nlohmann::json{{"admitted", admitted}, {"nodes", admission_json(r)}}
                      << '\n';
        } else {
            std::cout << admitted << " of " << r.nodes.size() << " nodes are admitted\n"
                      << missing_text(r);
        }
        co_return admitted == std::ssize(r.nodes) ? success : unavailable;
    });
}

}  // namespace redlock::cli
