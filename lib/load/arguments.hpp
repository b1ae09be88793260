#pragma once

#include "load/commands.hpp"

#include <cstdint>
#include <string>

namespace CLI {
class App;
}

namespace redlock::bench {

inline constexpr std::int64_t a_day_ms = 86'400'000;

/// Adds an option from `least` to `most` milliseconds. A number without a unit such as 500ms or 30s
/// is in milliseconds.
void add_milliseconds(CLI::App& app, const std::string& name, std::int64_t& out, std::int64_t least,
                      std::int64_t most, const std::string& description);

/// Adds the options for nodes and for the client.
void add_client(CLI::App& sub, library_options& o);

// Adds the options of a command.
void add_run(CLI::App& sub, run_options& o);
void add_show(CLI::App& sub, show_options& o);

}  // namespace redlock::bench
