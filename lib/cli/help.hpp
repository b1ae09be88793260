#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <string_view>

namespace redlock::cli {

/// The form of a call: "redlock run [OPTIONS] RESOURCE... -- COMMAND [ARG...]".
[[nodiscard]] std::string synopsis(const CLI::App& app);

/// All names of an option: "--wait", "-q,--quiet".
[[nodiscard]] std::string names_of(const CLI::Option& option);

/// The value of an option, as a reader expects it: "DURATION", "NUMBER (1 to 32)", "stop|kill".
/// Empty for a flag.
[[nodiscard]] std::string value_of(const CLI::Option& option);

/// The options that an option needs or excludes: " (with --stop-node)".
[[nodiscard]] std::string company_of(const CLI::Option& option);

/// The meaning of the exit status, for the help and for the manual.
[[nodiscard]] std::string_view exit_status_text();

/// The explanation of DURATION. Empty if the text doesn't contain that word.
[[nodiscard]] std::string_view duration_text(std::string_view text);

/// Formats the help: the synopsis comes first, and the options for nodes come after a command's own
/// options.
class help_formatter : public CLI::Formatter {
public:
    std::string make_usage(const CLI::App* app, std::string name) const override;
    std::string make_help(const CLI::App* app, std::string name,
                          CLI::AppFormatMode mode) const override;
    std::string make_option_name(const CLI::Option* option, bool is_positional) const override;
    std::string make_option_opts(const CLI::Option* option) const override;
};

}  // namespace redlock::cli
