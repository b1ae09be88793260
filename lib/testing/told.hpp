#pragma once

#include "testing/model_master.hpp"

#include <string>
#include <string_view>

namespace redlock::testing {

/// The public part of a command, which a test may print: its name and its keys. Owner tokens,
/// passwords and all other arguments are left out.
struct told {
    /// The first word: "SET", "CLIENT", "EVALSHA". An unknown word may contain a secret and becomes
    /// "?".
    std::string command;
    /// "SET", "CLIENT TRACKING". For a script of the contract, its purpose: "release".
    std::string name;
    words keys;

    /// The name and the keys, separated by spaces.
    [[nodiscard]] std::string line() const;
    /// Whether `name`, in the form that `known_name` returns, means this command.
    [[nodiscard]] bool is_called(std::string_view name) const;
};

[[nodiscard]] told tell(const words& command);

/// Normalises the name of a command to capitals. The name is one word, or two for a command with
/// subcommands, or the purpose of a script.
/// @throws std::invalid_argument for an unknown name. The text lists the known names.
[[nodiscard]] std::string known_name(std::string_view name);

}  // namespace redlock::testing
