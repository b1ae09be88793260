#include "testing/told.hpp"

#include "testing/contract.hpp"
#include "testing/wire.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

namespace redlock::testing {
namespace {

/// The position of a command's keys: none, the next word, all other words, or a counted list after
/// a script.
enum class place : std::uint8_t { nowhere, next, all, counted };

struct named {
    std::string_view name;
    place keys = place::nowhere;
};

constexpr std::array names{
    named{"AUTH"},
    named{"CLIENT"},
    named{"CLIENT CACHING"},
    named{"CLIENT SETNAME"},
    named{"CLIENT TRACKING"},
    named{"COMMAND"},
    named{"COMMAND INFO"},
    named{"DEL", place::all},
    named{"DELEX", place::next},
    named{"DELIFEQ", place::next},
    named{"EVAL", place::counted},
    named{"EVALSHA", place::counted},
    named{"EXISTS", place::all},
    named{"FLUSHALL"},
    named{"GET", place::next},
    named{"GETRANGE", place::next},
    named{"HELLO"},
    named{"HSET", place::next},
    named{"INCR", place::next},
    named{"INFO"},
    named{"PEXPIRE", place::next},
    named{"PING"},
    named{"PTTL", place::next},
    named{"ROLE"},
    named{"SCRIPT"},
    named{"SCRIPT EXISTS"},
    named{"SCRIPT FLUSH"},
    named{"SCRIPT LOAD"},
    named{"SELECT"},
    named{"SET", place::next},
    named{"TYPE", place::next},
    named{"ZADD", place::next},
    named{"ZCARD", place::next},
    named{"ZRANGE", place::next},
    named{"ZRANK", place::next},
    named{"ZREM", place::next},
};

const named* find(std::string_view name)
{
    const auto at = std::ranges::find(names, name, &named::name);
    return at == names.end() ? nullptr : &*at;
}

std::string in_capitals(std::string_view text)
{
    return wire::in_case(std::string(text), std::toupper);
}

/// The purpose of a script, found by its text or digest. For an unknown script, the name of the
/// command.
std::string purpose(const words& command, std::string name)
{
    const auto same = [&](const contract_script& s) {
        return command[1] == s.sha1 || command[1] == s.text;
    };
    const auto at =
        command.size() < 2 ? contract_scripts.end() : std::ranges::find_if(contract_scripts, same);
    return at == contract_scripts.end() ? std::move(name) : std::string(at->name);
}

words keys_of(const words& command, place where)
{
    const std::span rest = std::span(command).subspan(1);
    std::span<const std::string> keys;
    switch (where) {
        case place::nowhere: break;
        case place::next: keys = rest.first(std::min<std::size_t>(rest.size(), 1)); break;
        case place::all: keys = rest; break;
        case place::counted:
            if (rest.size() > 1) {
                // If the number of keys is impossible, the words after it may be arguments, so none
                // of them is shown.
                const auto count = wire::number<std::size_t>(rest[1]).value_or(0);
                keys = rest.subspan(2, count <= rest.size() - 2 ? count : 0);
            }
            break;
    }
    return {keys.begin(), keys.end()};
}

std::string all_names()
{
    std::vector<std::string_view> all;
    std::ranges::transform(names, std::back_inserter(all), &named::name);
    for (const contract_script& each : contract_scripts) {
        if (std::ranges::find(all, each.name) == all.end()) {
            all.push_back(each.name);
        }
    }
    std::string text(all.front());
    for (const std::string_view each : std::span(all).subspan(1)) {
        text += ", ";
        text += each;
    }
    return text;
}

}  // namespace

told tell(const words& command)
{
    std::string first = in_capitals(command.front());
    const named* known = find(first);
    // A word that isn't the name of a command may be anything, even a password.
    if (known == nullptr) {
        return {"?", "?", {}};
    }
    std::string name = first;
    if (known->keys == place::counted) {
        name = purpose(command, std::move(name));
    } else if (command.size() > 1) {
        const named* longer = find(first + ' ' + in_capitals(command[1]));
        name = longer == nullptr ? std::move(name) : std::string(longer->name);
    }
    return {std::move(first), std::move(name), keys_of(command, known->keys)};
}

std::string told::line() const
{
    std::string text = name;
    for (const std::string& key : keys) {
        text += ' ';
        text += key;
    }
    return text;
}

bool told::is_called(std::string_view said) const
{
    return said == command || said == in_capitals(name);
}

std::string known_name(std::string_view name)
{
    std::string said = in_capitals(name);
    const bool is_purpose = std::ranges::any_of(
        contract_scripts, [&](const contract_script& s) { return said == in_capitals(s.name); });
    if (!is_purpose && find(said) == nullptr) {
        throw std::invalid_argument("scripted_node: \"" + std::string(name) +
                                    "\" is not a command that a node knows; it knows " +
                                    all_names());
    }
    return said;
}

}  // namespace redlock::testing
