#include "support/background.hpp"
#include "support/certificates.hpp"
#include "support/listener.hpp"
#include "support/locks.hpp"
#include "support/loopback.hpp"
#include "support/proxy.hpp"
#include "support/run.hpp"
#include "support/server.hpp"
#include "support/temp_dir.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include <openssl/conf.h>
#include <openssl/ssl.h>

using namespace redlock;
using namespace redlock::test;
using namespace std::chrono_literals;

namespace asio = boost::asio;

namespace {

const certificates& world()
{
    static const certificates made;
    return made;
}

server_options tls_server(const identity& who, flavour kind = flavour::redis)
{
    return {.kind = kind, .tls = server_tls{world().ca.certificate, who.certificate, who.key}};
}

config trusting(std::string url, const identity& authority)
{
    auto c = patient({std::move(url)});
    c.tls.ca_file = authority.certificate;
    return c;
}

void check_works(locks& client)
{
    lock held = client.take("r");
    CHECK_FALSE(client.extend(held, longer_ttl));
    client.give_back(std::move(held));
}

/// The client sends the node no command. The log says why, and so does the report.
void check_refused(locks& client, const server& node, std::string_view reason = "TLS")
{
    REQUIRE(client.await([&] { return !client.lines().empty(); }));
    report told;
    CHECK(client.acquire("r", once(&told)).error == errc::unavailable);
    CHECK(told.nodes.at(0).outcome == node_outcome::disconnected);
    CHECK(client.stats().connects == 0);
    CHECK(client.lines().front().find(reason) != std::string::npos);
    CHECK(node.ask({"INFO", "commandstats"}).text.find("cmdstat_hello") == std::string::npos);
}

/// Every third greeting leaves HELLO out, and shows no more than the others.
void check_one_reason(locks& client, proxy& path)
{
    REQUIRE(client.await([&] { return path.connections() >= 5; }));
    CHECK(client.lines().size() == 1);
}

/// A TLS server that notes the names it is asked for, empty ones too, and closes the connection.
class name_catcher {
public:
    explicit name_catcher(const identity& who)
    {
        context_.use_certificate_chain_file(who.certificate);
        context_.use_private_key_file(who.key, asio::ssl::context::pem);
        SSL_CTX_set_tlsext_servername_callback(context_.native_handle(), &name_catcher::take);
        SSL_CTX_set_tlsext_servername_arg(context_.native_handle(), this);
        own_.call([this] {
            listening_->open([this](listener::socket peer) {
                const auto stream = std::make_shared<asio::ssl::stream<listener::socket>>(
                    std::move(peer), context_);
                stream->async_handshake(asio::ssl::stream_base::server,
                                        [stream](boost::system::error_code) {});
            });
        });
    }
    ~name_catcher()
    {
        own_.call([this] { listening_->close(); });
    }
    name_catcher(const name_catcher&) = delete;
    name_catcher& operator=(const name_catcher&) = delete;

    [[nodiscard]] std::string url(std::string_view host) const
    {
        return "rediss://" + std::string(host) + ":" + std::to_string(listening_->port());
    }

    [[nodiscard]] std::set<std::string> names()
    {
        return own_.call([this] { return names_; });
    }

private:
    static int take(SSL* connection, int*, void* self)
    {
        const char* name = SSL_get_servername(connection, TLSEXT_NAMETYPE_host_name);
        static_cast<name_catcher*>(self)->names_.insert(name != nullptr ? name : "");
        return SSL_TLSEXT_ERR_OK;
    }

    asio::ssl::context context_{asio::ssl::context::tls_server};
    /// Only the thread below uses it.
    std::set<std::string> names_;
    background own_;
    std::shared_ptr<listener> listening_ = std::make_shared<listener>(own_.executor());
};

/// OpenSSL's own defaults allow everything while this object lives, even if the system's policy
/// does not.
class lax_openssl {
public:
    lax_openssl()
    {
        std::ofstream(file_) << "openssl_conf = all\n[all]\nssl_conf = ssl\n[ssl]\n"
                                "system_default = tls\n[tls]\nMinProtocol = TLSv1\n"
                                "CipherString = DEFAULT:@SECLEVEL=0\n";
        REQUIRE(CONF_modules_load_file(file_.c_str(), nullptr, 0) > 0);
    }
    ~lax_openssl()
    {
        CONF_modules_load_file(nullptr, nullptr,
                               CONF_MFLAGS_DEFAULT_SECTION | CONF_MFLAGS_IGNORE_MISSING_FILE);
    }
    lax_openssl(const lax_openssl&) = delete;
    lax_openssl& operator=(const lax_openssl&) = delete;

private:
    temp_dir folder_;
    std::filesystem::path file_ = folder_.path() / "openssl.cnf";
};

/// A TLS server that speaks one version, counts the handshakes, and closes the connection.
class one_version {
public:
    one_version(const identity& who, int version)
    {
        SSL_CTX* const native = context_.native_handle();
        REQUIRE(SSL_CTX_set_min_proto_version(native, version) == 1);
        REQUIRE(SSL_CTX_set_max_proto_version(native, version) == 1);
        REQUIRE(SSL_CTX_set_cipher_list(native, "DEFAULT:@SECLEVEL=0") == 1);
        context_.use_certificate_chain_file(who.certificate);
        context_.use_private_key_file(who.key, asio::ssl::context::pem);
        own_.call([this] {
            listening_->open([this](listener::socket peer) {
                const auto stream = std::make_shared<asio::ssl::stream<listener::socket>>(
                    std::move(peer), context_);
                stream->async_handshake(asio::ssl::stream_base::server,
                                        [this, stream](boost::system::error_code ec) {
                                            ++(ec ? failed_ : succeeded_);
                                        });
            });
        });
    }
    ~one_version()
    {
        own_.call([this] { listening_->close(); });
    }
    one_version(const one_version&) = delete;
    one_version& operator=(const one_version&) = delete;

    [[nodiscard]] std::uint16_t port() const { return listening_->port(); }
    [[nodiscard]] unsigned succeeded() const noexcept { return succeeded_; }
    [[nodiscard]] unsigned failed() const noexcept { return failed_; }

private:
    asio::ssl::context context_{asio::ssl::context::tls_server};
    std::atomic<unsigned> succeeded_ = 0;
    std::atomic<unsigned> failed_ = 0;
    background own_;
    std::shared_ptr<listener> listening_ = std::make_shared<listener>(own_.executor());
};

/// Takes a server's place with a certificate of its own, and notes the data of clients that accept
/// it.
class impostor {
public:
    impostor(std::uint16_t port, const identity& who)
    {
        context_.use_certificate_chain_file(who.certificate);
        context_.use_private_key_file(who.key, asio::ssl::context::pem);
        own_.call([&] {
            const asio::ip::tcp::endpoint here(asio::ip::address_v4::loopback(), port);
            asio::co_spawn(own_.executor(), receive({own_.executor(), here}), asio::detached);
        });
    }
    impostor(const impostor&) = delete;
    impostor& operator=(const impostor&) = delete;

    [[nodiscard]] unsigned refused() const noexcept { return refused_; }
    [[nodiscard]] unsigned believed() const noexcept { return believed_; }
    [[nodiscard]] std::string heard()
    {
        return own_.call([this] { return heard_; });
    }

private:
    /// Serves the connections one after the other.
    asio::awaitable<void> receive(asio::ip::tcp::acceptor at)
    {
        constexpr auto quiet = asio::as_tuple(asio::use_awaitable);
        for (;;) {
            auto peer = co_await at.async_accept(asio::use_awaitable);
            asio::ssl::stream<asio::ip::tcp::socket> stream(std::move(peer), context_);
            const auto [ec] =
                co_await stream.async_handshake(asio::ssl::stream_base::server, quiet);
            ++(ec ? refused_ : believed_);
            std::array<char, 1024> room;
            for (bool open = !ec; open;) {
                const auto [end, n] = co_await stream.async_read_some(asio::buffer(room), quiet);
                heard_.append(room.data(), n);
                open = !end;
            }
        }
    }

    asio::ssl::context context_{asio::ssl::context::tls_server};
    std::atomic<unsigned> refused_ = 0;
    std::atomic<unsigned> believed_ = 0;
    /// Only the thread below uses it.
    std::string heard_;
    background own_;
};

/// Whether a client that accepts any certificate gets through.
bool is_spoken(const one_version& server)
{
    asio::io_context io{1};
    asio::ssl::context context{asio::ssl::context::tls_client};
    asio::ssl::stream<asio::ip::tcp::socket> stream(io, context);
    stream.next_layer().connect({asio::ip::address_v4::loopback(), server.port()});
    boost::system::error_code ec;
    stream.handshake(asio::ssl::stream_base::client, ec);
    return !ec;
}

}  // namespace

TEST_CASE("a client finds a TLS server by name or address and locks there", "[servers][tls]")
{
    const auto kind = each_kind();
    const auto* host = GENERATE("127.0.0.1", "localhost");
    auto options = tls_server(world().server, kind);
    options.tcp = false;
    options.password = "hush-over-tls";
    const server node(options);
    locks mine(trusting(node.tls_url(host, "", "hush-over-tls", 2), world().ca));
    check_works(mine);
}

TEST_CASE("a client over TLS and IPv6 requires the address in the certificate", "[servers][tls]")
{
    if (!has_ipv6_loopback()) {
        SKIP("this machine has no IPv6 loopback");
    }
    const bool is_named = GENERATE(true, false);
    auto options = tls_server(is_named ? world().server : world().wrong_name);
    options.address = "::1";
    const server node(options);
    REQUIRE(node.tls_url().starts_with("rediss://[::1]:"));
    locks mine(trusting(node.tls_url(), world().ca));
    if (is_named) {
        check_works(mine);
    } else {
        check_refused(mine, node);
    }
}

TEST_CASE("a TLS server that cannot prove its identity gets no command and no password",
          "[servers][tls]")
{
    const auto certificate = GENERATE(&certificates::expired, &certificates::not_yet_valid,
                                      &certificates::wrong_name, &certificates::untrusted);
    const server node(tls_server(world().*certificate));
    locks mine(trusting(node.tls_url("127.0.0.1", "", "not-for-you"), world().ca));
    check_refused(mine, node);
}

TEST_CASE("a client reports what is wrong with a server's certificate", "[servers][tls]")
{
    const auto [certificate, fault] = GENERATE(table<identity certificates::*, std::string>(
        {{&certificates::expired, "certificate has expired"},
         {&certificates::wrong_name, "it is not for 127.0.0.1"}}));
    const server node(tls_server(world().*certificate));
    locks mine(trusting(node.tls_url(), world().ca));
    REQUIRE(mine.await([&] { return !mine.lines().empty(); }));
    report told;
    CHECK(mine.acquire("r", once(&told)).error == errc::unavailable);
    CHECK(told.nodes.at(0).error == "TLS: certificate verify failed (SSL routines): " + fault);
}

TEST_CASE("a client that trusts another authority refuses a TLS server", "[servers][tls]")
{
    const server node(tls_server(world().server));
    locks mine(trusting(node.tls_url(), world().other_ca));
    check_refused(mine, node);
}

TEST_CASE("an impostor of a TLS server gets no data and the real server is used again",
          "[servers][tls]")
{
    const auto certificate =
        GENERATE(&certificates::wrong_name, &certificates::untrusted, &certificates::expired);
    auto options = tls_server(world().server);
    options.password = "for-one-alone";
    server node(options);
    locks mine(trusting(node.tls_url("127.0.0.1", "", "for-one-alone"), world().ca));
    check_works(mine);
    lock held = mine.take("held");
    node.kill();
    {
        impostor other(node.tls_port(), world().*certificate);
        const auto seen_through = [&](unsigned times) {
            return mine.await([&, before = other.refused()] {
                return other.refused() >= before + times || other.believed() > 0;
            });
        };
        REQUIRE(seen_through(1));
        report told;
        CHECK(mine.acquire("r", once(&told)).error == errc::unavailable);
        CHECK(told.nodes.at(0).outcome == node_outcome::disconnected);
        CHECK(mine.release(std::move(held)).error == errc::unavailable);
        REQUIRE(seen_through(2));
        CHECK(other.believed() == 0);
        CHECK(other.heard().empty());
        CHECK(mine.stats().connects == 1);
        CHECK(mine.logged(log_level::warning, "TLS: "));
    }
    node.start();
    REQUIRE(mine.await_ready(1));
    check_works(mine);
    CHECK(mine.stats().connects == 2);
}

TEST_CASE("a client without a configured authority does not trust the test's authority",
          "[servers][tls]")
{
    const server node(tls_server(world().server));
    auto c = trusting(node.tls_url(), world().ca);
    c.tls.ca_file.clear();
    locks mine(std::move(c));
    check_refused(mine, node);
}

TEST_CASE("a client never replaces TLS by plain text or plain text by TLS", "[servers][tls]")
{
    const server node(tls_server(world().server));
    const auto address = [](std::uint16_t port) { return "://127.0.0.1:" + std::to_string(port); };
    SECTION("a plain server where TLS is configured")
    {
        auto c = trusting("rediss" + address(node.port()), world().ca);
        // The server waits for the end of an apparent command. A busy machine connects over TCP in
        // less than this.
        c.connect_timeout = brief_timeout;
        locks mine(std::move(c));
        check_refused(mine, node, "the server does not seem to speak TLS on this port");
    }
    SECTION("a TLS server where plain text is configured")
    {
        proxy path(node.tls_port());
        locks mine(trusting(path.url(), world().ca));
        check_refused(mine, node, "it may want TLS");
        check_one_reason(mine, path);
    }
}

TEST_CASE("the configuration can name the server to find in the certificate", "[servers][tls]")
{
    const server node(tls_server(world().wrong_name));
    auto c = trusting(node.tls_url(), world().ca);
    c.tls.server_name = "elsewhere.example";
    locks mine(std::move(c));
    check_works(mine);
}

TEST_CASE("a client sends a TLS server the name by which it knows the server", "[servers][tls]")
{
    struct example {
        const char* host;
        const char* server_name;
        const char* told;
    };
    // A client can't ask for an address as a name.
    const auto e = GENERATE(example{"localhost", "", "localhost"},
                            example{"localhost", "elsewhere.example", "elsewhere.example"},
                            example{"127.0.0.1", "elsewhere.example", "elsewhere.example"},
                            example{"127.0.0.1", "", ""}, example{"localhost", "127.0.0.1", ""});
    const bool verifies = GENERATE(true, false);
    CAPTURE(e.host, e.server_name, verifies);
    name_catcher server(world().server);
    auto c = trusting(server.url(e.host), world().ca);
    c.tls.server_name = e.server_name;
    c.tls.insecure_skip_verification = !verifies;
    locks mine(std::move(c));
    REQUIRE(mine.await([&] { return !server.names().empty(); }));
    CHECK(server.names() == std::set<std::string>{e.told});
}

TEST_CASE("a client that skips verification on request logs a warning", "[servers][tls]")
{
    const auto certificate = GENERATE(&certificates::expired, &certificates::untrusted);
    const server node(tls_server(world().*certificate));
    auto c = trusting(node.tls_url(), world().ca);
    c.tls.insecure_skip_verification = true;
    locks mine(std::move(c));
    check_works(mine);
    CHECK(mine.logged(log_level::warning, "verif"));
}

TEST_CASE("a client presents its certificate to a server that requires one", "[servers][tls]")
{
    auto options = tls_server(world().server);
    options.tls->clients_need_certificate = true;
    const server node(options);
    auto c = trusting(node.tls_url(), world().ca);
    SECTION("and the server trusts it")
    {
        c.tls.certificate_file = world().client.certificate;
        c.tls.key_file = world().client.key;
        locks mine(std::move(c));
        check_works(mine);
    }
    SECTION("or the server refuses it")
    {
        c.tls.certificate_file = world().untrusted.certificate;
        c.tls.key_file = world().untrusted.key;
        locks mine(std::move(c));
        check_refused(mine, node, "unknown ca");
    }
    SECTION("and the server refuses a client without one")
    {
        proxy path(node.tls_port());
        c.nodes = {"rediss://127.0.0.1:" + std::to_string(path.port())};
        locks mine(std::move(c));
        check_refused(mine, node, "TLS: tlsv13 alert certificate required");
        check_one_reason(mine, path);
    }
}

TEST_CASE("a client over TLS survives split records and connections cut without a goodbye",
          "[servers][tls]")
{
    const server node(tls_server(world().server));
    proxy path(node.tls_port());
    path.split(direction::down, 5);
    locks mine(trusting("rediss://127.0.0.1:" + std::to_string(path.port()), world().ca));
    check_works(mine);
    for (const auto how : {ending::fin, ending::rst}) {
        REQUIRE(mine.await_ready(1));
        const auto before = mine.stats().disconnects;
        path.cut(how);
        REQUIRE(mine.await([&] { return mine.stats().disconnects > before; }));
        check_works(mine);
    }
}

TEST_CASE("an unusable TLS file gives a configuration error that names the field", "[servers][tls]")
{
    auto c = trusting("rediss://127.0.0.1:1", world().ca);
    const auto refused_for = [&](const char* field) {
        try {
            const locks mine(c);
        } catch (const boost::system::system_error& e) {
            return e.code() == errc::invalid_config &&
                   std::string_view(e.what()).find(field) != std::string_view::npos;
        }
        return false;
    };
    SECTION("an authority's file")
    {
        c.tls.ca_file = "/no/such/file.pem";
        CHECK(refused_for("tls.ca_file"));
    }
    SECTION("a certificate's file without a certificate")
    {
        c.tls.certificate_file = world().client.key;
        c.tls.key_file = world().client.key;
        CHECK(refused_for("tls.certificate_file"));
    }
    SECTION("a key that belongs to another certificate")
    {
        c.tls.certificate_file = world().client.certificate;
        c.tls.key_file = world().server.key;
        CHECK(refused_for("tls.key_file"));
    }
}

TEST_CASE("a client does not use TLS below 1.2 even if OpenSSL would allow it", "[servers][tls]")
{
    const int version = GENERATE(TLS1_1_VERSION, TLS1_2_VERSION);
    CAPTURE(version);
    const lax_openssl lax;
    const one_version node(world().server, version);
    if (!is_spoken(node)) {
        SKIP("OpenSSL here cannot speak TLS 1.1 at all");
    }
    REQUIRE(wait_for([&] { return node.succeeded() == 1; }));
    locks mine(trusting("rediss://127.0.0.1:" + std::to_string(node.port()), world().ca));
    if (version == TLS1_2_VERSION) {
        CHECK(mine.await([&] { return node.succeeded() > 1; }));
        return;
    }
    REQUIRE(
        mine.await([&] { return node.succeeded() + node.failed() > 1 && !mine.lines().empty(); }));
    CHECK(node.succeeded() == 1);
    CHECK(mine.logged(log_level::warning, "TLS: "));
}
