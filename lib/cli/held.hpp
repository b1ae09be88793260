#pragma once

#include "cli/commands.hpp"

#include <redlock/error.hpp>
#include <redlock/report.hpp>

#include <string>

namespace redlock::cli {

/// Reads the owner token from the place that the options name.
/// @throws std::invalid_argument with a text for the user, which doesn't contain what was read.
[[nodiscard]] std::string owner_token_of(const held_options& o);

/// Prints on stderr why a lock can't be extended or released. Returns the exit status. The nodes
/// don't distinguish a lock that has ended from a token of another lock, so the text doesn't
/// either.
int fail_held(const held_options& o, error_code error, const report& nodes, bool json);

}  // namespace redlock::cli
