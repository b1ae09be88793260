#pragma once

#include "core/node/ranking.hpp"
#include "harness.hpp"
#include "resp/scripts.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::test {

inline constexpr nanos way = 1ms;
inline constexpr nanos round_trip = 2 * way;

/// The configuration with and without a queue of clients. The first waiter of a queue waits for the
/// same notification as a waiter without a queue.
inline redlock::config with_and_without_queue(redlock::config c = {})
{
    c.fair_queue = GENERATE(true, false);
    return c;
}

inline redlock::config without_queue(redlock::config c = {})
{
    c.fair_queue = false;
    return c;
}

/// Nodes a millisecond away, and another client.
struct watch_world : bench_world {
    explicit watch_world(redlock::config c = {}, unsigned nodes = 3)
        : bench_world(nodes, std::move(c)),
          order(order_for("r"))
    {
        other.authenticated = true;
        other.protocol = 3;
        set_ways(way, way);
        start();
        advance(1s);
    }

    /// The nodes in the order in which clients prefer them for the resource.
    [[nodiscard]] std::vector<unsigned> order_for(std::string_view resource) const
    {
        std::vector<unsigned> nodes(peers.size());
        std::iota(nodes.begin(), nodes.end(), 0U);
        std::ranges::sort(nodes, std::greater(), [&](unsigned i) {
            return core::rank(core::name_hash(resource),
                              core::name_hash(settings.nodes[i].display));
        });
        return nodes;
    }

    void take_all(nanos span = 1h, const std::string& name = "r") { occupy(name, span); }
    void take(unsigned node, nanos span = 1h, const std::string& name = "r")
    {
        occupy(name, {node}, span);
    }
    void give_back(unsigned node, const std::string& name = "r")
    {
        model_master& master = peers[node]->master;
        const std::string key = settings.key_prefix + name;
        if (master.value(now, key) == stranger) {
            (void)master.execute(now, other, {"DEL", key});
        }
    }
    void give_back_all(const std::string& name = "r")
    {
        for (unsigned i = 0; i < peers.size(); ++i) {
            give_back(i, name);
        }
        settle();
    }

    /// All nodes refuse the acquire, and it waits for a notification.
    call& waiting(const acquire_options& o = {.timeout = 60s})
    {
        call& c = acquire("r", o);
        advance(3 * round_trip);
        REQUIRE_FALSE(c.done());
        REQUIRE(core->fair_queue().size() == 1);
        REQUIRE(c.op->wait.is_watched);
        return c;
    }

    /// Ends a waiter in another way in each run of the test. No node must be watched any more.
    void end_in_each_way(call& waiter)
    {
        SECTION("by cancellation")
        {
            cancel(waiter);
        }
        SECTION("by its timeout")
        {
            advance(61s);
        }
        SECTION("by a close")
        {
            core->close(now);
            settle();
        }
        REQUIRE(waiter.done());
        CHECK(core->fair_queue().size() == 0);
    }

    template <class Is>
    void advance_until(Is is)
    {
        for (int i = 0; i < 100'000 && !is(); ++i) {
            advance(10us);
        }
        REQUIRE(is());
    }

    [[nodiscard]] std::vector<std::size_t> sets() const
    {
        std::vector<std::size_t> each;
        for (const unsigned i : order) {
            each.push_back(count(i, "SET"));
        }
        return each;
    }
    [[nodiscard]] std::size_t all_commands() const
    {
        return std::accumulate(peers.begin(), peers.end(), std::size_t{0},
                               [](std::size_t sum, const auto& p) { return sum + p->log.size(); });
    }
    /// The last commands to the node, each as one line.
    [[nodiscard]] std::vector<std::string> last(unsigned node, std::size_t how_many) const
    {
        std::vector<std::string> lines;
        const auto& log = peers[node]->log;
        for (std::size_t i = log.size() - std::min(how_many, log.size()); i < log.size(); ++i) {
            std::string line;
            for (const std::string& word : log[i]) {
                line += (line.empty() ? "" : " ") + word;
            }
            lines.push_back(line);
        }
        return lines;
    }
    [[nodiscard]] stats told() const { return core->snapshot(); }
    peer& first() { return *peers[order[0]]; }

    session other;
    /// For "r".
    std::vector<unsigned> order;
};

}  // namespace redlock::test
