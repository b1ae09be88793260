#include "client/threads/shared_client.hpp"
#include "support/certificates.hpp"
#include "support/proxy.hpp"

#include <boost/asio/use_future.hpp>

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

using namespace redlock;
using namespace redlock::test;

// Tests of the client's own activities in any thread: reconnects, pending releases, closing stalled
// connections, keeping locks alive, and waiting for nodes that may have lost their keys.

namespace {

/// A dropped lock keeps others waiting for this long if its nodes are out of reach. No test relies
/// on a lock that lives longer.
constexpr std::chrono::milliseconds ttl = ending_ttl;

/// An acquire that a busy machine makes too slow fails, and its thread begins another one.
acquire_options brief()
{
    acquire_options o;
    o.ttl = ttl;
    o.timeout = 10s;
    return o;
}

/// A client that soon closes connections to silent nodes, so that the threads go on.
config in_trouble()
{
    config c = safe();
    c.node_timeout = ttl / 4;
    c.reconnect_backoff_max = 100ms;
    return c;
}

/// The results of the threads of a test.
struct account {
    std::atomic<unsigned> held{0};
    std::atomic<unsigned> refused{0};
    std::atomic<unsigned> together{0};
    std::atomic<const void*> latest{nullptr};
    std::atomic<bool> is_over{false};
};

/// Takes one lock after the other: plain, kept alive, of several resources, and one that all
/// threads want.
void take_locks(client& locks, account& seen)
{
    const std::string own = fresh_name();
    const std::string other = fresh_name();
    for (unsigned i = 0; !seen.is_over; ++i) {
        acquire_options o = brief();
        if (i % 4 == 1) {
            o.keep_alive.emplace();
        }
        try {
            lock l = i % 4 == 2   ? locks.async_acquire({own, other}, o, asio::use_future).get()
                     : i % 4 == 3 ? locks.async_acquire("wanted by all", o, asio::use_future).get()
                                  : locks.async_acquire(own, o, asio::use_future).get();
            if (i % 4 == 3) {
                seen.latest = &own;
                std::this_thread::yield();
                const bool has_another_one = seen.latest != &own;
                seen.together += has_another_one && l.owns() ? 1U : 0U;
            }
            ++seen.held;
            l.async_wait_lost([](error_code) {});
            locks.async_extend(l, ttl, [](error_code) {});
            if (i % 5 == 0) {
                continue;  // dropped
            }
            locks.async_release(std::move(l), asio::use_future).get();
        } catch (const boost::system::system_error&) {
            ++seen.refused;
        }
    }
}

/// Four threads take locks. Meanwhile one fault after the other befalls the nodes, and after each
/// the threads must take a number of further locks.
void disturb(client& locks, const std::vector<std::function<void()>>& troubles)
{
    account seen;
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < thread_count; ++i) {
        threads.emplace_back([&] { take_locks(locks, seen); });
    }
    unsigned stuck = 0;
    for (const auto& trouble : troubles) {
        trouble();
        const unsigned before = seen.held;
        stuck += wait_for([&] { return seen.held >= before + 20; }) ? 0U : 1U;
    }
    seen.is_over = true;
    for (std::thread& t : threads) {
        t.join();
    }
    CHECK(stuck == 0);
    CHECK(seen.together == 0);
}

}  // namespace

TEST_CASE("threads use a client while its links break and its nodes freeze", "[threads]")
{
    masters servers(3);
    std::array<std::unique_ptr<proxy>, 3> links;
    config c = in_trouble();
    c.nodes.clear();
    for (std::size_t i = 0; i < links.size(); ++i) {
        links[i] = std::make_unique<proxy>(servers[i].port());
        c.nodes.push_back(links[i]->url());
    }
    c.stall_timeout = c.node_timeout;
    shared_client shared(c);
    std::vector<std::function<void()>> troubles;
    for (auto& link : links) {
        for (const auto& what : std::vector<std::function<void(proxy&)>>{
                 [](proxy& p) { p.cut(ending::rst); },
                 [](proxy& p) { p.hold(direction::down); },
                 [](proxy& p) { p.release(direction::down); },
                 [](proxy& p) { p.cut(ending::fin); },
                 [](proxy& p) { p.sever(direction::up); },
                 [](proxy& p) {
                     p.refuse();
                     p.cut(ending::rst);
                 },
                 [](proxy& p) { p.accept(); },
             }) {
            troubles.emplace_back([what, &p = *link] { what(p); });
        }
    }
    for (std::size_t i = 0; i < servers.size(); ++i) {
        troubles.emplace_back([&, i] { servers[i].stop(); });
        troubles.emplace_back([&, i] { servers[i].cont(); });
    }
    disturb(*shared.locks, troubles);
    CHECK(wait_for([&] { return shared.locks->stats().connects > 6; }));
    shared.close();
}

TEST_CASE("threads use a client while nodes restart without their keys", "[threads]")
{
    masters servers(3);
    config c = in_trouble();
    c.nodes = servers.urls();
    c.restart_guard = guard_config{.max_ttl = ttl, .admit_new_nodes = true};
    shared_client shared(c);
    std::vector<std::function<void()>> troubles;
    for (std::size_t i = 0; i < servers.size(); ++i) {
        troubles.emplace_back([&, i] {
            // A second restart would leave no majority with the keys.
            CHECK(wait_for([&] {
                const auto now = shared.locks->stats();
                return now.nodes_ready == 3 && now.nodes_quarantined == 0;
            }));
            servers[i].restart(memory::lost);
        });
    }
    disturb(*shared.locks, troubles);
    shared.close();
}

TEST_CASE("threads share the TLS connections of a client and its reconnects", "[threads]")
{
    const certificates world;
    const server_options speaks_tls{
        .tls = server_tls{world.ca.certificate, world.server.certificate, world.server.key}};
    masters servers(3, speaks_tls);
    config c = in_trouble();
    c.nodes.clear();
    for (std::size_t i = 0; i < servers.size(); ++i) {
        c.nodes.push_back(servers[i].tls_url());
    }
    c.tls.ca_file = world.ca.certificate;
    shared_client shared(c);
    REQUIRE(wait_for([&] { return shared.locks->stats().nodes_ready == 3; }));
    std::vector<std::function<void()>> troubles;
    for (std::size_t i = 0; i < servers.size(); ++i) {
        troubles.emplace_back([&, i] { servers[i].command({"CLIENT", "KILL", "TYPE", "normal"}); });
    }
    disturb(*shared.locks, troubles);
    CHECK(wait_for([&] { return shared.locks->stats().connects >= 6; }));
    shared.close();
}

TEST_CASE("provider replies from many threads arrive while their client ends",
          "[threads][credentials]")
{
    for (int round = 0; round < 20; ++round) {
        std::mutex guard;
        std::vector<credentials_reply> replies;
        std::atomic<bool> is_over{false};
        config c = safe();
        // Attempts to connect end while the threads reply. The client makes further ones.
        c.connect_timeout = 100ms;
        c.credentials = [&](std::string_view, credentials_reply reply) {
            const std::lock_guard in(guard);
            replies.push_back(std::move(reply));
        };
        shared_client s(c);
        std::vector<std::thread> others;
        for (unsigned i = 0; i < thread_count; ++i) {
            others.emplace_back([&, i] {
                while (!is_over) {
                    std::vector<credentials_reply> some;
                    {
                        const std::lock_guard in(guard);
                        some = replies;  // all threads give each reply
                    }
                    for (const credentials_reply& reply : some) {
                        reply({}, {"", "whatever-" + std::to_string(i)});
                    }
                    std::this_thread::yield();
                }
            });
        }
        CHECK(wait_for([&] { return s.locks->stats().nodes_ready == nodes().size(); }));
        s.locks.reset();
        s.pool.join();
        is_over = true;
        for (std::thread& t : others) {
            t.join();
        }
    }
}
