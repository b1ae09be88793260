#include "client/system/network.hpp"
#include "support/locks.hpp"
#include "support/no_more_files.hpp"
#include "support/run.hpp"
#include "support/sanitizers.hpp"
#include "support/scripted_server.hpp"
#include "support/server.hpp"

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

using namespace redlock;
using namespace redlock::test;
using namespace std::chrono_literals;

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

/// A node that grants everything.
std::unique_ptr<scripted_server> willing_node()
{
    return std::make_unique<scripted_server>(
        [](scripted_connection& peer) -> asio::awaitable<void> { co_await peer.serve(); });
}

std::string url_of(const std::string& name, const scripted_server& node)
{
    return "redis://" + name + ":" + std::to_string(node.port());
}

int option(int fd, int level, int name)
{
    int value = -1;
    socklen_t size = sizeof value;
    REQUIRE(::getsockopt(fd, level, name, &value, &size) == 0);
    return value;
}

}  // namespace

TEST_CASE("a connection sends small requests at once and notices a peer that has vanished",
          "[system][network]")
{
    const auto node = willing_node();
    ready_locks mine({node->url()});
    const auto sockets = sockets_to(node->port());
    REQUIRE(sockets.size() == 1);
    CHECK(option(sockets.front(), IPPROTO_TCP, TCP_NODELAY) != 0);
    CHECK(option(sockets.front(), SOL_SOCKET, SO_KEEPALIVE) != 0);
}

TEST_CASE("a client writes to each node once for all operations that begin in a turn",
          "[system][network]")
{
    constexpr std::size_t many = 100;
    std::vector<std::unique_ptr<scripted_server>> nodes;
    std::vector<std::string> urls;
    for (int i = 0; i < 3; ++i) {
        nodes.push_back(willing_node());
        urls.push_back(nodes.back()->url());
    }
    auto c = patient(urls);
    c.ping_interval = 0ms;
    locks mine(std::move(c));
    REQUIRE(mine.await_ready(3));
    REQUIRE(mine.await_quiet());
    const auto writes = [&] {
        std::vector<std::size_t> result;
        for (const auto& node : nodes) {
            result.push_back(writes_to(node->port()));
        }
        return result;
    };
    // Writes to each node in a turn that begins `count` more operations.
    const auto check_one_write = [&](const std::vector<std::size_t>& before) {
        REQUIRE(mine.await_quiet());
        const auto now = writes();
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            CHECK(now[i] == before[i] + 1);
        }
    };

    auto before = writes();
    std::vector<pending<taken>> acquires;
    for (std::size_t i = 0; i < many; ++i) {
        acquires.push_back(mine.begin_acquire("r" + std::to_string(i)));
    }
    std::vector<lock> held;
    for (const auto& acquire : acquires) {
        auto [error, l] = mine.finish(acquire);
        REQUIRE_FALSE(error);
        held.push_back(std::move(l));
    }
    check_one_write(before);
    for (const auto& node : nodes) {
        CHECK(node->commands("SET").size() == many);
    }

    before = writes();
    std::vector<pending<error_code>> extends;
    for (auto& l : held) {
        extends.push_back(mine.begin_extend(l, longer_ttl));
    }
    for (const auto& extend : extends) {
        CHECK_FALSE(mine.finish(extend));
    }
    check_one_write(before);

    before = writes();
    held.clear();
    check_one_write(before);
}

TEST_CASE("a client connects to the second address of a name whose first one is dead",
          "[system][network]")
{
    const auto* dead = GENERATE("127.0.0.2", "::1");
    const auto node = willing_node();
    const resolved_name name("two-faced.example", {dead, "127.0.0.1"});
    locks mine({url_of("two-faced.example", *node)});
    REQUIRE(mine.await_ready(1));
    // Takes a lock in one attempt, without any complaint.
    CHECK(mine.stats().connects == 1);
    CHECK_FALSE(mine.logged(log_level::warning, ""));
    CHECK_FALSE(mine.logged(log_level::error, ""));
    CHECK_FALSE(mine.acquire("r").error);
}

TEST_CASE("a client connects to the second address of a name whose first one is silent",
          "[system][network]")
{
    const auto node = willing_node();
    const resolved_name name("two-faced.example", {"127.0.0.2", "127.0.0.1"});
    // No program accepts there, and the queue has no room for another connection.
    asio::io_context io{1};
    const tcp::endpoint silent(asio::ip::make_address("127.0.0.2"), node->port());
    tcp::acceptor never(io, silent.protocol());
    never.set_option(tcp::acceptor::reuse_address(true));
    never.bind(silent);
    never.listen(0);
    std::vector<tcp::socket> waiting;
    bool full = false;
    while (!full && waiting.size() < 64) {
        auto& one = waiting.emplace_back(io);
        bool connected = false;
        one.async_connect(silent, [&](boost::system::error_code ec) { connected = !ec; });
        // The kernel connects at once if there is room. If a busy machine connects later, the
        // address is silent too, since no program accepts there.
        full = !run_until(
            io, [&] { return connected; }, 100ms);
    }
    if (!full) {
        SKIP("a listener here has always room for another connection");
    }
    auto c = patient({url_of("two-faced.example", *node)});
    // The first attempt waits for this. If a busy machine makes the second one too slow, the client
    // makes further ones.
    c.connect_timeout = 300ms;
    locks mine(std::move(c));
    REQUIRE(mine.await_ready(1));
    CHECK(mine.stats().connects == 1);
    CHECK(node->connections() >= 1);
}

TEST_CASE("a client connects to the address that a name has now", "[system][network]")
{
    const auto node = willing_node();
    std::optional<resolved_name> name(std::in_place, "moved.example",
                                      std::vector<std::string>{"127.0.0.2"});
    locks mine({url_of("moved.example", *node)});
    // No server is there, and the client has noticed.
    REQUIRE(mine.await([&] { return !mine.lines().empty(); }));
    REQUIRE(node->connections() == 0);
    name.reset();
    name.emplace("moved.example", std::vector<std::string>{"127.0.0.1"});
    REQUIRE(mine.await_ready(1));
    CHECK_FALSE(mine.acquire("r").error);
}

TEST_CASE("p48: a client whose node became a replica connects to the address that its name has now",
          "[system][network][pitfall][p48]")
{
    const bool is_idle = GENERATE(false, true);
    const server before;
    const server after(
        {.address = "127.0.0.2", .arguments = {"--port", std::to_string(before.port())}});
    std::optional<resolved_name> name(std::in_place, "moved.example",
                                      std::vector<std::string>{"127.0.0.1"});
    auto c = patient({"redis://moved.example:" + std::to_string(before.port())});
    c.ping_interval = is_idle ? 100ms : 0ms;
    ready_locks mine(std::move(c));
    name.reset();
    name.emplace("moved.example", std::vector<std::string>{"127.0.0.2"});
    // The replica accepts writes, so only its role shows what it is.
    REQUIRE(before.command({"CONFIG", "SET", "replica-read-only", "no"}) == "OK");
    REQUIRE(before.command({"REPLICAOF", "127.0.0.2", std::to_string(before.port())}) == "OK");
    const auto has_moved = [&] { return mine.stats().connects == 2; };
    REQUIRE((is_idle ? mine.await(has_moved) : wait_for([&] {
        (void)mine.acquire("r", once());
        return has_moved();
    })));
    CHECK(mine.logged(log_level::error, "is a replica, not a master"));
    CHECK(mine.logged(log_level::warning, "is another server than before"));
    const auto held = mine.take("r");
    CHECK(after.exists("r"));
}

TEST_CASE("a client comes back to the server that it used, whatever addresses its name has",
          "[system][network]")
{
    const server first;
    const server second(
        {.address = "127.0.0.2", .arguments = {"--port", std::to_string(first.port())}});
    const resolved_name name("two.example", {"127.0.0.1", "127.0.0.2"});
    ready_locks mine({"redis://two.example:" + std::to_string(first.port())});
    const auto killed = first.ask({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
    REQUIRE(
        mine.await([&] { return mine.stats().connects == 2 && mine.stats().nodes_ready == 1; }));
    CHECK_FALSE(mine.logged(log_level::warning, "is another server than before"));
    const auto held = mine.take("r");
    CHECK(first.exists("r"));
    CHECK_FALSE(second.exists("r"));
}

TEST_CASE("a client tries the next address of a name at once if a server cannot be used",
          "[system][network]")
{
    const server replica;
    const server fit(
        {.address = "127.0.0.2", .arguments = {"--port", std::to_string(replica.port())}});
    REQUIRE(replica.command({"REPLICAOF", "127.0.0.2", std::to_string(replica.port())}) == "OK");
    const resolved_name name("two.example", {"127.0.0.1", "127.0.0.2"});
    auto c = patient({"redis://two.example:" + std::to_string(replica.port())});
    c.reconnect_backoff_min = c.reconnect_backoff_max = 1h;
    ready_locks mine(std::move(c));
    const auto held = mine.take("r");
    CHECK(fit.exists("r"));
}

TEST_CASE("a client does not wait for a name whose addresses do not answer", "[system][network]")
{
    const auto node = willing_node();
    const resolved_name name("nowhere.example", {"127.0.0.2", "127.0.0.3"});
    locks mine({url_of("nowhere.example", *node)});
    REQUIRE(mine.await([&] { return !mine.lines().empty(); }));
    report told;
    CHECK(mine.acquire("r", once(&told)).error == errc::unavailable);
    CHECK(told.nodes.at(0).outcome == node_outcome::disconnected);
    CHECK_FALSE(told.nodes.at(0).error.empty());
    CHECK(node->connections() == 0);
}

// See no_more_files.
#if !REDLOCK_TEST_ADDRESS_SANITIZER
TEST_CASE("a client that cannot open sockets reports it and recovers", "[system][network]")
{
    const bool by_name = GENERATE(false, true);
    const auto node = willing_node();
    const resolved_name name("two-faced.example", {"127.0.0.1", "127.0.0.2"});
    locks mine({by_name ? url_of("two-faced.example", *node) : node->url()});
    report told;
    {
        const no_more_files limit;
        REQUIRE(mine.await([&] { return !mine.lines().empty(); }));
        CHECK(mine.acquire("r", once(&told)).error == errc::unavailable);
    }
    REQUIRE(told.nodes.size() == 1);
    CHECK(told.nodes[0].outcome == node_outcome::disconnected);
    CHECK(told.nodes[0].error == error_code(EMFILE, boost::system::system_category()).message());
    CHECK(mine.await_ready(1));
    CHECK_FALSE(mine.acquire("r").error);
}
#endif
