#pragma once

#include "support/temp_dir.hpp"

#include <filesystem>

namespace redlock::test {

/// PEM files of a certificate and its private key.
struct identity {
    std::filesystem::path certificate;
    std::filesystem::path key;
};

/// A small world of certificates, as files that are deleted with the object. Each object makes new
/// ones, with EC keys.
class certificates {
public:
    certificates();

    /// The authority that signs everything below unless noted.
    identity ca;
    /// An authority that signed only `untrusted`.
    identity other_ca;
    /// A server's certificate, for localhost, 127.0.0.1 and ::1.
    identity server;
    /// The same, expired a day ago, and one that becomes valid tomorrow.
    identity expired;
    identity not_yet_valid;
    /// A server's certificate, for `elsewhere.example` only.
    identity wrong_name;
    /// As `server`, signed by `other_ca`.
    identity untrusted;
    /// A client's.
    identity client;
    /// The client's key, encrypted.
    std::filesystem::path encrypted_key;

private:
    temp_dir folder_;
};

}  // namespace redlock::test
