#include <redlock/redlock.hpp>
#include <redlock/testing/scripted_node.hpp>

#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include <array>
#include <chrono>
#include <cstdio>

using namespace std::chrono_literals;

// A user's test: two of three nodes are enough to grant and release the lock.
int main()
{
    std::array<redlock::testing::scripted_node, 3> nodes;
    nodes[2].freeze();
    boost::asio::io_context context;
    redlock::client locks(context, {.nodes = {nodes[0].url(), nodes[1].url(), nodes[2].url()}});
    locks.async_run(boost::asio::detached);
    redlock::error_code got = redlock::errc::closed;
    bool was_held = false;
    locks.async_acquire("resource", [&](redlock::error_code ec, redlock::lock) {
        got = ec;
        was_held = nodes[0].held("resource") && nodes[1].held("resource");
        locks.async_close(boost::asio::detached);
    });
    // The run ends with the client. A client that hangs lasts for a minute.
    context.run_for(1min);
    const bool is_free = !nodes[0].held("resource") && !nodes[1].held("resource");
    std::printf("scripted nodes: %s\n", got.message().c_str());
    return !got && was_held && is_free ? 0 : 1;
}
