#pragma once

#include "cli/commands.hpp"

#include <redlock/config.hpp>

#include <string>
#include <vector>

namespace redlock::cli {

// The library refuses each of these with one code for several faults. These functions name the one
// fault, and the option.

/// @throws std::invalid_argument with a text for the user, as both others.
void check_resources(const config& c, const std::vector<std::string>& resources);
/// `option`: the one that the ttl is from.
void check_ttl(const config& c, const duration& ttl, const char* option = "--ttl");
void check_taking(const config& c, const taking_options& o, const char* ttl_option = "--ttl");

}  // namespace redlock::cli
