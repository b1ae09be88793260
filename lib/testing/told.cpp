#include "testing/told.hpp"

#include "testing/contract.hpp"
#include "testing/wire.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <span>

namespace redlock::testing {
namespace {

bool is_one_of(std::span<const std::string_view> names, std::string_view name)
{
    return std::ranges::find(names, name) != names.end();
}

bool is_script(std::string_view name)
{
    return name == "EVAL" || name == "EVALSHA";
}

/// What a script is for, by its text or its digest; the name of the command where nobody knows.
std::string purpose(const words& command, std::string name)
{
    const auto same = [&](const contract_script& s) {
        return command[1] == s.sha1 || command[1] == s.text;
    };
    const auto at =
        command.size() < 2 ? contract_scripts.end() : std::ranges::find_if(contract_scripts, same);
    return at == contract_scripts.end() ? std::move(name) : std::string(at->name);
}

/// A word that is no name of a command may be anything, a password too.
std::string name_of(const words& command)
{
    constexpr std::array<std::string_view, 16> of_one{
        "AUTH", "DEL",  "DELEX", "DELIFEQ", "EXISTS",  "FLUSHALL", "GET",    "HELLO",
        "HSET", "INCR", "INFO",  "PING",    "PEXPIRE", "PTTL",     "SELECT", "SET",
    };
    constexpr std::array<std::string_view, 3> of_two{"CLIENT", "COMMAND", "SCRIPT"};
    constexpr std::array<std::string_view, 7> second{"CACHING", "EXISTS",  "FLUSH",   "INFO",
                                                     "LOAD",    "SETNAME", "TRACKING"};
    const std::string first = in_capitals(command.front());
    if (is_script(first)) {
        return purpose(command, first);
    }
    if (is_one_of(of_two, first)) {
        const std::string next = command.size() > 1 ? in_capitals(command[1]) : "";
        return is_one_of(second, next) ? first + " " + next : first;
    }
    return is_one_of(of_one, first) ? first : "?";
}

/// Where its keys are.
std::span<const std::string> keys_of(const words& command)
{
    constexpr std::array<std::string_view, 8> with_one{"DELEX", "DELIFEQ", "GET",  "HSET",
                                                       "INCR",  "PEXPIRE", "PTTL", "SET"};
    const std::span all(command);
    const std::string name = in_capitals(command.front());
    if (is_script(name) && command.size() > 2) {
        // Of a number that cannot be, what follows may be arguments.
        const auto count = wire::number<std::size_t>(command[2]).value_or(0);
        return all.subspan(3, count <= all.size() - 3 ? count : 0);
    }
    if (name == "DEL" || name == "EXISTS") {
        return all.subspan(1);
    }
    return all.subspan(1, is_one_of(with_one, name) ? std::min<std::size_t>(all.size() - 1, 1) : 0);
}

}  // namespace

told tell(const words& command)
{
    told result{name_of(command), {}};
    result.line = result.name;
    for (const std::string& key : keys_of(command)) {
        result.line += ' ';
        result.line += key;
    }
    return result;
}

std::string in_capitals(std::string_view text)
{
    return wire::in_case(std::string(text), std::toupper);
}

bool is_called(const words& command, std::string_view name)
{
    return name == in_capitals(command.front()) || name == in_capitals(name_of(command));
}

}  // namespace redlock::testing
