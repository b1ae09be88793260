#include "base/address.hpp"
#include "base/settings.hpp"
#include "input.hpp"

#include <boost/system/system_error.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

// Node URLs: the input is one.

namespace redlock::test {
namespace {

using base::address;
using base::address_error;

std::optional<address> parse(std::string_view url)
{
    const auto parsed = base::parse_address(url);
    const auto* const a = std::get_if<address>(&parsed);
    return a == nullptr ? std::nullopt : std::optional{*a};
}

bool is_printable_ascii(std::string_view text)
{
    return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

void check_parts(const address& a)
{
    const bool is_file = a.via == address::transport::unix_socket;
    require(is_file == a.host.empty() && is_file == (a.port == 0), "a node has host and port");
    require(is_file != a.path.empty(), "a unix socket has a path");
    require(a.path.find('\0') == std::string::npos && a.path.size() < 108, "the kernel's path");
    require(a.host.size() <= 253 && is_printable_ascii(a.host), "a host that can be looked up");
    require(a.db <= 0x7fff'ffff, "a database's number");
}

/// The display is the same node without its secrets, and stays the same when it is read again.
void check_display(const address& a)
{
    require(is_printable_ascii(a.display), "what is shown is printable");
    const auto again = parse(a.display);
    require(again.has_value(), "what is shown can be read");
    require(*again == a && again->db == a.db && again->via == a.via, "as the same node");
    require(again->user.empty() && again->password.empty(), "without its secrets");
    require(again->display == a.display, "and is shown in the same way");
}

/// Other secrets in the same URL give the same display, so it has no part of them.
void check_secrets(std::string_view url, const address& a)
{
    const std::size_t at = url.find('@');
    if (a.user.empty() && a.password.empty()) {
        return;
    }
    require(at != std::string_view::npos, "secrets stand before an '@'");
    const std::string_view scheme = url.substr(0, url.find("://") + 3);
    for (const std::string_view other : {"", "u@", "other:secret@"}) {
        const auto b =
            parse(std::string(scheme) + std::string(other) + std::string(url.substr(at + 1)));
        require(b.has_value() && *b == a && b->display == a.display, "secrets change nothing");
    }
}

/// The reason why the configuration refuses a URL. Empty if it accepts it.
std::string refusal(const std::string& url)
{
    redlock::config c;
    c.nodes = {url};
    try {
        (void)base::make_settings(c, base::tls_support::present);
        return {};
    } catch (const boost::system::system_error& e) {
        require(e.code() == errc::invalid_config, "a URL that is refused is a wrong configuration");
        return e.what();
    }
}

/// No text about a bad URL holds its secrets.
void check_error(std::string_view url)
{
    const std::size_t mark = url.find("://");
    if (mark == std::string_view::npos) {
        return;
    }
    const std::string scheme(url.substr(0, mark + 3));
    const std::size_t at = url.rfind('@');
    const std::string rest(url.substr(at == std::string_view::npos ? mark + 3 : at + 1));
    for (const char* secrets : {"tiger:hunter2@", "tiger:hunter2%@", "tiger:hunter2/@", "hunter2@",
                                "tiger:hunter2@hunter2", "tiger:hunter2"}) {
        const std::string why = refusal(scheme + secrets + rest);
        require(why.find("hunter2") == std::string::npos && why.find("tiger") == std::string::npos,
                "no secret in an error");
    }
}

}  // namespace

void run_target(std::string_view url)
{
    constexpr std::size_t longest_message = 160;
    const auto parsed = base::parse_address(url);
    const std::string why = refusal(std::string(url));
    if (const auto* const wrong = std::get_if<address_error>(&parsed)) {
        require(why.starts_with("config::nodes[0]: " + wrong->message), "the same in both");
        require(why.size() < longest_message, "an error is short, whatever the URL is");
    } else {
        const auto& a = std::get<address>(parsed);
        require(why.empty(), "a URL that can be read is taken");
        check_parts(a);
        check_display(a);
        check_secrets(url, a);
    }
    check_error(url);
}

}  // namespace redlock::test
