#pragma once

#include "base/wipe.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace redlock::base {

/// Where a node is and who one is there: a parsed and checked node URL.
struct address {
    enum class transport { tcp, tls, unix_socket };

    transport via = transport::tcp;
    /// A name, or an IP address without brackets in its shortest form. Empty for a unix socket.
    std::string host;
    /// Zero for a unix socket.
    std::uint16_t port = 0;
    /// The file of a unix socket, else empty.
    std::string path;
    /// Empty: the server's default user.
    std::string user;
    /// With an empty user too, no authentication is wanted.
    secret password;
    std::uint32_t db = 0;
    /// The node loses no key that it has acknowledged, as its operator says.
    bool durable = false;
    /// The node for logs and reports, a URL without userinfo: printable ASCII only.
    std::string display;

    /// Whether both lead to the same server, as far as their text tells, whatever the database.
    friend bool operator==(const address& a, const address& b) noexcept;
};

/// Why a URL is refused: names the part that is wrong, and holds nothing of the URL, which may be
/// a secret.
struct address_error {
    std::string message;
};

/// The longest node URL, in bytes. Room for an access token as password.
inline constexpr std::size_t max_url_size = 16 * 1024;

/// Reads a node URL as `config::nodes` documents them.
[[nodiscard]] std::variant<address, address_error> parse_address(std::string_view url);

}  // namespace redlock::base
