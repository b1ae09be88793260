#include "engine/tls_link.hpp"
#include "support/certificates.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/connect_pair.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace redlock;
namespace asio = boost::asio;

namespace {

using unix_stream = asio::local::stream_protocol::socket;

struct connected_already {
    template <class Done>
    void connect(unix_stream& socket, const base::address&,
                 const std::shared_ptr<engine::known_addresses>&, Done done)
    {
        asio::post(socket.get_executor(), [done = std::move(done)] { done({}); });
    }
    void cancel() noexcept {}
};

using paired_link = engine::tls_link<unix_stream, connected_already>;

/// Closes without close_notify as soon as a client has connected. It refuses clients without a
/// certificate.
class closing_server {
public:
    closing_server(const test::certificates& world, unix_stream socket, bool is_strict)
        : stream_(std::move(socket), identified(context_, world, is_strict)),
          met_(std::async(std::launch::async, [this] {
              boost::system::error_code ec;
              stream_.handshake(asio::ssl::stream_base::server, ec);
              stream_.next_layer().close();
              return ec;
          }))
    {}

    /// The result of the connection, once the server has closed it.
    boost::system::error_code met() { return met_.get(); }

private:
    static asio::ssl::context& identified(asio::ssl::context& c, const test::certificates& world,
                                          bool is_strict)
    {
        c.use_certificate_chain_file(world.server.certificate);
        c.use_private_key_file(world.server.key, asio::ssl::context::pem);
        if (is_strict) {
            c.set_verify_mode(asio::ssl::verify_peer | asio::ssl::verify_fail_if_no_peer_cert);
        }
        return c;
    }

    asio::ssl::context context_{asio::ssl::context::tlsv13_server};
    asio::ssl::stream<unix_stream> stream_;
    std::future<boost::system::error_code> met_;
};

/// Writes as soon as it may, to a server that has closed by then.
class late_writer final : public engine::link_events {
public:
    void on_link_handshaking(unsigned) override {}
    void on_link_up(unsigned) override
    {
        refusal = server->met();
        link->write("HELLO");
    }
    void on_link_bytes(unsigned, std::string_view) override { FAIL("nothing was to be said"); }
    void on_link_written(unsigned, std::string&&) override { FAIL("nobody was to read that"); }
    void on_link_down(unsigned, std::string_view reason) override { reasons.emplace_back(reason); }

    closing_server* server = nullptr;
    std::shared_ptr<engine::link> link;
    boost::system::error_code refusal;
    std::vector<std::string> reasons;
};

}  // namespace

TEST_CASE("a client reports why a TLS server closed although its write fails first",
          "[engine][tls]")
{
    // In TLS 1.3 a client is connected before the server has seen its certificate.
    const bool is_strict = GENERATE(true, false);
    const test::certificates world;
    base::settings settings;
    settings.tls.ca_file = world.ca.certificate;
    base::address address;
    address.host = "localhost";
    asio::io_context context;
    unix_stream mine(context);
    unix_stream theirs(context);
    asio::local::connect_pair(mine, theirs);
    late_writer events;
    events.link = std::make_shared<paired_link>(
        engine::link_setup{context.get_executor(), &events, 0, &address, nullptr},
        engine::make_tls_context(settings), std::move(mine), connected_already());
    closing_server server(world, std::move(theirs), is_strict);
    const struct let_go {
        late_writer& whom;
        ~let_go() { whom.link->close(); }
    } before_the_server_ends{events};
    events.server = &server;
    events.link->start();
    context.run();
    CHECK(events.refusal.failed() == is_strict);
    REQUIRE(events.reasons.size() == 1);
    // If the server gives no reason, the client knows only that the server closed.
    CHECK_THAT(events.reasons.front(), Catch::Matchers::ContainsSubstring(
                                           is_strict ? "certificate required" : "Broken pipe"));
    CHECK(events.reasons.front().starts_with("TLS: ") == is_strict);
}
