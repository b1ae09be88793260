#pragma once

#include "testing/model_master.hpp"

#include <string>
#include <string_view>

namespace redlock::testing {

/// What may be told of a command: what it is, and of which keys. Owner tokens, passwords and all
/// other arguments are left out.
struct told {
    /// Its first word: "SET", "CLIENT", "EVALSHA"; "?" for what nobody knows, which may be
    /// anything.
    std::string command;
    /// "SET", "CLIENT TRACKING"; of a script that the contract has what it is for: "release".
    std::string name;
    words keys;

    /// The name and the keys, with blanks in between.
    [[nodiscard]] std::string line() const;
    /// Whether somebody who says `name`, as `known_name` gives it, means this command.
    [[nodiscard]] bool is_called(std::string_view name) const;
};

[[nodiscard]] told tell(const words& command);

/// The name of a command, of those of which more words may follow with the second or without, or
/// what a script is for: in capitals, in whatever letters it was said.
/// @throws std::invalid_argument for what is none, with those that there are.
[[nodiscard]] std::string known_name(std::string_view name);

}  // namespace redlock::testing
