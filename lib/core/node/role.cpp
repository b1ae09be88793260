#include "core/node/role.hpp"

#include "base/text.hpp"
#include "core/node/info.hpp"
#include "resp/encoder.hpp"

#include <cassert>

namespace redlock::core {

namespace {

/// A server's word, for a message.
std::string quoted(std::string_view word)
{
    constexpr std::size_t longest = 32;
    return '\'' + base::printable(word.substr(0, longest)) + '\'';
}

/// A replica, even a writable one, gets its master's keys in place of its own sooner or later. So
/// does a server with another master, whatever role it names.
std::string fault_of_role(std::string_view role)
{
    if (role.empty() || role == "master") {
        return {};
    }
    return is_replicas(role) ? "is a replica, not a master"
                             : "has the role " + quoted(role) + ", and only a master has a vote";
}

}  // namespace

bool is_replicas(std::string_view role) noexcept
{
    return role == "replica" || role == "slave";
}

std::string mode_fault(std::string_view mode)
{
    if (mode.empty() || mode == "standalone") {
        return {};
    }
    if (mode == "cluster") {
        return "is a node of a cluster, not an independent master";
    }
    return mode == "sentinel" ? "is a sentinel, not a master"
                              : "runs in the mode " + quoted(mode) + ", not standalone";
}

void append_role_query(std::string& out, role_source by)
{
    switch (by) {
        case role_source::hello: resp::append_hello(out, {}, {}, {}); return;
        case role_source::info: resp::append(out, "INFO", "replication"); return;
        case role_source::role: resp::append(out, "ROLE"); return;
        case role_source::none: break;
    }
    assert(false && "no command gives the role");
}

std::optional<role_answer> read_role(const resp::reply& r, role_source by)
{
    const bool is_greeting = by == role_source::hello;
    const bool is_answer = is_greeting               ? r.find("proto").is_integer()
                           : by == role_source::info ? r.is_string()
                                                     : r.at(0).is_string();
    if (!is_answer) {
        return std::nullopt;
    }
    role_answer out;
    out.role = is_greeting               ? r.find("role").text()
               : by == role_source::info ? info_field(r.text(), "role")
                                         : r.at(0).text();
    out.fault = is_greeting ? mode_fault(r.find("mode").text()) : std::string();
    if (out.fault.empty()) {
        out.fault = fault_of_role(out.role);
    }
    return out;
}

}  // namespace redlock::core
