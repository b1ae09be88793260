#include "harness.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace redlock;
using namespace redlock::test;

namespace {

constexpr std::string_view url_password = "of-the-URL";
constexpr std::string_view given_password = "given-by-a-vault";

/// The core only checks whether a provider exists. The engine calls it.
config with_provider()
{
    config c;
    c.nodes = {"redis://somebody:" + std::string(url_password) + "@10.0.0.1"};
    c.credentials = [](std::string_view, const credentials_reply&) {};
    return c;
}

base::login given(std::string user, std::string_view password = given_password)
{
    base::login out;
    out.user = std::move(user);
    out.password.buffer() = password;
    return out;
}

/// A core and the commands that it sends to its one node.
struct one_node {
    one_node() { core.network().start(now); }

    base::settings s = [] {
        config c = with_provider();
        return base::make_settings(c);
    }();
    seeded_entropy random{1};
    instant now = instant{} + 1000s;
    virtual_date date{now};
    core::client_core core{s, random, date};
};

}  // namespace

TEST_CASE("a connection logs in with the provider's credentials and the user of its URL",
          "[core][credentials]")
{
    bench_world w{1, with_provider()};
    w.peers[0]->manual_handshake = true;
    w.peers[0]->given = given("app");
    w.start();
    CHECK(w.peers[0]->asked.at(0) ==
          words{"HELLO", "3", "AUTH", "app", std::string(given_password), "SETNAME", "redlock"});
    // The next connection uses the credentials that it gets.
    w.peers[0]->given = given("", "the next password");
    w.answer(0, "-ERR unknown command 'HELLO'\r\n");
    CHECK(w.peers[0]->asked.at(0) == words{"AUTH", "app", std::string(given_password)});
    w.close(0);
    w.advance(3s);
    CHECK(w.peers[0]->asked.at(0) ==
          words{"HELLO", "3", "AUTH", "somebody", "the next password", "SETNAME", "redlock"});
    // Without user and password the client does not log in.
    w.peers[0]->given = {};
    w.answer(0, "%1\r\n+proto\r\n:3\r\n");
    w.close(0);
    w.advance(3s);
    CHECK(w.peers[0]->asked.at(0) == words{"HELLO", "3", "SETNAME", "redlock"});
}

TEST_CASE("a connection that gets no credentials within connect_timeout fails and says so",
          "[core][credentials]")
{
    bench_world w{1, with_provider()};
    w.peers[0]->dial = peer::dialling::silent;
    w.peers[0]->given = given("app");
    w.start();
    w.advance(w.config.connect_timeout - 1ms);
    CHECK(w.log_lines.empty());
    w.advance(1ms);
    REQUIRE(w.log_lines.size() == 1);
    CHECK(w.log_lines[0].ends_with(" is out of use: no credentials within connect_timeout"));
    CHECK(w.log_levels[0] == log_level::warning);
    CHECK(w.peers[0]->closes == 1);
    // Said once. The client tries again with the usual back-off.
    w.advance(10s);
    CHECK(w.log_lines.size() == 1);
    CHECK(w.peers[0]->dials.size() > 2);
    w.peers[0]->dial = peer::dialling::at_once;
    w.advance(10s);
    CHECK(w.ready() == 1);
}

TEST_CASE("a connection has all of connect_timeout after its credentials", "[core][credentials]")
{
    one_node w;
    const nanos timeout = w.s.connect_timeout;
    w.now += timeout - 1ns;
    REQUIRE(w.core.network().on_credentials(w.now, 0, given("app")));
    CHECK(w.core.next_deadline() == w.now + timeout);
    w.core.on_time(w.now + timeout - 1ns);
    CHECK(w.core.network().take_to_close() == 0);
    w.core.on_time(w.now + timeout);
    CHECK(w.core.network().take_to_close() == 1);
}

TEST_CASE("credentials count once for the attempt that asked for them", "[core][credentials]")
{
    one_node w;
    SECTION("not if the provider gives them twice")
    {
        REQUIRE(w.core.network().on_credentials(w.now, 0, given("app")));
        CHECK_FALSE(w.core.network().on_credentials(w.now, 0, given("another")));
        w.core.network().on_connected(w.now, 0);
        CHECK(w.core.network().take_output(0).find("another") == std::string::npos);
    }
    SECTION("not after the attempt has ended")
    {
        w.now += w.s.connect_timeout;
        w.core.on_time(w.now);
        CHECK_FALSE(w.core.network().on_credentials(w.now, 0, given("app")));
    }
    SECTION("not after the client has ended")
    {
        w.core.stop(w.now);
        CHECK_FALSE(w.core.network().on_credentials(w.now, 0, given("app")));
    }
}

TEST_CASE("a client hides the given password in a server's error text", "[core][credentials]")
{
    config c = with_provider();
    c.fencing = false;
    bench_world w{1, c};
    w.peers[0]->master.password = given_password;
    w.peers[0]->given = given("default");
    w.start();
    REQUIRE(w.ready() == 1);
    w.manual();
    w.with_report = true;
    call& asked = w.acquire("r", {.timeout = 0ms, .max_attempts = 1});
    w.answer(0, "-ERR no, " + std::string(given_password) + "\r\n");
    REQUIRE(asked.done());
    const std::string& error = asked.report.nodes.at(0).error;
    CHECK(error.starts_with("ERR no, "));
    CHECK(error.find(given_password) == error.npos);
}

TEST_CASE("a lost connection wipes a given password that was not yet written",
          "[core][credentials]")
{
    one_node w;
    REQUIRE(w.core.network().on_credentials(w.now, 0, given("app")));
    w.core.network().on_connected(w.now, 0);
    const std::string& out = w.core.network().take_output(0);
    const std::string_view bytes = out;
    REQUIRE(bytes.find(given_password) != bytes.npos);
    w.core.network().on_closed(w.now, 0, "closed by the node");
    CHECK(bytes.find_first_not_of('\0') == bytes.npos);
}
