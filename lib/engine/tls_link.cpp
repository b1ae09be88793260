#include "engine/link.hpp"

#include <redlock/error.hpp>

#include <boost/system/system_error.hpp>

#include <cstddef>
#include <memory>
#include <string>

#if REDLOCK_HAS_TLS

#include "base/text.hpp"
#include "engine/tcp_connector.hpp"
#include "engine/tls_link.hpp"

#include <boost/asio/ip/tcp.hpp>

namespace redlock::engine {

namespace ssl = boost::asio::ssl;

namespace {

/// The text of an error in a file. Empty if there is no error.
std::string fault_of(const char* field, const std::string& file,
                     const boost::system::error_code& ec, const std::string& why = {})
{
    if (!ec) {
        return {};
    }
    const std::string which = file.empty() ? "" : base::printable(file) + ": ";
    return std::string("config::tls.") + field + ": " + which + (why.empty() ? ec.message() : why);
}

/// Loads the trusted certificates and the client's own certificate and key. Returns the error, or
/// an empty text.
std::string load_files(ssl::context& c, const tls_config& config)
{
    // Without a callback OpenSSL would ask for the passphrase at the terminal, and block.
    const auto is_encrypted = std::make_shared<bool>(false);
    c.set_password_callback([is_encrypted](std::size_t, ssl::context::password_purpose) {
        *is_encrypted = true;
        return std::string();
    });
    boost::system::error_code ec;
    if (config.ca_file.empty()) {
        c.set_default_verify_paths(ec);
    } else {
        c.load_verify_file(config.ca_file, ec);
    }
    if (ec || config.certificate_file.empty()) {
        return fault_of("ca_file", config.ca_file, ec);
    }
    c.use_certificate_chain_file(config.certificate_file, ec);
    if (ec) {
        return fault_of("certificate_file", config.certificate_file, ec);
    }
    c.use_private_key_file(config.key_file, ssl::context::pem, ec);
    return fault_of("key_file", config.key_file, ec,
                    *is_encrypted ? "it is encrypted, and the client takes no passphrase" : "");
}

using tcp_tls_link = tls_link<boost::asio::ip::tcp::socket, tcp_connector>;

}  // namespace

std::shared_ptr<tls_context> load_tls_context(const base::settings& s, std::string& fault)
{
    auto tls = std::make_shared<tls_context>(s);
    ssl::context& c = tls->context;
    c.set_options(ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1 | ssl::context::no_compression);
    c.set_verify_mode(s.tls.insecure_skip_verification ? ssl::verify_none : ssl::verify_peer);
    fault = load_files(c, s.tls);
    return fault.empty() ? tls : nullptr;
}

std::shared_ptr<tls_context> make_tls_context(const base::settings& s)
{
    std::string fault;
    auto tls = load_tls_context(s, fault);
    if (!tls) {
        throw boost::system::system_error(errc::invalid_config, fault);
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

// Stubs. A configuration with rediss:// nodes is refused before the library could call them.
std::shared_ptr<tls_context> load_tls_context(const base::settings&, std::string& fault)
{
    fault = "config::nodes: built without TLS";
    return nullptr;
}

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
