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

std::string_view exit_status_text()
{
    return "Exit status: 0 done; 64 wrong arguments; 69 no majority of the masters could be\n"
           "reached; 70 what should not happen; 75 somebody else has the lock; 76 the lock was\n"
           "lost, or is not held any more; of run what its command ended with, 126 or 127 if it\n"
           "could not be begun, 128 and a signal's number; of doctor 0 all well, 1 warnings,\n"
           "2 errors.";
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
        out += make_group("Of every command that speaks to masters", false, options);
    }
    return out;
}

}  // namespace redlock::cli
