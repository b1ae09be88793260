// A test of code that uses locks. It shows what the code does in three situations: another holder
// has the lock, nodes are away, or the lock is lost during the work. The nodes are scripted nodes
// in this process, which do what the test says. The tested code is the same as in production, and
// has a client of its own.
//
// Run it without arguments; it needs no servers:
//
//     test_with_scripted_nodes

#include <redlock/redlock.hpp>
#include <redlock/testing/scripted_node.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <array>
#include <exception>
#include <functional>
#include <iostream>

namespace asio = boost::asio;
using namespace std::chrono_literals;

using redlock::testing::scripted_node;
using three_nodes = std::array<scripted_node, 3>;

// Code under test: ships an order, and returns how that ended. `step` is the work under the lock.
asio::awaitable<redlock::with_lock_status> ship(redlock::client& locks, std::function<void()> step)
{
    auto body = [&step](redlock::lock&) -> asio::awaitable<void> {
        step();
        asio::steady_timer timer(co_await asio::this_coro::executor, 1500ms);
        co_await timer.async_wait(asio::deferred);
    };
    const auto result =
        co_await redlock::with_lock(locks, "orders/42", {.ttl = 2s, .timeout = 2s}, body);
    co_return result.status;
}

// Runs that code with nodes as `prepare` has left them. `midway` happens in the middle of the work.
redlock::with_lock_status outcome(std::function<void(three_nodes&)> prepare,
                                  std::function<void(three_nodes&)> midway)
{
    three_nodes nodes;
    prepare(nodes);
    asio::io_context context;
    redlock::client locks(context, {.nodes = {nodes[0].url(), nodes[1].url(), nodes[2].url()},
                                    .node_timeout = 250ms});  // enough for a busy machine
    locks.async_run(asio::detached);
    auto result = redlock::with_lock_status::failed;
    asio::co_spawn(context, ship(locks, [&] { midway(nodes); }),
                   [&](std::exception_ptr thrown, redlock::with_lock_status end) {
                       if (!thrown) {
                           result = end;
                       }
                       locks.async_close(asio::detached);
                   });
    context.run();
    return result;
}

void all_is_well(three_nodes&) {}

void another_has_it(three_nodes& nodes)
{
    nodes[0].hold("orders/42", 10s);
    nodes[1].hold("orders/42", 10s);
}

void one_is_frozen(three_nodes& nodes)
{
    nodes[2].freeze();
}

void no_majority(three_nodes& nodes)
{
    nodes[0].refuse();
    nodes[1].answer("SET", scripted_node::reply::error("LOADING not yet"));
}

// On all nodes, since any two of them may have granted the lock.
void it_is_lost(three_nodes& nodes)
{
    for (auto& each : nodes) {
        each.drop("orders/42");
    }
}

int main()
{
    int failures = 0;
    const auto check = [&](const char* what, redlock::with_lock_status is,
                           redlock::with_lock_status wanted) {
        std::cout << what << ": " << to_string(is) << '\n';
        failures += is != wanted;
    };
    using enum redlock::with_lock_status;
    check("all is well", outcome(all_is_well, all_is_well), completed);
    check("one node is frozen", outcome(one_is_frozen, all_is_well), completed);
    check("another holder has it", outcome(another_has_it, all_is_well), not_acquired);
    check("no majority", outcome(no_majority, all_is_well), not_acquired);
    check("lost during the work", outcome(all_is_well, it_is_lost), lost);
    return failures;
}
