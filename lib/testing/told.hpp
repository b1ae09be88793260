#pragma once

#include "testing/model_master.hpp"

#include <string>
#include <string_view>

namespace redlock::testing {

/// What may be told of a command: what it is, and of which keys.
struct told {
    /// "SET", "CLIENT TRACKING"; of a script that the contract has what it is for: "release".
    std::string name;
    /// The name and the keys, with blanks in between.
    std::string line;
};

/// Owner tokens, passwords and all other arguments are left out.
[[nodiscard]] told tell(const words& command);

[[nodiscard]] std::string in_capitals(std::string_view text);

/// Whether somebody who says `name`, in capitals, means this command: by what is told of it, or by
/// its first word.
[[nodiscard]] bool is_called(const words& command, std::string_view name);

}  // namespace redlock::testing
