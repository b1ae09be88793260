#pragma once

#include "support/run.hpp"

#include <redlock/redlock.hpp>
#include <redlock/testing/scripted_node.hpp>

#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace redlock::test {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using testing::scripted_node;

/// Where the nodes run.
enum class place { threads_of_their_own, the_clients_context };

/// Longer than any test, so a key that is gone has not expired.
inline constexpr std::chrono::milliseconds for_ever = never;

/// One attempt without a wait.
inline acquire_options at_once()
{
    acquire_options o;
    o.ttl = for_ever;
    o.timeout = 0ms;
    return o;
}

/// The attempt may take any time on a busy machine.
inline acquire_options patient()
{
    acquire_options o = at_once();
    o.timeout = never;
    return o;
}

/// Three nodes and a client of them.
class three_nodes {
public:
    explicit three_nodes(place where = place::threads_of_their_own,
                         const testing::node_options& options = {})
    {
        for (int i = 0; i < 3; ++i) {
            if (where == place::the_clients_context) {
                nodes.emplace_back(io, options);
            } else {
                nodes.emplace_back(options);
            }
            settings.nodes.push_back(nodes.back().url());
        }
        // No answer is late before the test counts as hung.
        settings.node_timeout = patience;
        settings.stall_timeout = patience;
        settings.connect_timeout = patience;
        settings.close_timeout = never;
        settings.reconnect_backoff_max = 10ms;
    }

    /// Makes the client, and waits for its connections.
    void start()
    {
        locks.emplace(io, settings);
        locks->async_run(asio::detached);
        become_ready(3);
    }

    void become_ready(std::size_t count)
    {
        until([&] { return locks->stats().nodes_ready == count; });
    }

    void until(const std::function<bool()>& done)
    {
        if (!run_until(io, done)) {
            throw std::runtime_error("what the test waits for does not come");
        }
    }

    /// Applies it to the first two nodes, a majority.
    template <class Action>
    void on_majority(Action&& act)
    {
        act(nodes[0]);
        act(nodes[1]);
    }

    /// Applies it to all nodes, because any two may have granted a lock.
    void drop(const std::string& name)
    {
        for (scripted_node& each : nodes) {
            each.drop(name);
        }
    }

    std::pair<error_code, lock> acquire(const std::string& name, const acquire_options& o)
    {
        std::optional<std::pair<error_code, lock>> got;
        locks->async_acquire(name, o, [&](error_code ec, lock l) { got = {ec, std::move(l)}; });
        until([&] { return got.has_value(); });
        return std::move(*got);
    }

    /// A lock that the test needs.
    lock take(const std::string& name, const acquire_options& o = patient())
    {
        auto [ec, l] = acquire(name, o);
        if (ec) {
            throw boost::system::system_error(ec, "acquire");
        }
        return std::move(l);
    }

    std::pair<error_code, release_result> release(lock l)
    {
        std::optional<std::pair<error_code, release_result>> got;
        locks->async_release(std::move(l), [&](error_code ec, release_result r) { got = {ec, r}; });
        until([&] { return got.has_value(); });
        return *got;
    }

    error_code extend(lock& l, std::chrono::milliseconds ttl)
    {
        std::optional<error_code> got;
        locks->async_extend(l, ttl, [&](error_code ec) { got = ec; });
        until([&] { return got.has_value(); });
        return *got;
    }

    [[nodiscard]] std::size_t holding(const std::string& name) const
    {
        std::size_t count = 0;
        for (const scripted_node& each : nodes) {
            count += each.held(name);
        }
        return count;
    }

    // The nodes end before their context, and the client ends before them.
    asio::io_context io{1};
    std::vector<scripted_node> nodes;
    config settings;
    std::optional<client> locks;
};

/// The same, with the client connected.
struct connected_nodes : three_nodes {
    explicit connected_nodes(place where = place::threads_of_their_own,
                             const testing::node_options& options = {})
        : three_nodes(where, options)
    {
        start();
    }
};

}  // namespace redlock::test
