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

}  // namespace

CLI::Option* add_duration(CLI::App& app, const std::string& name, duration& out,
                          const std::string& description)
{
    return as_duration(app.add_option(name, out, description))->default_str(to_text(out.length));
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
