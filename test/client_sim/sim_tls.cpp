#include "client_sim/sim_tls.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <array>
#include <cstdio>
#include <stdexcept>

namespace redlock::test {

namespace {

template <auto Free>
struct freed_by {
    template <class T>
    void operator()(T* object) const noexcept
    {
        Free(object);
    }
};

using key_ptr = std::unique_ptr<EVP_PKEY, freed_by<EVP_PKEY_free>>;
using certificate_ptr = std::unique_ptr<X509, freed_by<X509_free>>;
using extension_ptr = std::unique_ptr<X509_EXTENSION, freed_by<X509_EXTENSION_free>>;
using file_ptr = std::unique_ptr<std::FILE, freed_by<std::fclose>>;

void require(bool done, const char* what)
{
    if (!done) {
        throw std::runtime_error(std::string("TLS of the simulation: ") + what);
    }
}

/// Self-signed.
certificate_ptr make_certificate(EVP_PKEY* key)
{
    constexpr long day = 24L * 60 * 60;
    certificate_ptr made(X509_new());
    X509* const c = made.get();
    require(c != nullptr, "no certificate");
    X509_set_version(c, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(c), 1);
    X509_gmtime_adj(X509_getm_notBefore(c), -day);
    X509_gmtime_adj(X509_getm_notAfter(c), day);
    X509_set_pubkey(c, key);
    const auto* name = reinterpret_cast<const unsigned char*>("master");
    X509_NAME_add_entry_by_txt(X509_get_subject_name(c), "CN", MBSTRING_UTF8, name, -1, -1, 0);
    X509_set_issuer_name(c, X509_get_subject_name(c));
    const extension_ptr addresses(
        X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name,
                            "IP:10.0.0.1,IP:10.0.0.2,IP:10.0.0.3,IP:10.0.0.4,IP:10.0.0.5"));
    require(addresses && X509_add_ext(c, addresses.get(), -1) == 1, "no addresses");
    require(X509_sign(c, key, nullptr) > 0, "no signature");
    return made;
}

}  // namespace

sim_identity::sim_identity() : context_(SSL_CTX_new(TLS_server_method()))
{
    const key_ptr key(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
    require(key && context_, "no key");
    const certificate_ptr certificate = make_certificate(key.get());
    const file_ptr file(std::fopen(ca_file().c_str(), "wx"));
    require(file && PEM_write_X509(file.get(), certificate.get()) == 1, "no file");
    require(SSL_CTX_use_certificate(context(), certificate.get()) == 1 &&
                SSL_CTX_use_PrivateKey(context(), key.get()) == 1 &&
                SSL_CTX_set_min_proto_version(context(), TLS1_3_VERSION) == 1 &&
                SSL_CTX_set_num_tickets(context(), 0) == 1,
            "no context");
}

sim_tls::sim_tls(const sim_identity& of) : ssl_(SSL_new(of.context()))
{
    require(ssl_ != nullptr, "no connection");
    SSL_set_bio(ssl_.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_accept_state(ssl_.get());
}

bool sim_tls::only_waits(int result) const
{
    return SSL_get_error(ssl_.get(), result) == SSL_ERROR_WANT_READ;
}

bool sim_tls::take(std::string_view bytes, std::string& plain)
{
    ERR_clear_error();
    BIO_write(SSL_get_rbio(ssl_.get()), bytes.data(), static_cast<int>(bytes.size()));
    // The first read does the handshake.
    std::array<char, 4096> chunk;
    for (;;) {
        const int n = SSL_read(ssl_.get(), chunk.data(), static_cast<int>(chunk.size()));
        if (n <= 0) {
            return only_waits(n);
        }
        plain.append(chunk.data(), static_cast<std::size_t>(n));
    }
}

bool sim_tls::say(std::string_view plain)
{
    ERR_clear_error();
    return SSL_write(ssl_.get(), plain.data(), static_cast<int>(plain.size())) > 0;
}

std::string sim_tls::take_output()
{
    BIO* const out = SSL_get_wbio(ssl_.get());
    std::string bytes(BIO_ctrl_pending(out), '\0');
    if (!bytes.empty()) {
        BIO_read(out, bytes.data(), static_cast<int>(bytes.size()));
    }
    return bytes;
}

}  // namespace redlock::test
