#include "engine/link.hpp"

#include <redlock/error.hpp>

#include <boost/system/system_error.hpp>

#if REDLOCK_HAS_TLS

#include "engine/tcp_connector.hpp"
#include "engine/tls_link.hpp"

#include <boost/asio/ip/tcp.hpp>

namespace redlock::engine {

namespace ssl = boost::asio::ssl;

namespace {

void check(const boost::system::error_code& ec, const char* field)
{
    if (ec) {
        throw boost::system::system_error(
            errc::invalid_config, std::string("config::tls.") + field + ": " + ec.message());
    }
}

using tcp_tls_link = tls_link<boost::asio::ip::tcp::socket, tcp_connector>;

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
    return std::make_shared<tcp_tls_link>(setup, tls, boost::asio::ip::tcp::socket(setup.executor),
                                          tcp_connector(setup.executor));
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
