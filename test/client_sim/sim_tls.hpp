#pragma once

#include "support/temp_dir.hpp"

#include <openssl/ssl.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace redlock::test {

/// The identity of the nodes in a play: one certificate for all their addresses.
class sim_identity {
public:
    sim_identity();

    /// The file that clients must trust.
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
 * A node's end of one TLS connection, in memory. OpenSSL draws its own random numbers, so each
 * play sends other bytes. Their number is always the same, since the keys' kinds have signatures of
 * one length and the node gives no tickets.
 */
class sim_tls {
public:
    explicit sim_tls(const sim_identity& of);

    /// Takes bytes from the client and appends their plain text to `plain`. False if they are no
    /// TLS.
    [[nodiscard]] bool take(std::string_view bytes, std::string& plain);
    /// Encrypts a text for the client. False before the handshake.
    [[nodiscard]] bool say(std::string_view plain);
    /// The bytes for the client.
    [[nodiscard]] std::string take_output();

private:
    struct freed {
        void operator()(SSL* s) const noexcept { SSL_free(s); }
    };

    /// Whether the operation only needs more bytes.
    [[nodiscard]] bool only_waits(int result) const;

    std::unique_ptr<SSL, freed> ssl_;
};

}  // namespace redlock::test
