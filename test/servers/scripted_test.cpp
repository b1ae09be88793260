#include "support/locks.hpp"
#include "support/scripted_server.hpp"

#include <redlock/testing/scripted_node.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;
using namespace std::chrono_literals;
using redlock::testing::scripted_node;

namespace asio = boost::asio;

namespace {

/// Lets the node give this answer instead of running a script that releases or extends.
void answer_scripts(scripted_node& node, const std::string& answer)
{
    for (const char* script : {"release", "extend"}) {
        node.answer(script, scripted_node::reply::bytes(answer));
    }
}

/// Many requests at once, so that one write takes only a part of them.
std::vector<pending<taken>> begin_many(locks& mine, std::vector<std::string>& names)
{
    std::vector<pending<taken>> begun;
    for (unsigned i = 0; i < 300; ++i) {
        names.push_back(std::to_string(i) + "/" + std::string(1000, 'x'));
        acquire_options o = once();
        o.fencing = false;
        begun.push_back(mine.begin_acquire(names.back(), o));
    }
    return begun;
}

}  // namespace

TEST_CASE("a client does not follow a redirect and drops the node", "[servers]")
{
    const scripted_node elsewhere;
    std::array<scripted_node, 3> nodes;
    const std::string way =
        GENERATE("MOVED 3999 127.0.0.1:", "ASK 3999 127.0.0.1:") + std::to_string(elsewhere.port());
    for (const std::size_t i : {0U, 1U}) {
        nodes.at(i).answer("SET", scripted_node::reply::error(way));
    }
    ready_locks mine({nodes[0].url(), nodes[1].url(), nodes[2].url()});
    report told;
    CHECK(mine.acquire("r", once(&told)).error == errc::unavailable);
    for (const std::size_t i : {0U, 1U}) {
        CHECK(told.nodes.at(i).outcome == node_outcome::failed);
        CHECK(told.nodes.at(i).error == way);
    }
    REQUIRE(mine.await_quiet());
    CHECK(mine.stats().node_errors >= 2);
    CHECK(mine.stats().contended == 0);
    CHECK(mine.stats().disconnects == 2);
    CHECK(elsewhere.commands().empty());
}

TEST_CASE("p21: a node that ends its side of the connection loses its vote until a reconnect",
          "[servers][pitfall][p21]")
{
    const std::string part = GENERATE(as<std::string>{}, "", "+O");
    const auto ending = GENERATE(0U, 1U, 2U);
    CAPTURE(part, ending);
    const scripted_server::script ends =
        [part](scripted_connection& peer) -> asio::awaitable<void> {
        while (peer.index() == 0) {
            const auto command = co_await peer.read_command();
            if (command.front() == "SET") {
                co_await peer.send(part);
                peer.half_close();
                co_await peer.ignore();
                co_return;
            }
            co_await peer.send(obedient(command));
        }
        co_await peer.serve();
    };
    const scripted_server::script obeys = [](scripted_connection& peer) { return peer.serve(); };
    std::vector<std::unique_ptr<scripted_server>> nodes;
    std::vector<std::string> urls;
    for (unsigned i = 0; i < 3; ++i) {
        nodes.push_back(std::make_unique<scripted_server>(i == ending ? ends : obeys));
        urls.push_back(nodes.back()->url());
    }
    locks mine(urls);
    REQUIRE(mine.await_ready(3));
    auto [error, held] = mine.acquire("r");
    REQUIRE_FALSE(error);
    CHECK(held.granted_by() == 2);
    const std::string token{held.owner_token()};
    mine.keep_secret(token);
    REQUIRE(mine.await([&] { return mine.stats().disconnects == 1; }));
    REQUIRE(mine.await_ready(3));
    CHECK(nodes[ending]->connections() == 2);
    // The fate of the SET is unknown, so the client doesn't send it again. It sends its release.
    mine.give_back(std::move(held));
    CHECK(mine.await([&] {
        const auto releases = nodes[ending]->commands("EVALSHA");
        return std::any_of(releases.begin(), releases.end(),
                           [&](const arguments& command) { return command.back() == token; });
    }));
    CHECK(nodes[ending]->commands("SET").size() == 1);
    lock again = mine.take("r");
    CHECK(mine.await([&] { return again.granted_by() == 3; }));
}

TEST_CASE("p24: only an answer of 1 counts as released or extended", "[servers][pitfall][p24]")
{
    const std::string answer =
        GENERATE(as<std::string>{}, ":0\r\n", wire::error("WRONGTYPE a hash stands there"));
    CAPTURE(answer);
    scripted_node node;
    ready_locks mine({node.url()});
    answer_scripts(node, answer);
    SECTION("released")
    {
        auto [error, held] = mine.acquire("r");
        REQUIRE_FALSE(error);
        report told;
        const auto [failed, result] = mine.release(std::move(held), &told);
        CHECK_FALSE(failed);
        CHECK(result == release_result::not_held);
        CHECK(told.nodes.at(0).outcome == node_outcome::refused);
    }
    SECTION("extended")
    {
        auto [error, held] = mine.acquire("r");
        REQUIRE_FALSE(error);
        CHECK(mine.extend(held, 60s) == errc::lost);
        CHECK_FALSE(held.owns());
    }
    CHECK(mine.stats().disconnects == 0);
    CHECK(mine.stats().protocol_errors == 0);
}

TEST_CASE("p24: an answer that no script gives counts as none and ends its connection",
          "[servers][pitfall][p24]")
{
    const std::string answer = GENERATE(as<std::string>{}, ":-1\r\n", ":2\r\n", wire::null(),
                                        wire::null3(), wire::status("OK"), wire::bulk("1"),
                                        wire::aggregate('*', {wire::integer(1)}), "#t\r\n");
    CAPTURE(answer);
    scripted_node node;
    auto c = brisk({node.url()});
    c.stall_timeout = 10s;
    ready_locks mine(std::move(c));
    answer_scripts(node, answer);
    auto [error, held] = mine.acquire("r", {.ttl = 60s, .min_validity = 5s});
    REQUIRE_FALSE(error);
    const auto until = held.valid_until();
    report told;
    SECTION("released")
    {
        CHECK(mine.release(std::move(held), &told).error == errc::unavailable);
    }
    SECTION("extended")
    {
        CHECK(mine.extend(held, 60s, &told) == errc::unavailable);
        CHECK(held.valid_until() == until);
    }
    CHECK(told.nodes.at(0).outcome != node_outcome::granted);
    CHECK(told.nodes.at(0).outcome != node_outcome::refused);
    CHECK(mine.await([&] { return mine.stats().protocol_errors >= 1; }));
}

TEST_CASE("a client sends in order what the first write did not take", "[servers]")
{
    const scripted_node node;
    ready_locks mine({node.url()});
    std::vector<std::string> names;
    const auto begun = begin_many(mine, names);
    for (const auto& each : begun) {
        CHECK_FALSE(mine.finish(each).error);
    }
    std::vector<std::string> asked = node.commands();
    std::erase_if(asked, [](const std::string& line) { return !line.starts_with("SET "); });
    for (std::string& name : names) {
        name.insert(0, "SET ");
    }
    CHECK(asked == names);
}

TEST_CASE("a client does not send on a new connection what the old one did not write", "[servers]")
{
    const scripted_server node([](scripted_connection& peer) -> asio::awaitable<void> {
        while (peer.index() == 0) {
            const auto command = co_await peer.read_command();
            if (command.front() == "SET") {
                peer.reset();
                co_return;
            }
            co_await peer.send(obedient(command));
        }
        co_await peer.serve();
    });
    ready_locks mine({node.url()});
    std::vector<std::string> names;
    const auto begun = begin_many(mine, names);
    for (const auto& each : begun) {
        CHECK(mine.finish(each).error == errc::unavailable);
    }
    CHECK(mine.await([&] { return mine.stats().buffered_bytes == 0; }));
    lock next = mine.take("next");
    CHECK(node.commands("SET").size() == 2);
    mine.give_back(std::move(next));
}
