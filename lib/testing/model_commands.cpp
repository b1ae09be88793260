#include "testing/model_master.hpp"
#include "testing/wire.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace redlock::testing {

using namespace wire;

namespace {

constexpr std::string_view no_login = "NOAUTH Authentication required.";

/// The properties of a command that COMMAND INFO reports, or that a server checks before it runs
/// the command.
struct command_traits {
    std::string_view name;
    int arity;
    /// Whether a loading server runs the command, whether a full server refuses it, and whether it
    /// changes a key.
    bool while_loading = false;
    bool takes_memory = false;
    bool writes = takes_memory;
};

constexpr std::array known_commands{
    command_traits{"AUTH", -2, true},
    command_traits{"CLIENT", -2, true},
    command_traits{"COMMAND", -1, true},
    command_traits{"DEL", -2, false, false, true},
    command_traits{"DELEX", -2, false, false, true},
    command_traits{"DELIFEQ", 3, false, false, true},
    command_traits{"EVAL", -3},
    command_traits{"EVALSHA", -3},
    command_traits{"EXISTS", -2},
    command_traits{"FLUSHALL", -1},
    command_traits{"GET", 2},
    command_traits{"GETRANGE", 4},
    command_traits{"HELLO", -1, true},
    command_traits{"HSET", -4, false, true},
    command_traits{"INCR", 2, false, true},
    command_traits{"INFO", -1, true},
    command_traits{"PEXPIRE", -3, false, false, true},
    command_traits{"PING", -1},
    command_traits{"PTTL", 2},
    command_traits{"ROLE", 1, true},
    command_traits{"SCRIPT", -2},
    command_traits{"SELECT", 2, true},
    command_traits{"SET", -3, false, true},
    command_traits{"TYPE", 2},
    command_traits{"ZADD", -4, false, true},
    command_traits{"ZCARD", 2},
    command_traits{"ZRANGE", -4},
    command_traits{"ZRANK", 3},
    command_traits{"ZREM", -3, false, false, true},
};

const command_traits* traits_of(std::string_view name)
{
    const auto at = std::ranges::find(known_commands, name, &command_traits::name);
    return at == known_commands.end() ? nullptr : &*at;
}

/// The reply of COMMAND INFO for one command. It has ten elements. RESP3 sends its lists of flags
/// as sets. The elements about key positions, subcommands and documentation stay empty.
std::string command_details(const command_traits& c, const session& s)
{
    const std::string list = s.protocol == 3 ? "~" : "*";
    const std::string none = list + "0\r\n";
    const int flags = static_cast<int>(c.while_loading) + static_cast<int>(c.takes_memory);
    return "*10\r\n" + bulk(in_case(std::string(c.name), std::tolower)) + integer(c.arity) + list +
           std::to_string(flags) + "\r\n" + (c.while_loading ? "+loading\r\n" : "") +
           (c.takes_memory ? "+denyoom\r\n" : "") + integer(0) + integer(0) + integer(0) + none +
           none + none + none;
}

}  // namespace

bool model_master::has(std::string_view name) const
{
    return traits_of(name) != nullptr && (name != "HELLO" || knows_hello) &&
           (name != "DELIFEQ" || has_delifeq) && (name != "DELEX" || has_delex) &&
           (name != "ROLE" || !role.empty());
}

/// The error that the server sends instead of running the command, or nothing. The checks have the
/// same order as on a real server.
std::optional<std::string> model_master::refusal(const words& command, const session& s) const
{
    const std::string& name = command.at(0);
    if (!refusals.empty()) {
        const std::string both = command.size() > 1 ? name + " " + command[1] : name;
        for (const std::string& known : {name, both}) {
            if (const auto refused = refusals.find(known); refused != refusals.end()) {
                return error(refused->second);
            }
        }
    }
    const bool is_stranger = !password.empty() && !s.authenticated;
    if (!has(name)) {
        return is_stranger && hides_commands ? error(no_login) : unknown(command);
    }
    if (is_stranger && name != "HELLO" && name != "AUTH") {
        return error(no_login);
    }
    const command_traits& traits = *traits_of(name);
    // A loading server still greets and reports about itself. It checks its memory only afterwards.
    if (is_loading) {
        return traits.while_loading
                   ? std::nullopt
                   : std::optional(error("LOADING Redis is loading the dataset in memory"));
    }
    // A full server accepts scripts without a shebang and checks the commands that they call.
    if (is_full && traits.takes_memory) {
        return error(no_memory);
    }
    if (is_read_only && traits.writes) {
        return error(read_only);
    }
    return std::nullopt;
}

/// The error for an unknown command. Servers from before HELLO use other quotation marks.
std::string model_master::unknown(const words& command) const
{
    constexpr std::size_t room = 128;
    std::string arguments;
    for (std::size_t i = 1; i < command.size() && arguments.size() < room; ++i) {
        const std::string some = command[i].substr(0, room - arguments.size());
        arguments += knows_hello ? "'" + some + "' " : "`" + some + "`, ";
    }
    const std::string quoted = knows_hello ? "'" + command[0] + "'" : "`" + command[0] + "`";
    return error("ERR unknown command " + quoted + ", with args beginning with: " + arguments);
}

/// The reply to COMMAND INFO. It contains only what distinguishes a known command from an unknown
/// one.
std::string model_master::command_info(const session& s, const words& command) const
{
    std::string all = "*" + std::to_string(command.size() - 2) + "\r\n";
    for (std::size_t i = 2; i < command.size(); ++i) {
        const std::string name = in_case(command[i], std::toupper);
        all += has(name) ? command_details(*traits_of(name), s) : null(s.protocol);
    }
    return all;
}

}  // namespace redlock::testing
