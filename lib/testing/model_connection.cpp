#include "testing/model_master.hpp"
#include "testing/wire.hpp"

#include <algorithm>
#include <cctype>
#include <span>
#include <stdexcept>
#include <utility>

namespace redlock::testing {

using namespace wire;

namespace {

constexpr std::string_view wrong_password =
    "WRONGPASS invalid username-password pair or user is disabled.";

/// Checks the name of CLIENT SETNAME and HELLO ... SETNAME. Returns the error, or nothing.
std::optional<std::string> refused_name(std::string_view name)
{
    if (std::ranges::all_of(name, [](char c) { return c >= '!' && c <= '~'; })) {
        return std::nullopt;
    }
    return error("ERR Client names cannot contain spaces, newlines or special characters.");
}

}  // namespace

std::string model_master::hello(session& s, const words& command)
{
    int protocol = s.protocol;
    if (command.size() > 1) {
        const auto wanted = number<int>(command[1]);
        if (!wanted) {
            return error("ERR Protocol version is not an integer or out of range");
        }
        if (*wanted != 2 && *wanted != 3) {
            return error("NOPROTO unsupported protocol version");
        }
        protocol = *wanted;
    }
    if (auto refused = hello_options(s, command)) {
        return std::move(*refused);
    }
    if (!password.empty() && !s.authenticated) {
        return error(
            "NOAUTH HELLO must be called with the client already authenticated, otherwise the "
            "HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and "
            "select the RESP protocol version at the same time");
    }
    s.protocol = protocol;
    return greeting(s);
}

/// Applies AUTH and SETNAME, in any order. Returns the error, or nothing.
std::optional<std::string> model_master::hello_options(session& s, const words& command) const
{
    for (std::size_t i = 2; i < command.size(); ++i) {
        if (command[i] == "AUTH" && i + 2 < command.size()) {
            if (!password.empty() && command[i + 2] != password) {
                return error(wrong_password);
            }
            s.authenticated = true;
            i += 2;
        } else if (command[i] == "SETNAME" && i + 1 < command.size()) {
            if (auto refused = refused_name(command[++i])) {
                return refused;
            }
        } else {
            return error("ERR Syntax error in HELLO option '" + command[i] + "'");
        }
    }
    return std::nullopt;
}

std::string model_master::greeting(const session& s) const
{
    const std::size_t fields = role.empty() ? 6 : 7;
    const std::string head =
        s.protocol == 3 ? "%" + std::to_string(fields) : "*" + std::to_string(2 * fields);
    return head + "\r\n" + bulk("server") + bulk("redis") + bulk("version") + bulk("7.0.15") +
           bulk("proto") + integer(s.protocol) + bulk("id") + integer(1) + bulk("mode") +
           bulk(mode) + (role.empty() ? std::string() : bulk("role") + bulk(role)) +
           bulk("modules") + "*0\r\n";
}

std::string model_master::auth(session& s, const words& command)
{
    if (password.empty() && command.size() == 2) {
        return error(
            "ERR AUTH <password> called without any password configured for the default user. "
            "Are you sure your configuration is correct?");
    }
    if (!password.empty() && command.back() != password) {
        return error(wrong_password);
    }
    s.authenticated = true;
    return std::string(ok);
}

std::string model_master::client(session& s, const words& command)
{
    const std::string& what = command.at(1);
    if (what == "SETNAME") {
        return refused_name(command.at(2)).value_or(std::string(ok));
    }
    if (what == "TRACKING") {
        return client_tracking(s, command);
    }
    if (what == "CACHING") {
        return client_caching(s, command);
    }
    throw std::runtime_error("CLIENT with a subcommand that no lock needs");
}

std::string model_master::client_tracking(session& s, const words& command)
{
    using tracking = session::tracking;
    if (command.at(2) == "OFF") {
        // The server remembers which keys the connection has read, and uses them if tracking is
        // turned on again.
        s.tracks = tracking::off;
        s.tracks_next = false;
        std::erase(trackers_, &s);
        return std::string(ok);
    }
    const auto options = std::span(command).subspan(3);
    const auto has = [&](std::string_view option) {
        return std::find(options.begin(), options.end(), option) != options.end();
    };
    if (s.tracks == tracking::off) {
        trackers_.push_back(&s);
    }
    s.tracks = has("OPTIN") ? tracking::chosen : tracking::all;
    s.is_spared = has("NOLOOP");
    return std::string(ok);
}

std::string model_master::client_caching(session& s, const words& command)
{
    using tracking = session::tracking;
    if (s.tracks == tracking::off) {
        return error(
            "ERR CLIENT CACHING can be called only when the client is in tracking mode with "
            "OPTIN or OPTOUT mode enabled");
    }
    if (command.at(2) != "YES") {
        return error(
            "ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.");
    }
    if (s.tracks != tracking::chosen) {
        return error(
            "ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.");
    }
    s.tracks_next = true;
    return std::string(ok);
}

/// The reply to INFO. It contains the requested section, or all sections that a lock client may
/// use.
std::string model_master::info(const session& s, const words& command) const
{
    const std::string section = command.size() > 1 ? in_case(command[1], std::tolower) : "";
    std::string text;
    if (section.empty() || section == "server") {
        text += "# Server\r\nredis_version:7.0.15\r\nredis_mode:" + mode + "\r\nrun_id:" + run_id +
                "\r\n";
    }
    if (section.empty() || section == "memory") {
        text += "# Memory\r\nmaxmemory:" + maxmemory + "\r\nmaxmemory_policy:" + maxmemory_policy +
                "\r\n";
    }
    if (section.empty() || section == "replication") {
        text += "# Replication\r\n" + (role.empty() ? role : "role:" + role + "\r\n");
    }
    if (s.protocol == 3) {
        return "=" + std::to_string(text.size() + 4) + "\r\ntxt:" + text + "\r\n";
    }
    return bulk(text);
}

}  // namespace redlock::testing
