#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <string_view>

namespace redlock::cli {

/// How a command is called: "redlock run [OPTIONS] RESOURCE... -- COMMAND [ARG...]".
[[nodiscard]] std::string synopsis(const CLI::App& app);

/// What the exit status means, the same for the help and for the manual.
[[nodiscard]] std::string_view exit_status_text();

/// Help with the synopsis above, and with the options of the masters below a command's own.
class help_formatter : public CLI::Formatter {
public:
    std::string make_usage(const CLI::App* app, std::string name) const override;
    std::string make_help(const CLI::App* app, std::string name,
                          CLI::AppFormatMode mode) const override;
};

}  // namespace redlock::cli
