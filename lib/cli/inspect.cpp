#include "cli/commands.hpp"
#include "cli/exit_status.hpp"
#include "cli/printing.hpp"
#include "cli/session.hpp"

#include "base/text.hpp"

#include <redlock/redlock.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

namespace redlock::cli {

namespace asio = boost::asio;

namespace {

/// Nobody reads faster, and the masters have other work.
constexpr std::chrono::milliseconds least_interval{100};

const char* word_for(holding state)
{
    switch (state) {
        case holding::free: return "free";
        case holding::held: return "held";
        case holding::unknown: return "unknown";
    }
    return "?";
}

/// What a node's answer says of the key.
std::string word_for(const node_report& node)
{
    switch (node.outcome) {
        case node_outcome::granted: return "has the key";
        case node_outcome::refused: return "has no key";
        default: return to_string(node.outcome);
    }
}

std::string text_of(const std::string& resource, const inspection& found, const report& r)
{
    std::string out = base::printable(resource) + ": " + word_for(found.state);
    const auto masters = std::to_string(r.nodes.size()) + " masters";
    switch (found.state) {
        case holding::held:
            out += found.owner_known ? "" : " by another kind of lock";
            out += found.remaining ? ", for " + seconds_text(*found.remaining) + " at least"
                                   : ", without an end";
            break;
        case holding::free:
            out += found.agreeing == 0 ? "" : ", as no majority of the " + masters + " agrees";
            break;
        case holding::unknown: out += ": too few of the " + masters + " answered"; break;
    }
    out += '\n';
    std::size_t widest = 0;
    for (const auto& node : r.nodes) {
        widest = std::max(widest, node.node.size());
    }
    for (const auto& node : r.nodes) {
        out += "  " + node.node + std::string(widest - node.node.size() + 2, ' ') + word_for(node);
        if (node.holder_ttl) {
            out += " for " + seconds_text(*node.holder_ttl);
        }
        out += node.error.empty() ? "\n" : ": " + node.error + '\n';
    }
    return out;
}

std::string json_of(const std::string& resource, const inspection& found, const report& r)
{
    auto nodes = to_json(r);
    for (std::size_t i = 0; i < r.nodes.size(); ++i) {
        const node_outcome outcome = r.nodes[i].outcome;
        if (outcome == node_outcome::granted || outcome == node_outcome::refused) {
            nodes[i]["has_key"] = outcome == node_outcome::granted;
        }
    }
    nlohmann::json out{{"resource", resource},
                       {"state", word_for(found.state)},
                       {"owner_known", found.owner_known},
                       {"agreeing", found.agreeing},
                       {"nodes", std::move(nodes)}};
    if (found.remaining) {
        out["remaining_ms"] = found.remaining->count();
    }
    return out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
}

/// What each master says, asked alone.
class answers {
public:
    answers(const asio::any_io_executor& executor, std::size_t masters)
        : of_each_(masters),
          missing_(masters),
          complete_(executor, never)
    {}

    [[nodiscard]] report& of(std::size_t master) { return of_each_[master]; }
    void come()
    {
        if (--missing_ == 0) {
            complete_.cancel();
        }
    }

    /// When the last has come.
    asio::awaitable<report> together()
    {
        while (missing_ != 0) {
            co_await complete_.async_wait(asio::as_tuple(asio::deferred));
        }
        report all;
        for (const auto& one : of_each_) {
            all.nodes.insert(all.nodes.end(), one.nodes.begin(), one.nodes.end());
        }
        co_return all;
    }

private:
    static constexpr auto never = asio::steady_timer::time_point::max();

    std::vector<report> of_each_;
    std::size_t missing_;
    asio::steady_timer complete_;
};

/// A client for each master alone, as a quorum's answer does not wait for the last of them.
class each_master {
public:
    each_master(client& locks, const config& c)
    {
        config one = c;
        one.restart_guard.reset();  // of all masters together
        one.log = {};               // the other client says the same
        for (const auto& node : c.nodes) {
            one.nodes = {node};
            clients_.emplace_back(locks.get_executor(), one);
            clients_.back().async_run(asio::detached);
        }
    }

    /// All at the same time: however many are silent, it takes one node timeout.
    std::shared_ptr<answers> ask(const std::string& resource)
    {
        const auto all =
            std::make_shared<answers>(clients_.front().get_executor(), clients_.size());
        for (std::size_t i = 0; i < clients_.size(); ++i) {
            clients_[i].async_inspect(resource, {.report = &all->of(i)},
                                      [all](error_code, const inspection&) { all->come(); });
        }
        return all;
    }

private:
    std::vector<client> clients_;
};

asio::awaitable<int> look(client& locks, const config& c, const inspect_options& o, bool json)
{
    each_master masters(locks, c);
    co_await connected(locks, c, c.connect_timeout);
    const bool live = o.watch && !json && isatty(STDOUT_FILENO) != 0;
    asio::steady_timer timer(locks.get_executor());
    for (;;) {
        const auto asked = masters.ask(o.resource);
        report nodes;
        const auto [error, found] = co_await locks.async_inspect(o.resource, {.report = &nodes},
                                                                 asio::as_tuple(asio::deferred));
        if (error) {
            co_return fail(base::printable(o.resource), error, nodes, json);
        }
        const report each = co_await asked->together();
        if (live) {
            std::cout << "\x1b[H\x1b[2J";  // to the top of an empty screen
        }
        std::cout << (json ? json_of(o.resource, found, each) : text_of(o.resource, found, each))
                  << std::flush;
        if (!std::cout) {
            co_return internal;  // nobody looks
        }
        if (!o.watch) {
            co_return found.state == holding::unknown ? unavailable : success;
        }
        timer.expires_after(std::max(o.interval.length, least_interval));
        co_await timer.async_wait(asio::deferred);
    }
}

}  // namespace

int inspect(const masters_options& masters, const inspect_options& o)
{
    const config c = config_of(masters);
    return with_client(c, interrupts::cancel_work,
                       [&](client& locks) { return look(locks, c, o, masters.json); });
}

}  // namespace redlock::cli
