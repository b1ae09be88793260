#pragma once

#include "load/servers.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace redlock::bench {

/// Options of every program that measures.
struct measuring_options {
    std::vector<std::string> nodes;
    server_options local;
    /// Servers on this machine that this program didn't start.
    std::vector<pid_t> server_pids;
    double seconds = 5;
    double warm_up = 1;
};

/// Adds the options to a command line.
void add_options(CLI::App& app, measuring_options& o);

/// Reads the arguments. Ends the process if they are wrong, or ask for help.
void parse_or_exit(CLI::App& app, int argc, char** argv);

/// Options of the reference programs.
struct floor_options : measuring_options {
    std::size_t workers = 64;
    bool json = false;
};

/// Reads the arguments of the program `name`. Ends the process if they are wrong.
[[nodiscard]] floor_options read_floor_options(int argc, char** argv, const std::string& name);

}  // namespace redlock::bench
