#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <string_view>

namespace redlock::cli {

/// How a command is called: "redlock run [OPTIONS] RESOURCE... -- COMMAND [ARG...]".
[[nodiscard]] std::string synopsis(const CLI::App& app);

/// All that an option may be called by: "--wait", "-q,--quiet".
[[nodiscard]] std::string names_of(const CLI::Option& option);

/// What it is given, as a reader takes it: "DURATION", "NUMBER (1 to 32)", "stop|kill"; nothing for
/// a flag.
[[nodiscard]] std::string value_of(const CLI::Option& option);

/// What has to stand beside it, and what must not: " (with --stop-node)".
[[nodiscard]] std::string company_of(const CLI::Option& option);

/// What the exit status means, the same for the help and for the manual.
[[nodiscard]] std::string_view exit_status_text();

/// What a DURATION is. Empty: the text names none.
[[nodiscard]] std::string_view duration_text(std::string_view text);

/// Help with the synopsis above, and with the options of the masters below a command's own.
class help_formatter : public CLI::Formatter {
public:
    std::string make_usage(const CLI::App* app, std::string name) const override;
    std::string make_help(const CLI::App* app, std::string name,
                          CLI::AppFormatMode mode) const override;
    std::string make_option_name(const CLI::Option* option, bool is_positional) const override;
    std::string make_option_opts(const CLI::Option* option) const override;
};

}  // namespace redlock::cli
