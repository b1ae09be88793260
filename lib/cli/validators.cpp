#include "cli/validators.hpp"

#include <CLI/CLI.hpp>

namespace redlock::cli {
namespace {

std::string complaint_about(std::string& text)
{
    return why_no_duration(text);
}

CLI::Option* as_duration(CLI::Option* option)
{
    return option->type_name("DURATION")->check(CLI::Validator(complaint_about, "", ""));
}

/// Why a duration is outside the limits. Empty if it is within them.
std::string out_of(const duration_limits& limits, const std::string& text)
{
    const auto length = parse_duration(text);
    if (length < limits.least) {
        return '\'' + text + "' is too short: " + to_text(limits.least) + " at least";
    }
    if (length > limits.most) {
        return '\'' + text + "' is too long: " + to_text(limits.most) + " at most";
    }
    return {};
}

}  // namespace

CLI::Option* add_duration(CLI::App& app, const std::string& name, duration& out,
                          const std::string& description, duration_limits limits)
{
    const auto complain = [limits](const std::string& text) { return out_of(limits, text); };
    return as_duration(app.add_option(name, out, description))
        ->check(CLI::Validator(complain, "", ""))
        ->default_str(to_text(out.length));
}

CLI::Option* add_duration(CLI::App& app, const std::string& name, std::optional<duration>& out,
                          const std::string& description)
{
    auto set = [&out](const duration& given) { out = given; };
    return as_duration(app.add_option_function<duration>(name, set, description));
}

CLI::Option* add_file(CLI::App& app, const std::string& name, std::string& out,
                      const std::string& description)
{
    const auto complaint = [](std::string& given) {
        return given.empty() ? std::string("an empty text names no file") : std::string();
    };
    return app.add_option(name, out, description)
        ->type_name("FILE")
        ->check(CLI::Validator(complaint, "", ""));
}

}  // namespace redlock::cli
