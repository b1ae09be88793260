#include "cli/help.hpp"

#include <algorithm>
#include <vector>

namespace redlock::cli {

std::string synopsis(const CLI::App& app)
{
    if (app.get_parent() == nullptr) {
        return app.get_name() + " COMMAND [OPTIONS]";
    }
    std::string out = app.get_parent()->get_name() + ' ' + app.get_name() + " [OPTIONS]";
    for (const CLI::Option* option : app.get_options()) {
        if (option->get_positional()) {
            const std::string name = option->get_name(true, false);
            const bool several = option->get_items_expected_max() > 1;
            out += option->get_required() ? ' ' + name : " [" + name + ']';
            out += several ? "..." : "";
        }
    }
    return app.get_name() == "run" ? out + " -- COMMAND [ARG...]" : out;
}

std::string names_of(const CLI::Option& option)
{
    std::string names = option.get_name(false, true);
    // CLI11 marks the negated name of a flag with this.
    constexpr std::string_view mark = "{false}";
    if (const auto at = names.find(mark); at != std::string::npos) {
        names.erase(at, mark.size());
    }
    return names;
}

std::string value_of(const CLI::Option& option)
{
    if (option.get_items_expected_max() == 0) {
        return {};
    }
    // CLI11 returns the type, then each check: "UINT:INT in [1 - 32]", "TEXT:{stop,kill}".
    const std::string all = option.get_type_name();
    const auto end = std::min(all.find(':'), all.size());
    std::string type = all.substr(0, end);
    std::string check = all.substr(end);
    if (check.starts_with(":{")) {
        type = check.substr(2, check.size() - 3);
        std::replace(type.begin(), type.end(), ',', '|');
        return type;
    }
    if (type == "INT" || type == "UINT" || type == "FLOAT") {
        type = "NUMBER";
    }
    if (const auto from = check.find(" in ["); from != std::string::npos) {
        check = check.substr(from + 5, check.size() - from - 6);
        check.replace(check.find(" - "), 3, " to ");
        type += " (" + check + ')';
    }
    return type;
}

std::string company_of(const CLI::Option& option)
{
    std::string out;
    for (const CLI::Option* other : option.get_needs()) {
        out += " (with " + other->get_name() + ')';
    }
    for (const CLI::Option* other : option.get_excludes()) {
        out += " (not with " + other->get_name() + ')';
    }
    return out;
}

std::string_view exit_status_text()
{
    return "Exit status: 0 done; 64 wrong arguments; 69 no majority of the nodes could be\n"
           "reached; 70 an error that should not happen, or the output could not be written; 75\n"
           "another client has the lock; 76 the lock was lost, or is no longer held; 128 and\n"
           "the number of the signal that ended redlock. run: the status of its command, 128\n"
           "and the number of the signal that ended the command, 126 or 127 if it could not be\n"
           "started. doctor: 0 all well, 1 warnings, 2 errors. demo: 1 if something was not as\n"
           "it should be.";
}

std::string_view duration_text(std::string_view text)
{
    return text.find("DURATION") == text.npos
               ? ""
               : "A DURATION is a number with a unit: ms, s, m, h or d, as in 500ms or 1.5h.\n";
}

std::string help_formatter::make_usage(const CLI::App* app, std::string /*name*/) const
{
    return "Usage: " + synopsis(*app) + "\n";
}

std::string help_formatter::make_help(const CLI::App* app, std::string name,
                                      CLI::AppFormatMode mode) const
{
    std::string out = Formatter::make_help(app, std::move(name), mode);
    const CLI::App* const parent = app->get_parent();
    if (mode == CLI::AppFormatMode::Normal && parent != nullptr && app->get_fallthrough()) {
        const std::vector<const CLI::Option*> options =
            parent->get_options([](const CLI::Option* option) {
                return option->nonpositional() && option->get_name() != "--help" &&
                       option->get_name() != "--version";
            });
        out += make_group("Options of every command that uses nodes", false, options);
    }
    const std::string_view durations =
        mode == CLI::AppFormatMode::Normal ? duration_text(out) : std::string_view();
    return durations.empty() ? out : out.append("\n").append(durations);
}

std::string help_formatter::make_option_name(const CLI::Option* option, bool is_positional) const
{
    return is_positional ? option->get_name(true, false) : names_of(*option);
}

std::string help_formatter::make_option_opts(const CLI::Option* option) const
{
    std::string out;
    if (const std::string value = value_of(*option); !value.empty()) {
        out += ' ' + value;
    }
    if (!option->get_default_str().empty() && option->get_items_expected_max() > 0) {
        out += '=' + option->get_default_str();
    }
    if (option->get_items_expected_max() > 1) {
        out += " ...";
    }
    return out + company_of(*option);
}

}  // namespace redlock::cli
