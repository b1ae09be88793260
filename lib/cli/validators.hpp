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

/// The shortest and the longest duration of an option.
struct duration_limits {
    std::chrono::milliseconds least{0};
    std::chrono::milliseconds most = std::chrono::milliseconds::max();
};

/// Adds an option that takes a duration. Any other text is refused with the reason.
CLI::Option* add_duration(CLI::App& app, const std::string& name, duration& out,
                          const std::string& description, duration_limits limits = {});
CLI::Option* add_duration(CLI::App& app, const std::string& name, std::optional<duration>& out,
                          const std::string& description);

/// Adds an option that takes a file name, which must not be empty.
CLI::Option* add_file(CLI::App& app, const std::string& name, std::string& out,
                      const std::string& description);

}  // namespace redlock::cli
