#pragma once

#include "cli/commands.hpp"

#include <redlock/error.hpp>
#include <redlock/report.hpp>

#include <string>

namespace redlock::cli {

/// The owner token, from where the options say.
/// @throws std::invalid_argument with a text for the user, without what was found.
[[nodiscard]] std::string owner_token_of(const held_options& o);

/// Says on stderr why a lock cannot be extended or released; gives the exit status. The nodes do
/// not tell a lock that has ended from an owner token of another lock, so neither does the text.
int fail_held(const held_options& o, error_code error, const report& nodes, bool json);

}  // namespace redlock::cli
