#pragma once

#include "base/wipe.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace redlock::base {

/// A parsed and checked node URL: the node's address and the client's login there.
struct address {
    enum class transport { tcp, tls, unix_socket };

    transport via = transport::tcp;
    /// A name, or an IP address in its shortest form without brackets. Empty for a Unix socket.
    std::string host;
    /// Zero for a Unix socket.
    std::uint16_t port = 0;
    /// The file of a Unix socket. Empty for TCP and TLS.
    std::string path;
    /// Empty means the server's default user.
    std::string user;
    /// If the user is empty too, the client doesn't authenticate.
    secret password;
    std::uint32_t db = 0;
    /// The operator states that the node loses no acknowledged key.
    bool durable = false;
    /// The node's name in logs and reports: a URL without userinfo, in printable ASCII.
    std::string display;

    /// Whether both URLs lead to the same server, as far as their text shows. The database doesn't
    /// matter.
    friend bool operator==(const address& a, const address& b) noexcept;
};

/// Why a URL is refused. The text names the invalid part. It contains nothing of the URL, because
/// that may be a secret.
struct address_error {
    std::string message;
};

/// The longest node URL, in bytes. It has room for an access token as password.
inline constexpr std::size_t max_url_size = 16 * 1024;

/// Parses a node URL in the form that `config::nodes` documents.
[[nodiscard]] std::variant<address, address_error> parse_address(std::string_view url);

}  // namespace redlock::base
