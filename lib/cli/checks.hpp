#pragma once

#include "cli/commands.hpp"

#include <redlock/config.hpp>

#include <string>
#include <vector>

namespace redlock::cli {

// The library uses one error code for several faults. These functions name the fault and the
// option.

/// Checks the resources.
/// @throws std::invalid_argument with a text for the user, like the other two functions.
void check_resources(const config& c, const std::vector<std::string>& resources);
/// Checks the ttl. `option` is the option that the ttl comes from.
void check_ttl(const config& c, const duration& ttl, const char* option = "--ttl");
void check_taking(const config& c, const taking_options& o, const char* ttl_option = "--ttl");

}  // namespace redlock::cli
