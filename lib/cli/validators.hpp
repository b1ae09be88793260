#pragma once

#include "cli/duration.hpp"

#include <chrono>
#include <optional>
#include <string>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace redlock::cli {

/// The shortest and the longest duration that an option takes.
struct duration_limits {
    std::chrono::milliseconds least{0};
    std::chrono::milliseconds most = std::chrono::milliseconds::max();
};

/// An option that takes a duration, and says so where it is given something else.
CLI::Option* add_duration(CLI::App& app, const std::string& name, duration& out,
                          const std::string& description, duration_limits limits = {});
CLI::Option* add_duration(CLI::App& app, const std::string& name, std::optional<duration>& out,
                          const std::string& description);

/// An option that takes the name of a file, which may not be empty.
CLI::Option* add_file(CLI::App& app, const std::string& name, std::string& out,
                      const std::string& description);

}  // namespace redlock::cli
