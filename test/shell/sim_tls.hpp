#pragma once

#include "support/temp_dir.hpp"

#include <openssl/ssl.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace redlock::test {

/// Who the masters of a play say they are: one certificate for all their addresses.
class sim_identity {
public:
    sim_identity();

    /// What clients have to trust.
    [[nodiscard]] std::filesystem::path ca_file() const { return folder_ / "ca"; }
    [[nodiscard]] SSL_CTX* context() const noexcept { return context_.get(); }

private:
    struct freed {
        void operator()(SSL_CTX* c) const noexcept { SSL_CTX_free(c); }
    };

    temp_dir folder_;
    std::unique_ptr<SSL_CTX, freed> context_;
};

/**
 * A master's end of one TLS connection, in memory. OpenSSL draws random numbers of its own: what
 * goes over the wire has other bytes each time, but always as many of them, since the keys' kinds
 * have signatures of one length and no tickets are given.
 */
class sim_tls {
public:
    explicit sim_tls(const sim_identity& of);

    /// Bytes from the client; what they say is appended to `plain`. False: they are no TLS.
    [[nodiscard]] bool take(std::string_view bytes, std::string& plain);
    /// Something to be told to the client; false before the handshake.
    [[nodiscard]] bool say(std::string_view plain);
    /// What is to be sent to the client.
    [[nodiscard]] std::string take_output();

private:
    struct freed {
        void operator()(SSL* s) const noexcept { SSL_free(s); }
    };

    /// Whether it may go on, once more bytes have come.
    [[nodiscard]] bool only_waits(int result) const;

    std::unique_ptr<SSL, freed> ssl_;
};

}  // namespace redlock::test
