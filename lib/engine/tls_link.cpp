#include "engine/link.hpp"

#include <redlock/error.hpp>

#include <boost/system/system_error.hpp>

#if REDLOCK_HAS_TLS

#include "engine/stream_link.hpp"
#include "engine/tcp_connector.hpp"

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>

namespace redlock::engine {

namespace ssl = boost::asio::ssl;

class tls_context {
public:
    explicit tls_context(const base::settings& s) : context(ssl::context::tls_client), settings(s)
    {}

    ssl::context context;
    const base::settings& settings;
};

namespace {

void check(const boost::system::error_code& ec, const char* field)
{
    if (ec) {
        throw boost::system::system_error(
            errc::invalid_config, std::string("config::tls.") + field + ": " + ec.message());
    }
}

class tls_link final : public stream_link<tls_link> {
public:
    using socket_type = boost::asio::ip::tcp::socket;

    tls_link(const link_setup& s, std::shared_ptr<tls_context> tls)
        : stream_link(s),
          tls_(std::move(tls)),
          stream_(s.executor, tls_->context),
          connector_(s.executor)
    {}

    void start() override
    {
        connector_.connect(
            stream_.next_layer(), *setup().address, setup().attempt,
            [me = shared_from_this()](boost::system::error_code ec) { me->on_connect(ec); });
    }

    [[nodiscard]] ssl::stream<socket_type>& stream() noexcept { return stream_; }
    [[nodiscard]] socket_type& lowest() noexcept { return stream_.next_layer(); }
    void stop_connecting() noexcept { connector_.cancel(); }

private:
    void on_connect(boost::system::error_code ec)
    {
        if (is_closed()) {
            return;
        }
        if (!ec) {
            ec = prepare();
        }
        if (ec) {
            down(ec.message());
            return;
        }
        stream_.async_handshake(ssl::stream_base::client,
                                [me = shared_from_this()](boost::system::error_code failed) {
                                    if (me->is_closed()) {
                                        return;
                                    }
                                    if (failed) {
                                        me->down("TLS: " + failed.message());
                                    } else {
                                        me->up();
                                    }
                                });
    }

    /// Whom to ask for and whom to expect. A resumed session would be checked the same.
    boost::system::error_code prepare()
    {
        const tls_config& config = tls_->settings.tls;
        const std::string& name =
            config.server_name.empty() ? setup().address->host : config.server_name;
        boost::system::error_code ec;
        boost::system::error_code not_an_address;
        boost::asio::ip::make_address(name, not_an_address);
        if (not_an_address &&
            SSL_set_tlsext_host_name(stream_.native_handle(), name.c_str()) != 1) {
            return boost::asio::error::invalid_argument;
        }
        if (!config.insecure_skip_verification) {
            stream_.set_verify_mode(ssl::verify_peer, ec);
            if (!ec) {
                stream_.set_verify_callback(ssl::host_name_verification(name), ec);
            }
        }
        return ec;
    }

    std::shared_ptr<tls_context> tls_;
    ssl::stream<socket_type> stream_;
    tcp_connector connector_;
};

}  // namespace

std::shared_ptr<tls_context> make_tls_context(const base::settings& s)
{
    auto tls = std::make_shared<tls_context>(s);
    const tls_config& config = s.tls;
    ssl::context& c = tls->context;
    c.set_options(ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1 | ssl::context::no_compression);
    c.set_verify_mode(config.insecure_skip_verification ? ssl::verify_none : ssl::verify_peer);
    boost::system::error_code ec;
    if (config.ca_file.empty()) {
        c.set_default_verify_paths(ec);
    } else {
        c.load_verify_file(config.ca_file, ec);
    }
    check(ec, "ca_file");
    if (!config.certificate_file.empty()) {
        c.use_certificate_chain_file(config.certificate_file, ec);
        check(ec, "certificate_file");
        c.use_private_key_file(config.key_file, ssl::context::pem, ec);
        check(ec, "key_file");
    }
    return tls;
}

std::shared_ptr<link> make_tls_link(const link_setup& setup,
                                    const std::shared_ptr<tls_context>& tls)
{
    return std::make_shared<tls_link>(setup, tls);
}

}  // namespace redlock::engine

#else

namespace redlock::engine {

// A configuration with rediss:// nodes has been refused before these could be called.
std::shared_ptr<tls_context> make_tls_context(const base::settings&)
{
    throw boost::system::system_error(errc::invalid_config, "config::nodes: built without TLS");
}

std::shared_ptr<link> make_tls_link(const link_setup&, const std::shared_ptr<tls_context>&)
{
    throw boost::system::system_error(errc::invalid_config, "config::nodes: built without TLS");
}

}  // namespace redlock::engine

#endif
