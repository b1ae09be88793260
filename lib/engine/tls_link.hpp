#pragma once

#include "engine/stream_link.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/system/error_code.hpp>

#include <memory>
#include <string>
#include <utility>

namespace redlock::engine {

class tls_context {
public:
    explicit tls_context(const base::settings& s)
        : context(boost::asio::ssl::context::tls_client),
          settings(s)
    {}

    boost::asio::ssl::context context;
    const base::settings& settings;
};

/**
 * TLS over a stream that `Connector` connects. `Connector` provides `connect(stream, address,
 * addresses, done)`, which calls `done(error_code)`, and `cancel()`. Only one translation unit of
 * the library uses this header, for TCP; tests use it too.
 */
template <class Stream, class Connector>
class tls_link final : public stream_link<tls_link<Stream, Connector>> {
public:
    tls_link(const link_setup& s, std::shared_ptr<tls_context> tls, Stream lower,
             Connector connector)
        : stream_link<tls_link>(s),
          tls_(std::move(tls)),
          stream_(std::move(lower), tls_->context),
          connector_(std::move(connector))
    {}

    void start() override
    {
        connector_.connect(
            stream_.next_layer(), *this->setup().address, this->setup().addresses,
            [me = this->shared_from_this()](boost::system::error_code ec) { me->on_connect(ec); });
    }

    [[nodiscard]] boost::asio::ssl::stream<Stream>& stream() noexcept { return stream_; }
    [[nodiscard]] Stream& lowest() noexcept { return stream_.next_layer(); }
    void stop_connecting() noexcept { connector_.cancel(); }

private:
    friend stream_link<tls_link>;

    static bool is_mere_end(boost::system::error_code ec) noexcept
    {
        return stream_link<tls_link>::is_mere_end(ec) ||
               ec == boost::asio::ssl::error::stream_truncated;
    }

    /// In TLS 1.3 a server refuses the certificate of a client after the handshake. The core
    /// knows such an end by the first word.
    static std::string reason_of(boost::system::error_code ec)
    {
        const bool is_about_tls = ec.category() == boost::asio::error::get_ssl_category();
        return (is_about_tls ? "TLS: " : "") + ec.message();
    }

    void on_connect(boost::system::error_code ec)
    {
        if (this->is_closed()) {
            return;
        }
        if (!ec) {
            ec = prepare();
        }
        if (ec) {
            this->down(ec.message());
            return;
        }
        this->handshaking();
        stream_.async_handshake(
            boost::asio::ssl::stream_base::client,
            [me = this->shared_from_this()](boost::system::error_code failed) {
                if (me->is_closed()) {
                    return;
                }
                if (failed) {
                    me->down("TLS: " + failed.message() + me->certificate_fault());
                } else {
                    me->up();
                }
            });
    }

    /// The name that the certificate must match.
    [[nodiscard]] const std::string& name() const noexcept
    {
        const std::string& given = tls_->settings.tls.server_name;
        return given.empty() ? this->setup().address->host : given;
    }

    /// The fault in the server's certificate. The error of the handshake only says that there is
    /// one. OpenSSL has no text for a certificate that a callback refuses; the callback here
    /// refuses only a wrong name.
    [[nodiscard]] std::string certificate_fault()
    {
        const long result = SSL_get_verify_result(stream_.native_handle());
        if (tls_->settings.tls.insecure_skip_verification || result == X509_V_OK) {
            return {};
        }
        return result == X509_V_ERR_UNSPECIFIED
                   ? ": it is not for " + name()
                   : std::string(": ") + X509_verify_cert_error_string(result);
    }

    /// Sets the server name to request and to expect. A resumed session would be checked in the
    /// same way.
    boost::system::error_code prepare()
    {
        namespace ssl = boost::asio::ssl;
        const tls_config& config = tls_->settings.tls;
        boost::system::error_code ec;
        boost::system::error_code not_an_address;
        boost::asio::ip::make_address(name(), not_an_address);
        if (not_an_address &&
            SSL_set_tlsext_host_name(stream_.native_handle(), name().c_str()) != 1) {
            return boost::asio::error::invalid_argument;
        }
        if (!config.insecure_skip_verification) {
            stream_.set_verify_mode(ssl::verify_peer, ec);
            if (!ec) {
                stream_.set_verify_callback(ssl::host_name_verification(name()), ec);
            }
        }
        return ec;
    }

    std::shared_ptr<tls_context> tls_;
    boost::asio::ssl::stream<Stream> stream_;
    Connector connector_;
};

}  // namespace redlock::engine
