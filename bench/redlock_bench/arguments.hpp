#pragma once

#include "redlock_bench/commands.hpp"

namespace CLI {
class App;
}

namespace redlock::bench {

// Adds the options of a subcommand.
void add_start(CLI::App& sub, start_options& o);
void add_compare(CLI::App& sub, compare_options& o);
void add_contend(CLI::App& sub, contend_options& o);
void add_contender(CLI::App& sub, contender_options& o);

}  // namespace redlock::bench
