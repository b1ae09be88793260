#pragma once

#include "cli/commands.hpp"

#include <string>

namespace redlock::cli {

/// The owner token, from where the options say.
/// @throws std::invalid_argument with a text for the user, without what was found.
[[nodiscard]] std::string owner_token_of(const held_options& o);

}  // namespace redlock::cli
