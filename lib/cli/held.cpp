#include "cli/held.hpp"

#include "base/owner_token.hpp"
#include "base/text.hpp"
#include "cli/checks.hpp"
#include "cli/printing.hpp"
#include "cli/secret_file.hpp"
#include "cli/session.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/deferred.hpp>

#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <istream>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

namespace redlock::cli {

namespace asio = boost::asio;

namespace {

constexpr std::string_view label = "owner_token=";

/// The token in the JSON output of `acquire`. Empty if the line is something else.
std::string token_in_json(const std::string& line)
{
    const auto parsed = nlohmann::json::parse(line, nullptr, false);
    const bool has_token =
        parsed.is_object() && parsed.contains("owner_token") && parsed["owner_token"].is_string();
    return has_token ? parsed["owner_token"].get<std::string>() : std::string();
}

/// The token in the output of `acquire`, or a token without other text.
std::string first_token(std::istream& in)
{
    for (std::string line; std::getline(in, line);) {
        trim_line(line);
        if (line.starts_with('{')) {
            return token_in_json(line);
        }
        if (line.starts_with(label)) {
            return line.substr(label.size());
        }
        if (!line.empty() && line.find('=') == std::string::npos) {
            return line;
        }
    }
    return {};
}

/// Reads the owner token from the place that the options name.
/// @throws std::invalid_argument with a text for the user, which does not contain the token.
std::string owner_token_of(const held_options& o)
{
    std::string token;
    std::string from = "REDLOCK_OWNER_TOKEN";
    if (o.token_file.empty()) {
        const char* const set = std::getenv(from.c_str());
        std::istringstream text(set == nullptr ? "" : set);
        token = first_token(text);
        if (token.empty()) {
            token = text.str();  // a text without a token is later reported as malformed
        }
    } else if (o.token_file == "-") {
        from = "stdin";
        token = first_token(std::cin);
    } else {
        from = o.token_file;
        std::ifstream file(o.token_file);
        token = file ? first_token(file) : std::string();
        if (!file && !file.eof()) {
            throw std::invalid_argument("--token-file: " + base::printable(o.token_file) + ": " +
                                        std::generic_category().message(errno));
        }
    }
    if (token.empty()) {
        throw std::invalid_argument("no owner token in " + base::printable(from) +
                                    ": give the output of acquire in REDLOCK_OWNER_TOKEN, or in a "
                                    "file by --token-file (- for stdin)");
    }
    if (!base::owner_token::parse(token)) {
        throw std::invalid_argument(
            "the owner token in " + base::printable(from) + " is malformed: give the " +
            std::to_string(base::owner_token::size) + " digits (0-9, a-f) that acquire printed");
    }
    return token;
}

}  // namespace

int with_held(const masters_options& masters, const held_options& o,
              const std::optional<duration>& ttl,
              const std::function<asio::awaitable<int>(client&, lock)>& use)
{
    const std::string token = owner_token_of(o);
    const config c = config_of(masters);
    check_resources(c, o.resources);
    if (ttl) {
        check_ttl(c, *ttl);
    }
    const auto shortest = c.node_timeout * 4;
    return with_client(c, interrupts::cancel_work, [&](client& locks) -> asio::awaitable<int> {
        co_await connected(locks, c, c.connect_timeout);
        report nodes;
        auto [error, lock] =
            co_await locks.async_adopt(o.resources, token, ttl ? ttl->length : shortest,
                                       {.report = &nodes}, asio::as_tuple(asio::deferred));
        if (error) {
            co_return fail_held(o, error, nodes, masters.json);
        }
        co_return co_await use(locks, std::move(lock));
    });
}

int fail_held(const held_options& o, error_code error, const report& nodes, bool json)
{
    return fail(names(o.resources), error == errc::lost ? make_error_code(errc::not_held) : error,
                nodes, json);
}

}  // namespace redlock::cli
