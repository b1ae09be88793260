#include "cli/masters.hpp"

#include "base/address.hpp"
#include "cli/complaints.hpp"
#include "cli/printing.hpp"
#include "cli/secret_file.hpp"
#include "cli/validators.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>

namespace redlock::cli {
namespace {

constexpr std::string_view group = "Nodes";

/// Encodes every character that RFC 3986 doesn't call unreserved.
std::string percent_encoded(std::string_view text)
{
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string out;
    for (const char c : text) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                           (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == '~';
        if (plain) {
            out += c;
        } else {
            const auto byte = static_cast<unsigned char>(c);
            out += '%';
            out += digits[byte >> 4U];
            out += digits[byte & 15U];
        }
    }
    return out;
}

constexpr std::string_view password_option = "--password-file";

std::string password_of(const masters_options& o)
{
    if (o.password_file.empty()) {
        const char* const set = std::getenv("REDLOCK_PASSWORD");
        std::string password = set == nullptr ? "" : set;
        trim_line(password);
        return password;
    }
    return secret_in(o.password_file, password_option, readable::any);
}

/// The login of the command at one node.
struct node_login {
    /// The node's URL in the library's form.
    std::string node;
    std::string user;
    /// The password in the URL. Empty if the password file applies.
    std::optional<base::secret> password;
};

/// The login for a URL. Empty if `config` refuses the URL.
std::optional<node_login> login_at(const std::string& url, const url_parts& rest)
{
    auto parsed = base::parse_address(completed(url, rest));
    auto* const node = std::get_if<base::address>(&parsed);
    if (node == nullptr) {
        return std::nullopt;
    }
    node_login out{node->display, node->user, std::nullopt};
    // If the URL has its own password, a different default password makes no difference.
    if (completed(url, {rest.user, "a", rest.database}) ==
        completed(url, {rest.user, "b", rest.database})) {
        out.password = node->password;
    }
    return out;
}

const char* level_name(log_level level)
{
    switch (level) {
        case log_level::debug: return "debug";
        case log_level::info: return "info";
        case log_level::warning: return "warning";
        case log_level::error: return "error";
    }
    return "?";
}

/// A password file that is read before each connection. While the file can't be read, the password
/// from before is used, because the server may still accept it.
class password_file {
public:
    password_file(const masters_options& o, const std::string& first)
        : path_(o.password_file),
          json_(o.json)
    {
        password_.buffer() = first;
    }

    [[nodiscard]] std::string read()
    {
        try {
            password_.buffer() = secret_in(path_, password_option, readable::regular);
            is_said_ = false;
        } catch (const std::exception& e) {
            if (!std::exchange(is_said_, true)) {
                say(std::string(e.what()) + "; redlock uses the password from before",
                    level_name(log_level::warning), json_);
            }
        }
        return std::string(password_.view());
    }

private:
    std::string path_;
    bool json_;
    base::secret password_;
    bool is_said_ = false;
};

/// Returns a provider that reads the file again before each connection. A pipe can't be read twice,
/// so its first password is used for all connections.
credentials_provider read_again(const masters_options& o, const std::string& first_password)
{
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(o.password_file, ignored)) {
        return {};
    }
    std::vector<node_login> nodes;
    for (const std::string& url : o.nodes) {
        if (auto login = login_at(url, {o.user, first_password, o.database})) {
            nodes.push_back(std::move(*login));
        }
    }
    return [nodes = std::move(nodes), file = std::make_shared<password_file>(o, first_password)](
               std::string_view node, const credentials_reply& reply) {
        const auto own = std::find_if(nodes.begin(), nodes.end(),
                                      [&](const node_login& l) { return l.node == node; });
        if (own != nodes.end()) {
            reply({},
                  {own->user, own->password ? std::string(own->password->view()) : file->read()});
        }
    };
}

bool is_unix(const std::string& url)
{
    return CLI::detail::to_lower(url.substr(0, 5)) == "unix:";
}

/// The part of a URL after host and port, with the database added unless it has one.
std::string with_database(const std::string& tail, bool is_path,
                          const std::optional<std::uint32_t>& database)
{
    const auto query = std::min(tail.find_first_of("?#"), tail.size());
    const std::string path = tail.substr(0, query);
    const bool has_one = is_path ? tail.find("?db=") != tail.npos : path.size() > 1;
    if (!database || has_one) {
        return tail;
    }
    const std::string number = std::to_string(*database);
    if (!is_path) {
        return '/' + number + tail.substr(query);
    }
    std::string others = tail.substr(query);
    if (!others.empty()) {
        others.front() = '&';
    }
    return path + "?db=" + number + others;
}

/// The character between two nodes in one URL. A password or the path of a Unix socket may contain
/// the same characters. Inside these, only a second scheme shows that there are two nodes.
std::optional<char> separator_in(const std::string& url)
{
    constexpr std::string_view mark = "://";
    const auto scheme_end = std::min(url.find(mark), url.size());
    const auto second = url.find(mark, scheme_end + 1);
    if (second != url.npos) {
        const auto is_letter = [](unsigned char c) { return std::isalpha(c) != 0; };
        const auto begin = std::find_if_not(url.rend() - static_cast<std::ptrdiff_t>(second),
                                            url.rend(), is_letter);
        return *begin;
    }
    if (is_unix(url)) {
        return std::nullopt;
    }
    const auto login_end = url.rfind('@');
    const auto found = url.find_first_of(",;|", login_end == url.npos ? 0 : login_end);
    return found == url.npos ? std::nullopt : std::optional(url[found]);
}

/// Checks that each URL names one node.
/// @throws std::invalid_argument if a URL names several nodes.
void check_separators(const masters_options& o)
{
    const char* const set = std::getenv("REDLOCK_NODES");
    for (const auto& url : o.nodes) {
        if (const auto separator = separator_in(url)) {
            const bool is_variable =
                !o.are_arguments && set != nullptr && std::string_view(set).find(url) != url.npos;
            // Any other character may belong to a password, so the message doesn't repeat it.
            const bool is_known =
                std::string_view(",;| ").find(*separator) != std::string_view::npos;
            throw std::invalid_argument(
                std::string(is_variable ? "REDLOCK_NODES: " : "--node: ") +
                (is_known ? std::string("'") + *separator + "' is between two nodes"
                          : std::string("several nodes in one URL")) +
                (is_variable ? "; write spaces instead" : "; give each with a --node of its own"));
        }
    }
}

/// Why the text isn't a database number. Empty if it is one.
std::string why_no_database(std::string& text)
{
    std::int32_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, failed] = std::from_chars(text.data(), end, number);
    const bool is_one = failed == std::errc() && rest == end && number >= 0 && text[0] != '-';
    return is_one ? "" : '\'' + text + "' is not a database: give its number, from 0 on";
}

/// Whether the command prints the line even without --verbose. At its end the command itself
/// reports unusable nodes, but not these changes.
bool is_for_every_user(log_level level, std::string_view line)
{
    return level == log_level::error ||
           (level == log_level::warning &&
            (line.starts_with("TLS files have changed") ||
             line.find(" is another server than before") != line.npos));
}

bool is_tls(const std::string& url)
{
    const auto parsed = base::parse_address(url);
    const auto* const node = std::get_if<base::address>(&parsed);
    return node == nullptr || node->via == base::address::transport::tls;
}

/// Warns about a TLS option without effect if no connection uses TLS.
void warn_without_tls(const masters_options& o, const std::vector<std::string>& urls)
{
    if (std::ranges::any_of(urls, is_tls)) {
        return;
    }
    const std::pair<const char*, bool> options[] = {{"--ca-file", !o.ca_file.empty()},
                                                    {"--cert-file", !o.certificate_file.empty()},
                                                    {"--key-file", !o.key_file.empty()},
                                                    {"--server-name", !o.server_name.empty()},
                                                    {"--insecure", o.insecure}};
    for (const auto& [name, is_given] : options) {
        if (is_given) {
            say(std::string(name) +
                    " has no effect: the URL of no node begins with rediss:// or "
                    "valkeys://, so all connections are without TLS",
                level_name(log_level::warning), o.json);
            return;
        }
    }
}

}  // namespace

void add_masters(CLI::App& app, masters_options& o)
{
    const std::string in(group);
    app.add_option(
           "--node", o.nodes,
           "A node; give the option once for each: redis://[user@]host[:port][/db], rediss:// for "
           "TLS (or valkey://, valkeys://), unix:///path [REDLOCK_NODES, separated by spaces]")
        ->type_name("URL")
        ->expected(1)
        ->allow_extra_args(false)
        ->take_all()
        ->group(in);
    app.add_option("--user", o.user, "User to log in as if a URL has none [REDLOCK_USER]")
        ->type_name("NAME")
        ->group(in);
    add_file(app, "--password-file", o.password_file,
             "File whose first line is the password if a URL has none; redlock reads it again "
             "before each connection [REDLOCK_PASSWORD has the password otherwise]")
        ->group(in);
    app.add_option("--db", o.database, "Database if a URL has none [0]")
        ->type_name("NUMBER")
        ->check(CLI::Validator(why_no_database, "", ""))
        ->group(in);
    app.add_option("--key-prefix", o.key_prefix, "Text before each resource in its key")
        ->type_name("TEXT")
        ->group(in);
    add_duration(app, "--node-timeout", o.node_timeout, "Time that a node has to answer")
        ->group(in);
    add_duration(
        app, "--connect-timeout", o.connect_timeout,
        "Time to connect to a node; a command waits as long for a node that loads its data")
        ->group(in);
    app.add_option("--drift", o.drift_factor,
                   "Allowance for clocks that run apart, as a share of the ttl")
        ->type_name("SHARE")
        ->check(CLI::Validator(
            [](const std::string& given) {
                double share = 0;
                const bool fits =
                    CLI::detail::lexical_cast(given, share) && share >= 0 && share <= 0.99;
                return fits ? std::string() : '\'' + given + "' is not a number from 0 to 0.99";
            },
            "", ""))
        ->capture_default_str()
        ->group(in);
    add_duration(app, "--max-ttl", o.max_ttl,
                 "Time for which a restarted node has no vote: the restart guard, which every "
                 "client needs with the same value")
        ->group(in);
    app.add_flag("--admit-new-nodes", o.admit_new_nodes,
                 "With --max-ttl: the nodes are new, and may vote at once")
        ->group(in);
    app.add_flag("--fair-queue,!--no-fair-queue", o.fair_queue,
                 "Whether waiting clients form a queue, so that the first of them gets the lock "
                 "next; every client needs the same value [yes]")
        ->group(in);
    add_file(app, "--ca-file", o.ca_file, "Certificates to trust, PEM [the system's]")->group(in);
    add_file(app, "--cert-file", o.certificate_file, "The client's own certificate, PEM")
        ->group(in);
    add_file(app, "--key-file", o.key_file, "The key of that certificate, PEM")->group(in);
    app.add_option("--server-name", o.server_name,
                   "Name that the certificates of the nodes must have [the host's]")
        ->type_name("NAME")
        ->group(in);
    app.add_flag("--insecure", o.insecure,
                 "Does not verify the certificates of the nodes: for experiments")
        ->group(in);
    app.add_flag("--json", o.json, "JSON instead of text");
    app.add_flag("-v,--verbose", o.verbose, "Says on stderr what happens to connections");
}

std::string completed(const std::string& url, const url_parts& rest)
{
    const auto scheme_end = url.find("://");
    if (scheme_end == std::string::npos) {
        return url;
    }
    const auto begin = scheme_end + 3;
    const auto end = std::min(url.find_first_of("/?#", begin), url.size());
    const std::string authority = url.substr(begin, end - begin);
    const auto at = authority.rfind('@');
    const std::string login = at == std::string::npos ? "" : authority.substr(0, at);
    const std::string host = at == std::string::npos ? authority : authority.substr(at + 1);
    const auto colon = std::min(login.find(':'), login.size());
    std::string user = login.substr(0, colon);
    std::string password = login.substr(std::min(colon + 1, login.size()));
    user = user.empty() ? percent_encoded(rest.user) : user;
    password = password.empty() ? percent_encoded(rest.password) : password;
    std::string out = url.substr(0, begin) + user;
    out += password.empty() ? "" : ':' + password;
    // An existing '@' stays, even with nothing before it: the library then reports the fault.
    out += user.empty() && password.empty() && at == std::string::npos ? "" : "@";
    return out + host + with_database(url.substr(end), is_unix(url), rest.database);
}

config config_of(const masters_options& o)
{
    if (o.nodes.empty()) {
        throw std::invalid_argument(
            "no nodes: give each with --node URL, or all in REDLOCK_NODES or a file (--config)");
    }
    check_separators(o);
    config c = config_without_nodes(o);
    const std::string password = password_of(o);
    for (const auto& url : o.nodes) {
        c.nodes.push_back(completed(url, {o.user, password, o.database}));
    }
    if (!o.password_file.empty()) {
        c.credentials = read_again(o, password);
    }
    warn_without_tls(o, c.nodes);
    return c;
}

config config_without_nodes(const masters_options& o)
{
    config c;
    c.key_prefix = o.key_prefix;
    c.client_name = "redlock-command";
    c.node_timeout = o.node_timeout.length;
    c.stall_timeout = std::max(c.stall_timeout, c.node_timeout);
    c.connect_timeout = o.connect_timeout.length;
    c.drift_factor = o.drift_factor;
    c.fair_queue = o.fair_queue;
    if (o.admit_new_nodes && !o.max_ttl) {
        throw std::invalid_argument(
            "--admit-new-nodes needs --max-ttl: without the restart guard all nodes vote");
    }
    if (o.max_ttl) {
        c.restart_guard = guard_config{o.max_ttl->length, o.admit_new_nodes};
    }
    c.tls = {o.ca_file, o.certificate_file, o.key_file, o.server_name, o.insecure};
    c.log = [shows_all = o.verbose, json = o.json](log_level level, std::string_view line) {
        if (shows_all || is_for_every_user(level, line)) {
            say(with_options(std::string(line)), level_name(level), json);
        }
    };
    return c;
}

}  // namespace redlock::cli
