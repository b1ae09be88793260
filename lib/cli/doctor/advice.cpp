#include "cli/doctor/advice.hpp"

#include "base/text.hpp"
#include "resp/error_text.hpp"

namespace redlock::cli {

namespace {

using outcome = trial::outcome;

std::string permission_advice(const std::string& what, const std::string& rules)
{
    return "Permit " + what + " to the user that clients log in as: " + rules + ".";
}

std::string unknown_advice(const std::string& what)
{
    return "Use a newer server, or one that does not rename or hide " + what + ".";
}

constexpr const char* refusal_advice =
    "Check what is in front of the server: a proxy may pass only some commands.";

std::string advice_on(const missing_command& c, const char* permitted, const char* known)
{
    switch (c.went.is) {
        case outcome::forbidden: return permission_advice(permitted, c.rule);
        case outcome::unknown: return unknown_advice(known);
        case outcome::refused: return refusal_advice;
        case outcome::untried:
        case outcome::went:
        case outcome::forbidden_key:
        case outcome::failed: break;
    }
    return {};
}

}  // namespace

std::string lack_text(const missing_command& c)
{
    switch (c.went.is) {
        case outcome::forbidden: return std::string("does not permit ") + c.name;
        case outcome::unknown: return std::string("does not know ") + c.name;
        case outcome::refused: return std::string("refuses ") + c.name + " (" + c.went.error + ")";
        case outcome::untried:
        case outcome::went:
        case outcome::forbidden_key:
        case outcome::failed: break;
    }
    return {};
}

std::string lack_text(const missing_command& a, const missing_command& b)
{
    const std::string neither = std::string(" neither ") + a.name + " nor " + b.name;
    if (a.went.is != b.went.is || a.went.error != b.went.error) {
        return lack_text(a) + " and " + lack_text(b);
    }
    if (a.went.is == outcome::refused) {
        return std::string("refuses ") + a.name + " and " + b.name + " (" + a.went.error + ")";
    }
    return (a.went.is == outcome::forbidden ? "permits" : "knows") + neither;
}

std::string lack_advice(const missing_command& c)
{
    return advice_on(c, "it", "the command");
}

std::string lack_advice(const missing_command& a, const missing_command& b)
{
    if (a.went.is != b.went.is) {
        return advice_on(a, a.name, a.name) + " " + advice_on(b, b.name, b.name);
    }
    return a.went.is == outcome::forbidden
               ? permission_advice("them", std::string(a.rule) + " " + b.rule)
               : advice_on(a, "", "the commands");
}

key_names names_of(const node_facts& f, const base::settings& s)
{
    const std::string lock = base::printable(s.key_prefix) + base::printable(f.resource);
    return {lock, lock + std::string(base::counter_suffix), lock + std::string(base::holder_suffix),
            lock + std::string(base::queue_suffix), lock + ":*" + std::string(base::ticket_suffix)};
}

std::string rules_for(const std::vector<std::string>& keys)
{
    std::string out;
    for (const std::string& key : keys) {
        out += (out.empty() ? "~" : " ~") + key;
    }
    return out;
}

std::string_view error_advice(std::string_view error)
{
    struct advice {
        std::string_view code;
        std::string_view text;
    };
    constexpr std::string_view independent =
        "Name an independent server in its place: it answers as a replica, and a proxy in front of "
        "it may lead to one.";
    constexpr std::string_view no_cluster = "Use independent servers, with cluster-enabled no.";
    constexpr advice known[] = {
        {"READONLY", independent},
        {"MASTERDOWN", independent},
        {"MOVED", no_cluster},
        {"ASK", no_cluster},
        {"CLUSTERDOWN", no_cluster},
        {"TRYAGAIN", no_cluster},
        {"NOREPLICAS",
         "Attach the replicas that it requires, or let it require none: min-replicas-to-write 0."},
        {"OOM", "Give it more memory (maxmemory), or move other data elsewhere."},
        {"MISCONF", "Check its log and the room on its disk: it could not save its data."},
        {"BUSY", "A script has run there for too long: wait for its end, or use SCRIPT KILL."},
        {"NOAUTH",
         "Correct user and password: here (in the URL; or --user, and REDLOCK_PASSWORD or "
         "--password-file), or in the server's ACL."},
        {"LOADING", "Wait until it has loaded the data; INFO persistence shows the progress."},
        {"DENIED",
         "Give the server a password or a user for clients; without one it accepts no clients from "
         "other machines (protected-mode)."},
    };
    for (const advice& a : known) {
        const std::string at_the_end = "(" + std::string(a.code) + ")";
        if (resp::has_code(error, a.code) || error.ends_with(at_the_end)) {
            return a.text;
        }
    }
    return {};
}

}  // namespace redlock::cli
