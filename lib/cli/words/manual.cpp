#include "cli/words/manual.hpp"

#include "cli/help.hpp"

#include <redlock/version.hpp>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <utility>
#include <vector>

namespace redlock::cli {
namespace {

/// Escapes a text, so that it contains no command of the page and no hyphen in place of a minus.
std::string plain(std::string_view text)
{
    std::string out;
    bool at_start = true;
    for (const char c : text) {
        if (at_start && (c == '.' || c == '\'')) {
            out += "\\&";
        }
        if (c == '\\') {
            out += "\\e";
        } else if (c == '-') {
            out += "\\-";
        } else {
            out += c;
        }
        at_start = c == '\n';
    }
    return out;
}

std::string upper(std::string text)
{
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return text;
}

std::string option_lines(const CLI::Option& option)
{
    std::string head = option.get_positional() ? option.get_name(true, false) : names_of(option);
    std::replace(head.begin(), head.end(), ',', ' ');
    if (const std::string value = value_of(option); !value.empty()) {
        head += ' ' + value;
    }
    std::string out =
        ".TP\n.B " + plain(head) + '\n' + plain(option.get_description() + company_of(option));
    if (!option.get_default_str().empty() && option.get_items_expected_max() > 0) {
        out += " [" + plain(option.get_default_str()) + ']';
    }
    return out + '\n';
}

std::string options_section(const std::string& title, const CLI::App& app)
{
    std::string out;
    for (const CLI::Option* option : app.get_options()) {
        const bool of_any_program = option == app.get_help_ptr() || option == app.get_version_ptr();
        out += of_any_program || option->get_group().empty() ? "" : option_lines(*option);
    }
    if (out.empty()) {
        return out;
    }
    const std::string_view durations = duration_text(out);
    return ".SH " + title + '\n' + out + (durations.empty() ? "" : ".PP\n") + plain(durations);
}

std::string head(const std::string& name, const std::string& description)
{
    return ".TH " + plain(upper(name)) + " 1 \"\" \"redlock " + std::string(redlock::version()) +
           "\" \"redlock\"\n.SH NAME\n" + plain(name) + " \\- " + plain(description) + '\n';
}

std::string footer_of(const CLI::App& app)
{
    const std::string text = app.get_footer();
    return text.empty() ? "" : ".nf\n" + plain(text) + "\n.fi\n";
}

/// A section of terms, each in front of its explanation.
template <std::size_t N>
std::string section(const std::string& title, const std::pair<const char*, const char*> (&parts)[N])
{
    std::string out = ".SH " + title + '\n';
    for (const auto& [name, text] : parts) {
        out += ".TP\n.B " + plain(name) + '\n' + plain(text) + '\n';
    }
    return out;
}

std::string environment_section()
{
    return section("ENVIRONMENT",
                   {{"REDLOCK_NODES", "URLs of nodes, separated by spaces, if --node is not given"},
                    {"REDLOCK_USER", "as --user"},
                    {"REDLOCK_PASSWORD", "the password if neither a URL nor a file has one"},
                    {"REDLOCK_CONFIG", "as --config"},
                    {"REDLOCK_OWNER_TOKEN", "the owner token for extend and release"}});
}

std::string files_section()
{
    return section(
        "FILES", {{"$XDG_CONFIG_HOME/redlock.toml", "or ~/.config/redlock.toml: options of a user"},
                  {"/etc/redlock.toml", "options of all users, if the user has no such file"}});
}

std::string page_of_all(const CLI::App& app)
{
    std::string out = head(app.get_name(), app.get_description()) + ".SH SYNOPSIS\n.B " +
                      plain(synopsis(app)) + "\n.SH COMMANDS\n";
    for (const CLI::App* sub : commands_of(app)) {
        out += ".TP\n.BR " + plain("redlock-" + sub->get_name()) + " (1)\n" +
               plain(sub->get_description()) + '\n';
    }
    return out + options_section("OPTIONS", app) + environment_section() + files_section() +
           ".SH EXIT STATUS\n" + footer_of(app);
}

std::string page_of(const CLI::App& app, const CLI::App& sub)
{
    std::string out = head("redlock-" + sub.get_name(), sub.get_description()) +
                      ".SH SYNOPSIS\n.B " + plain(synopsis(sub)) + "\n.SH DESCRIPTION\n" +
                      plain(sub.get_description()) + ".\n" + footer_of(sub) +
                      options_section("OPTIONS", sub);
    if (sub.get_fallthrough()) {
        out += options_section("OPTIONS OF EVERY COMMAND THAT USES NODES", app);
    }
    return out + ".SH EXIT STATUS\n.nf\n" + plain(exit_status_text()) +
           "\n.fi\n.SH SEE ALSO\n.BR redlock (1)\n";
}

}  // namespace

std::vector<const CLI::App*> commands_of(const CLI::App& app)
{
    return app.get_subcommands([](const CLI::App* sub) { return !sub->get_group().empty(); });
}

std::map<std::string, std::string> manual_pages(const CLI::App& app)
{
    std::map<std::string, std::string> out{{"redlock", page_of_all(app)}};
    for (const CLI::App* sub : commands_of(app)) {
        out.emplace("redlock-" + sub->get_name(), page_of(app, *sub));
    }
    return out;
}

}  // namespace redlock::cli
