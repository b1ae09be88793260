#include "base/address.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <optional>
#include <utility>

namespace redlock::base {
namespace {

constexpr std::uint16_t default_port = 6379;
constexpr std::uint32_t largest_db = 0x7fff'ffff;
constexpr std::size_t longest_host = 253;
// One less than the array, because the kernel wants the path's NUL as well.
constexpr std::size_t longest_path = sizeof(sockaddr_un::sun_path) - 1;

/// The fault of a part of the URL. Empty if the part is valid.
using complaint = std::optional<std::string>;

// The ctype functions depend on the locale, but a URL is ASCII in every locale.
constexpr bool is_digit(char c) noexcept
{
    return c >= '0' && c <= '9';
}

constexpr char lower(char c) noexcept
{
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

constexpr bool is_letter(char c) noexcept
{
    return lower(c) >= 'a' && lower(c) <= 'z';
}

constexpr int hex_value(char c) noexcept
{
    if (is_digit(c)) {
        return c - '0';
    }
    return lower(c) >= 'a' && lower(c) <= 'f' ? lower(c) - 'a' + 10 : -1;
}

constexpr bool is_blank_or_control(char c) noexcept
{
    return static_cast<unsigned char>(c) <= 0x20 || c == 0x7f;
}

bool same_ignoring_case(std::string_view a, std::string_view b) noexcept
{
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](char x, char y) { return lower(x) == lower(y); });
}

/// Returns the text before the first of `marks`. `rest` keeps the text from that mark on.
std::string_view cut(std::string_view& rest, std::string_view marks) noexcept
{
    const std::string_view head = rest.substr(0, rest.find_first_of(marks));
    rest.remove_prefix(head.size());
    return head;
}

complaint decode_percent(std::string_view text, const char* part, std::string& out)
{
    out.clear();
    out.reserve(text.size());  // once, because an abandoned buffer would keep part of a password
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            out += text[i];
            continue;
        }
        const int high = i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
        const int low = high >= 0 ? hex_value(text[i + 2]) : -1;
        if (low < 0) {
            return std::string{part} + ": a '%' without two hexadecimal digits after it";
        }
        out += static_cast<char>(high * 16 + low);
        i += 2;
    }
    return {};
}

template <class Number>
bool parse_number(std::string_view text, Number& out) noexcept
{
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, out);
    return error == std::errc{} && stop == end;
}

complaint parse_db(std::string_view text, address& out)
{
    if (!parse_number(text, out.db) || out.db > largest_db) {
        return "database: must be a number from 0 to 2147483647";
    }
    return {};
}

complaint parse_userinfo(std::string_view text, address& out)
{
    const std::size_t colon = text.find(':');
    if (complaint wrong = decode_percent(text.substr(0, colon), "user", out.user)) {
        return wrong;
    }
    if (colon != std::string_view::npos) {
        if (complaint wrong =
                decode_percent(text.substr(colon + 1), "password", out.password.buffer())) {
            return wrong;
        }
    }
    // The user wanted to authenticate, but the user name or the password was empty at its source.
    if (out.user.empty() && out.password.empty()) {
        return "user: nothing before the '@'";
    }
    return {};
}

/// Removes the userinfo from `authority`, if there is one.
complaint take_userinfo(std::string_view& authority, address& out)
{
    const std::size_t at = authority.find('@');
    if (at == std::string_view::npos) {
        return {};
    }
    const std::string_view userinfo = authority.substr(0, at);
    authority.remove_prefix(at + 1);
    if (authority.find('@') != std::string_view::npos) {
        return "user or password: write '@' as %40";
    }
    return parse_userinfo(userinfo, out);
}

/// Whether a resolver would read the name as an IPv4 address, in any notation.
bool looks_like_ipv4(std::string_view host) noexcept
{
    const std::size_t dot = host.rfind('.');
    std::string_view last = dot == std::string_view::npos ? host : host.substr(dot + 1);
    if (last.size() > 2 && last[0] == '0' && lower(last[1]) == 'x') {
        last.remove_prefix(2);
        return std::all_of(last.begin(), last.end(), [](char c) { return hex_value(c) >= 0; });
    }
    return !last.empty() && std::all_of(last.begin(), last.end(), is_digit);
}

constexpr const char* several_nodes = "has several nodes; give each node a URL of its own";

/// Whether the text continues with the URL of another node.
bool has_another(std::string_view url) noexcept
{
    constexpr std::array<std::string_view, 5> schemes{"redis://", "rediss://", "valkey://",
                                                      "valkeys://", "unix://"};
    const std::size_t begin = url.find("://");
    return begin != url.npos &&
           std::any_of(schemes.begin(), schemes.end(), [&](std::string_view scheme) {
               return url.find(scheme, begin) != url.npos;
           });
}

complaint check_name(const std::string& host)
{
    const auto allowed = [](char c) {
        return is_letter(c) || is_digit(c) || c == '-' || c == '.' || c == '_';
    };
    if (host.empty()) {
        return "host: is missing";
    }
    if (host.size() > longest_host) {
        return "host: longer than 253 characters";
    }
    if (!std::all_of(host.begin(), host.end(), allowed)) {
        return "host: only letters, digits, '-', '.' and '_'; an IPv6 address in brackets";
    }
    if (host.front() == '.' || host.find("..") != std::string::npos) {
        return "host: an empty label";
    }
    in_addr ignored{};
    if (looks_like_ipv4(host) && ::inet_pton(AF_INET, host.c_str(), &ignored) != 1) {
        return "host: not a complete IPv4 address";
    }
    return {};
}

/// Converts an IPv6 address to its shortest form, so that equal addresses compare equal.
complaint normalize_ipv6(std::string& host)
{
    if (host.find('%') != std::string::npos) {
        return "host: IPv6 zone identifiers are not supported";
    }
    in6_addr binary{};
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (::inet_pton(AF_INET6, host.c_str(), &binary) != 1 ||
        ::inet_ntop(AF_INET6, &binary, text.data(), INET6_ADDRSTRLEN) == nullptr) {
        return "host: not an IPv6 address";
    }
    host = text.data();
    return {};
}

complaint parse_port(std::string_view text, address& out)
{
    if (text.empty()) {
        out.port = default_port;
        return {};
    }
    if (text[0] != ':' || !parse_number(text.substr(1), out.port) || out.port == 0) {
        return "port: must be a number from 1 to 65535";
    }
    return {};
}

complaint parse_host_and_port(std::string_view text, address& out)
{
    if (text.find_first_of(",;|") != text.npos) {
        return several_nodes;
    }
    if (!text.starts_with('[')) {
        if (text.find(':') != text.rfind(':')) {
            return "host and port: more than one ':'; an IPv6 address goes in brackets";
        }
        out.host = cut(text, ":");
        complaint wrong = check_name(out.host);
        return wrong ? wrong : parse_port(text, out);
    }
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) {
        return "host: '[' without ']'";
    }
    out.host = text.substr(1, end - 1);
    complaint wrong = normalize_ipv6(out.host);
    return wrong ? wrong : parse_port(text.substr(end + 1), out);
}

complaint parse_network(std::string_view rest, address& out)
{
    std::string_view authority = cut(rest, "/?#");
    // A password with an unescaped '/' would otherwise turn the user name into a host.
    if (rest.find('@') != std::string_view::npos) {
        return "user or password: write '/', '?', '#' and '@' percent-encoded";
    }
    if (complaint wrong = take_userinfo(authority, out)) {
        return wrong;
    }
    if (complaint wrong = parse_host_and_port(authority, out)) {
        return wrong;
    }
    const std::string_view database = cut(rest, "?#");
    out.durable = rest == "?durable=1";
    if (!rest.empty() && !out.durable) {
        return rest.front() == '#' ? "a fragment has no meaning here; write '#' as %23"
                                   : "a query other than '?durable=1' has no meaning here";
    }
    return database.size() > 1 ? parse_db(database.substr(1), out) : complaint{};
}

complaint parse_path(std::string_view text, address& out)
{
    if (complaint wrong = decode_percent(text, "path", out.path)) {
        return wrong;
    }
    if (out.path.size() < 2) {
        return "path: is missing; three slashes begin an absolute one";
    }
    if (out.path.size() > longest_path) {
        return "path: longer than " + std::to_string(longest_path) +
               " bytes, the most a unix socket can have";
    }
    if (out.path.find('\0') != std::string::npos) {
        return "path: has a NUL";
    }
    return {};
}

complaint parse_unix(std::string_view rest, address& out)
{
    std::string_view authority = cut(rest, "/?#");
    if (complaint wrong = take_userinfo(authority, out)) {
        return wrong;
    }
    if (!authority.empty()) {
        return "host: a unix socket has none; three slashes begin an absolute path";
    }
    if (complaint wrong = parse_path(cut(rest, "?#"), out)) {
        return wrong;
    }
    constexpr std::string_view db_query = "?db=";
    constexpr std::string_view durable_query = "?durable=1";
    constexpr std::string_view and_durable = "&durable=1";
    if (rest.starts_with(db_query)) {
        out.durable = rest.ends_with(and_durable);
        rest.remove_suffix(out.durable ? and_durable.size() : 0);
        return parse_db(rest.substr(db_query.size()), out);
    }
    out.durable = rest == durable_query;
    return rest.empty() || out.durable
               ? complaint{}
               : "only '?db=n', '?durable=1' or '?db=n&durable=1' may follow the path";
}

complaint parse_into(std::string_view url, address& out)
{
    constexpr std::string_view mark = "://";
    if (url.size() > max_url_size) {
        return "longer than " + std::to_string(max_url_size) + " bytes";
    }
    if (has_another(url)) {
        return several_nodes;
    }
    if (std::any_of(url.begin(), url.end(), is_blank_or_control)) {
        return url.find(' ') != std::string_view::npos
                   ? "has a space; in a user, a password or a path write %20"
                   : "has a control character";
    }
    const std::size_t end = url.find(mark);
    if (end != std::string_view::npos) {
        const std::string_view scheme = url.substr(0, end);
        const std::string_view rest = url.substr(end + mark.size());
        if (same_ignoring_case(scheme, "redis") || same_ignoring_case(scheme, "valkey")) {
            return parse_network(rest, out);
        }
        if (same_ignoring_case(scheme, "rediss") || same_ignoring_case(scheme, "valkeys")) {
            out.via = address::transport::tls;
            return parse_network(rest, out);
        }
        if (same_ignoring_case(scheme, "unix")) {
            out.via = address::transport::unix_socket;
            return parse_unix(rest, out);
        }
    }
    return "scheme: must be redis:// or valkey://, with TLS rediss:// or valkeys://, or unix://";
}

std::string encode_path(std::string_view path)
{
    constexpr std::string_view digits = "0123456789ABCDEF";
    constexpr std::string_view reserved = "%?#\"<>\\^`{|}";
    std::string out;
    for (const char c : path) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= 0x80 || is_blank_or_control(c) || reserved.find(c) != reserved.npos) {
            out += '%';
            out += digits[byte / 16U];
            out += digits[byte % 16U];
        } else {
            out += c;
        }
    }
    return out;
}

std::string display_of(const address& a)
{
    const std::string db = std::to_string(a.db);
    const bool is_ipv6 = a.host.find(':') != std::string::npos;
    const std::string host = is_ipv6 ? "[" + a.host + "]" : a.host;
    switch (a.via) {
        case address::transport::tcp:
            return "redis://" + host + ":" + std::to_string(a.port) + "/" + db;
        case address::transport::tls:
            return "rediss://" + host + ":" + std::to_string(a.port) + "/" + db;
        case address::transport::unix_socket: return "unix://" + encode_path(a.path) + "?db=" + db;
    }
    return {};
}

}  // namespace

bool operator==(const address& a, const address& b) noexcept
{
    // A port belongs to one server, with or without TLS and whatever the database. So it has one
    // vote.
    return a.port == b.port && a.path == b.path && same_ignoring_case(a.host, b.host);
}

std::variant<address, address_error> parse_address(std::string_view url)
{
    address out;
    if (complaint wrong = parse_into(url, out)) {
        return address_error{std::move(*wrong)};
    }
    out.display = display_of(out);
    return out;
}

}  // namespace redlock::base
