#include "support/certificates.hpp"
#include "support/locks.hpp"
#include "support/run.hpp"
#include "support/server.hpp"
#include "support/temp_dir.hpp"

#include <boost/asio/error.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::test;
using namespace std::chrono_literals;

// Passwords and certificates that are renewed while a client runs.

namespace {

/// Makes the server require the new password, and ends the earlier connections.
void change_password(server& node, const std::string& fresh)
{
    node.command({"CONFIG", "SET", "requirepass", fresh});
    node.options().password = fresh;
    node.command({"CLIENT", "KILL", "TYPE", "normal"});
}

/// A vault with one password that records the requests to it.
struct vault {
    credentials_provider provider()
    {
        return [this](std::string_view node, const credentials_reply& reply) {
            asked.emplace_back(node);
            reply({}, {"", password});
        };
    }

    std::string password;
    std::vector<std::string> asked;
};

/// Replaces a file as programs that renew certificates do it: a reader sees the old or the new one.
void put(const std::filesystem::path& from, const std::filesystem::path& to)
{
    const std::filesystem::path fresh = to.string() + ".fresh";
    std::filesystem::copy_file(from, fresh, std::filesystem::copy_options::overwrite_existing);
    std::filesystem::rename(fresh, to);
}

std::ptrdiff_t lines_with(const locks& client, std::string_view text)
{
    return std::count_if(client.lines().begin(), client.lines().end(),
                         [&](const std::string& line) { return line.find(text) != line.npos; });
}

const certificates& authorities()
{
    static const certificates made;
    return made;
}

server_tls identity_of(const identity& authority, const identity& who)
{
    return {authority.certificate, who.certificate, who.key};
}

}  // namespace

TEST_CASE("a client with a provider reconnects when the password of its server changes",
          "[servers][rotation]")
{
    server node({.kind = each_kind(), .password = "the-first-secret"});
    vault v{.password = "the-first-secret", .asked = {}};
    auto c = patient({node.url("", "not-this-one")});
    c.credentials = v.provider();
    locks mine(std::move(c));
    mine.keep_secret("the-first-secret");
    mine.keep_secret("the-second-secret");
    lock held = mine.take("r");
    CHECK(v.asked == std::vector<std::string>{node.url() + "/0"});

    v.password = "the-second-secret";
    change_password(node, "the-second-secret");
    REQUIRE(mine.await([&] { return mine.stats().connects == 2; }));
    CHECK(v.asked.size() == 2);
    CHECK_FALSE(mine.extend(held, longer_ttl));
    mine.give_back(std::move(held));
}

TEST_CASE("a client tries again when its provider has the new password too late or too early",
          "[servers][rotation]")
{
    server node({.password = "the-first-secret"});
    vault v{.password = "the-first-secret", .asked = {}};
    auto c = patient({node.url()});
    c.credentials = v.provider();
    locks mine(std::move(c));
    mine.keep_secret("the-second-secret");
    REQUIRE(mine.await_ready(1));
    change_password(node, "the-second-secret");
    REQUIRE(mine.await([&] { return mine.logged(log_level::error, "WRONGPASS"); }));
    v.password = "the-second-secret";
    REQUIRE(mine.await([&] { return mine.stats().connects == 2; }));
    CHECK(mine.logged(log_level::info, "usable again"));
}

TEST_CASE("a client logs in as the user of its provider and asks it for each node",
          "[servers][rotation]")
{
    const server one({.password = "hush-of-one"});
    const server other;
    one.command({"ACL", "SETUSER", "app", "on", ">hush-of-app", "~*", "+@all"});
    auto c = patient({one.url(), other.url()});
    c.credentials = [&](std::string_view node, const credentials_reply& reply) {
        // Without user and password the client doesn't log in, as with a URL that has neither.
        reply({}, node == one.url() + "/0" ? credentials{"app", "hush-of-app"} : credentials{});
    };
    locks mine(std::move(c));
    mine.keep_secret("hush-of-app");
    REQUIRE(mine.await_ready(2));
    CHECK(one.command({"CLIENT", "LIST"}).find("user=app") != std::string::npos);
}

TEST_CASE("a provider may reply late and twice and from another thread", "[servers][rotation]")
{
    const server node({.password = "hush-and-late"});
    auto c = patient({node.url()});
    std::vector<credentials_reply> replies;
    c.credentials = [&](std::string_view, credentials_reply reply) {
        replies.push_back(std::move(reply));
    };
    locks mine(std::move(c));
    mine.keep_secret("hush-and-late");
    REQUIRE(mine.await([&] { return replies.size() == 1; }));
    // No server waits for a login, because the client connects only after the reply.
    CHECK(node.command({"CLIENT", "LIST"}).find("name=redlock") == std::string::npos);
    std::thread([reply = replies[0]] { reply({}, {"", "hush-and-late"}); }).join();
    replies[0]({}, {"", "another"});
    REQUIRE(mine.await_ready(1));
    replies[0](boost::asio::error::access_denied, {});
    mine.give_back(mine.take("r"));
    CHECK(replies.size() == 1);
    CHECK(mine.stats().disconnects == 0);
}

TEST_CASE("a provider that fails costs a connection attempt and the client reports why",
          "[servers][rotation]")
{
    const server node({.password = "hush-hush"});
    auto c = patient({node.url()});
    const error_code denied = boost::asio::error::access_denied;
    enum class how { silent, error, throws, long_password };
    const auto [fails, reason] = GENERATE_COPY(table<how, std::string>(
        {{how::silent, "no credentials within connect_timeout"},
         {how::error, "credentials: " + denied.message()},
         {how::throws, "credentials: the vault is sealed"},
         {how::long_password, "credentials: user and password are longer than 16384 bytes"}}));
    CAPTURE(reason);
    bool is_sealed = true;
    // A busy machine connects, and asks for the credentials, in less than this.
    c.connect_timeout = fails == how::silent ? brief_timeout : c.connect_timeout;
    c.credentials = [&, how_ = fails](std::string_view, const credentials_reply& reply) {
        if (!is_sealed) {
            reply({}, {"", "hush-hush"});
        } else if (how_ == how::error) {
            reply(denied, {});
        } else if (how_ == how::throws) {
            throw std::runtime_error("the vault is sealed");
        } else if (how_ == how::long_password) {
            reply({}, {"", std::string(17000, 'p')});
        }
    };
    locks mine(std::move(c));
    mine.keep_secret("hush-hush");
    REQUIRE(mine.await([&] { return !mine.lines().empty(); }));
    CHECK(mine.lines()[0] == node.url() + "/0 is out of use: " + reason);
    report told;
    CHECK(mine.acquire("r", once(&told)).error == errc::unavailable);
    CHECK(told.nodes.at(0).error == reason);
    is_sealed = false;
    REQUIRE(mine.await([&] { return mine.stats().nodes_ready == 1; }));
    mine.give_back(mine.take("r"));
}

TEST_CASE("a client trusts the new authority of a server after its file was replaced",
          "[servers][rotation][tls]")
{
    const temp_dir folder;
    const auto ca = folder / "ca.pem";
    put(authorities().ca.certificate, ca);
    server node({.tls = identity_of(authorities().ca, authorities().server)});
    auto c = patient({node.tls_url()});
    c.tls.ca_file = ca;
    ready_locks mine(std::move(c));
    node.options().tls = identity_of(authorities().other_ca, authorities().untrusted);
    node.restart();
    REQUIRE(mine.await([&] { return mine.logged(log_level::warning, "TLS: "); }));
    put(authorities().other_ca.certificate, ca);
    REQUIRE(mine.await([&] { return mine.stats().connects == 2; }));
    CHECK(lines_with(mine, "TLS files have changed and were loaded again") == 1);
    mine.give_back(mine.take("r"));
}

TEST_CASE("a client presents the certificate that its files have now", "[servers][rotation][tls]")
{
    const temp_dir folder;
    const auto certificate = folder / "client.pem";
    const auto key = folder / "client.key";
    put(authorities().untrusted.certificate, certificate);
    put(authorities().untrusted.key, key);
    server_options options{.tls = identity_of(authorities().ca, authorities().server)};
    options.tls->clients_need_certificate = true;
    const server node(options);
    auto c = patient({node.tls_url()});
    c.tls.ca_file = authorities().ca.certificate;
    c.tls.certificate_file = certificate;
    c.tls.key_file = key;
    locks mine(std::move(c));
    REQUIRE(mine.await([&] { return mine.logged(log_level::warning, "unknown ca"); }));
    put(authorities().client.key, key);
    put(authorities().client.certificate, certificate);
    REQUIRE(mine.await_ready(1));
    mine.give_back(mine.take("r"));
}

TEST_CASE("a client warns once of broken TLS files and keeps using the previous ones",
          "[servers][rotation][tls]")
{
    const temp_dir folder;
    const auto ca = folder / "ca.pem";
    put(authorities().ca.certificate, ca);
    server node({.tls = identity_of(authorities().ca, authorities().server)});
    auto c = patient({node.tls_url()});
    c.tls.ca_file = ca;
    ready_locks mine(std::move(c));
    std::filesystem::resize_file(ca, 100);
    for (std::uint64_t connection = 2; connection <= 3; ++connection) {
        node.restart();
        REQUIRE(mine.await([&] { return mine.stats().connects == connection; }));
    }
    CHECK(lines_with(
              mine,
              "can't be loaded; the client still uses the ones from before: config::tls.ca_file") ==
          1);
    CHECK(mine.logged(log_level::warning, "still uses the ones from before"));
    mine.give_back(mine.take("r"));
}
