#include "support/certificates.hpp"

#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>

namespace redlock::test {
namespace {

template <auto Free>
struct freed_by {
    template <class T>
    void operator()(T* object) const
    {
        Free(object);
    }
};

using key_ptr = std::unique_ptr<EVP_PKEY, freed_by<EVP_PKEY_free>>;
using certificate_ptr = std::unique_ptr<X509, freed_by<X509_free>>;
using extension_ptr = std::unique_ptr<X509_EXTENSION, freed_by<X509_EXTENSION_free>>;
using file_ptr = std::unique_ptr<std::FILE, freed_by<std::fclose>>;

constexpr long day = 24L * 60 * 60;

void require(bool done, const char* what)
{
    if (!done) {
        throw std::runtime_error(std::string(what) + ": " +
                                 ERR_reason_error_string(ERR_get_error()));
    }
}

struct subject {
    const char* name;
    const char* usage;      ///< extended key usage; null for an authority
    const char* alt_names;  ///< null for none
    long begins = -day;     ///< seconds from now
    long ends = day;
};

struct pair {
    key_ptr key;
    certificate_ptr certificate;
};

void add_extension(X509* certificate, X509* issuer, int nid, const char* value)
{
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
    const extension_ptr extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value));
    require(extension && X509_add_ext(certificate, extension.get(), -1) == 1, "X509_add_ext");
}

void add_extensions(X509* certificate, X509* issuer, const subject& who)
{
    const bool authority = who.usage == nullptr;
    add_extension(certificate, issuer, NID_basic_constraints,
                  authority ? "critical,CA:TRUE" : "critical,CA:FALSE");
    add_extension(certificate, issuer, NID_key_usage,
                  authority ? "critical,keyCertSign,cRLSign" : "critical,digitalSignature");
    add_extension(certificate, issuer, NID_subject_key_identifier, "hash");
    if (!authority) {
        add_extension(certificate, issuer, NID_authority_key_identifier, "keyid");
        add_extension(certificate, issuer, NID_ext_key_usage, who.usage);
    }
    if (who.alt_names != nullptr) {
        add_extension(certificate, issuer, NID_subject_alt_name, who.alt_names);
    }
}

/// Signed by `issuer`, or self-signed without one.
pair make(const subject& who, const pair* issuer)
{
    static std::atomic<long> serial{1};
    pair made{key_ptr(EVP_EC_gen("P-256")), certificate_ptr(X509_new())};
    require(made.key && made.certificate, "EVP_EC_gen");
    X509* const certificate = made.certificate.get();
    X509* const signer = issuer != nullptr ? issuer->certificate.get() : certificate;

    X509_set_version(certificate, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial.fetch_add(1));
    X509_gmtime_adj(X509_getm_notBefore(certificate), who.begins);
    X509_gmtime_adj(X509_getm_notAfter(certificate), who.ends);
    X509_set_pubkey(certificate, made.key.get());
    const auto* name = reinterpret_cast<const unsigned char*>(who.name);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8, name, -1,
                               -1, 0);
    X509_set_issuer_name(certificate, X509_get_subject_name(signer));
    add_extensions(certificate, signer, who);
    EVP_PKEY* const key = issuer != nullptr ? issuer->key.get() : made.key.get();
    require(X509_sign(certificate, key, EVP_sha256()) > 0, "X509_sign");
    return made;
}

/// Writes the key, encrypted if there is a passphrase.
void write_key(const std::filesystem::path& file, const pair& what, const char* passphrase)
{
    const file_ptr key(std::fopen(file.c_str(), "wx"));
    const auto* const cipher = passphrase != nullptr ? EVP_aes_256_cbc() : nullptr;
    require(key && PEM_write_PrivateKey(key.get(), what.key.get(), cipher, nullptr, 0, nullptr,
                                        const_cast<char*>(passphrase)) == 1,
            "PEM_write_PrivateKey");
}

identity write(const temp_dir& folder, const std::string& name, const pair& what)
{
    const identity files{folder / (name + ".crt"), folder / (name + ".key")};
    const file_ptr certificate(std::fopen(files.certificate.c_str(), "wx"));
    require(certificate && PEM_write_X509(certificate.get(), what.certificate.get()) == 1,
            "PEM_write_X509");
    write_key(files.key, what, nullptr);
    return files;
}

}  // namespace

certificates::certificates()
{
    constexpr auto here = "DNS:localhost,IP:127.0.0.1,IP:::1";
    constexpr auto serves = "serverAuth";
    const auto authority = make({"redlock test authority", nullptr, nullptr}, nullptr);
    const auto other = make({"redlock other authority", nullptr, nullptr}, nullptr);
    const auto issue = [&](const std::string& name, const subject& who, const pair& issuer) {
        return write(folder_, name, make(who, &issuer));
    };
    ca = write(folder_, "ca", authority);
    other_ca = write(folder_, "other_ca", other);
    server = issue("server", {"localhost", serves, here}, authority);
    expired = issue("expired", {"localhost", serves, here, -2 * day, -day}, authority);
    not_yet_valid = issue("not_yet_valid", {"localhost", serves, here, day, 2 * day}, authority);
    wrong_name = issue("wrong_name", {"elsewhere", serves, "DNS:elsewhere.example"}, authority);
    untrusted = issue("untrusted", {"localhost", serves, here}, other);
    const auto one = make({"redlock test client", "clientAuth", nullptr}, &authority);
    client = write(folder_, "client", one);
    encrypted_key = folder_ / "encrypted.key";
    write_key(encrypted_key, one, "a passphrase");
}

}  // namespace redlock::test
