#include "client/system/network.hpp"
#include "client/system/own_network.hpp"
#include "support/locks.hpp"
#include "support/masters.hpp"
#include "support/run.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;
using namespace std::chrono_literals;

namespace {

using clock_type = std::chrono::steady_clock;

std::unique_ptr<own_network> need_own_network()
{
    std::string why_not;
    auto result = own_network::enter(why_not);
    if (!result) {
        SKIP("the packets of this machine are left alone: " << why_not);
    }
    return result;
}

std::size_t connects_to(const masters& nodes)
{
    std::size_t result = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        result += test::connects_to(nodes[i].port());
    }
    return result;
}

/// Takes a lock with the votes of all nodes and releases it.
void cycle_on_all(locks& client, const masters& nodes, const std::string& resource)
{
    REQUIRE(client.await_ready(nodes.size()));
    lock held = client.take(resource);
    REQUIRE(client.await_quiet());
    CHECK(held.granted_by() == nodes.size());
    client.give_back(std::move(held));
}

}  // namespace

TEST_CASE("clients reconnect without a storm after a link goes down and up again",
          "[system][network]")
{
    const auto network = need_own_network();
    masters nodes(3);
    auto c = brisk(nodes.urls());
    c.connect_timeout = 250ms;  // the interval between the attempts of a storm
    c.reconnect_backoff_min = 500ms;
    c.reconnect_backoff_max = 1s;
    const auto pause = c.reconnect_backoff_min;
    auto shortly = once();
    shortly.ttl = 4 * c.node_timeout;
    locks mine(std::move(c));
    for (std::size_t flap = 1; flap <= 3; ++flap) {
        cycle_on_all(mine, nodes, "up");
        const auto before = connects_to(nodes);
        auto since = clock_type::now();
        network->link(false);
        CHECK(mine.acquire("down", shortly).error == errc::unavailable);
        constexpr std::size_t each = 6;  // a storm makes hundreds
        REQUIRE(mine.await([&] {
            const auto attempts = connects_to(nodes) - before;
            since = attempts == 0 ? clock_type::now() : since;
            return attempts >= each * nodes.size();
        }));
        const auto at_most = static_cast<std::size_t>((clock_type::now() - since) / pause) + 1;
        CHECK(connects_to(nodes) - before <= at_most * nodes.size());
        CHECK(mine.stats().disconnects == flap * nodes.size());
        network->link(true);
    }
    cycle_on_all(mine, nodes, "up");
    // A SET may reach the node after its connection has ended.
    CHECK(mine.await([&] { return nodes.count("down") == 0; }));
}

TEST_CASE("a node that loses three packets of ten is slow but blocks no lock", "[system][network]")
{
    constexpr std::size_t many = 8;
    const auto network = need_own_network();
    masters nodes(3);
    auto c = patient(nodes.urls());
    c.node_timeout = 150ms;  // earlier than TCP sends a lost packet again
    c.stall_timeout = never;
    ready_locks mine(std::move(c));
    std::size_t granted = 0;
    std::size_t unavailable = 0;
    const auto both_were_seen = [&] {
        network->lose_packets(true);
        std::vector<pending<taken>> acquires;
        for (std::size_t i = 0; i < many; ++i) {
            acquires.push_back(mine.begin_acquire("r" + std::to_string(i), once()));
        }
        for (const auto& acquire : acquires) {
            const auto [error, held] = mine.finish(acquire);
            if (error) {
                CHECK(error == errc::unavailable);
            }
            ++(error ? unavailable : granted);
        }
        // Without this wait the client would not ask nodes that still have to answer. Their
        // answers may take minutes, because TCP doubles its wait after each loss.
        network->lose_packets(false);
        REQUIRE(mine.await_quiet());
        return granted >= many && unavailable >= many;
    };
    REQUIRE(wait_for(both_were_seen));
    CHECK(mine.stats().connects == nodes.size());
    for (std::size_t i = 0; i < many; ++i) {
        CHECK(nodes.count("r" + std::to_string(i)) == 0);
    }
    cycle_on_all(mine, nodes, "after");
}
