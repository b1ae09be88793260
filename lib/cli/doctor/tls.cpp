#include "cli/doctor/tls.hpp"

#if REDLOCK_HAS_TLS

#include "engine/tls_link.hpp"

#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

namespace redlock::cli {

namespace {

/// OpenSSL's own verification, whose result is kept. It has no word for what the caller refuses,
/// which here is another name.
int verify(X509_STORE_CTX* chain, void* self)
{
    auto& tls = *static_cast<doctor_tls*>(self);
    const int result = X509_verify_cert(chain);
    const int error = X509_STORE_CTX_get_error(chain);
    if (result > 0) {
        return result;
    }
    if (error == X509_V_ERR_UNSPECIFIED || error == X509_V_OK) {
        tls.set_fault("it is not for " + tls.name());
    } else {
        tls.set_fault(X509_verify_cert_error_string(error));
    }
    return result;
}

}  // namespace

doctor_tls::doctor_tls(const base::settings& s, const base::address& node)
    : name_(s.tls.server_name.empty() ? node.host : s.tls.server_name)
{
    if (node.via == base::address::transport::tls) {
        context_ = engine::make_tls_context(s);
        SSL_CTX_set_cert_verify_callback(context_->context.native_handle(), verify, this);
    }
}

}  // namespace redlock::cli

#else

namespace redlock::cli {

doctor_tls::doctor_tls(const base::settings&, const base::address&) {}

}  // namespace redlock::cli

#endif
