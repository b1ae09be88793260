#include "cli/complaints.hpp"

#include "cli/arguments.hpp"
#include "cli/config_file.hpp"

#include <redlock/error.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <regex>
#include <system_error>
#include <utility>

namespace redlock::cli {
namespace {

/// Counts nodes from one: replaces `nodes[0]` by "node 1".
std::string with_counted_nodes(std::string text)
{
    static const std::regex node(R"(nodes\[(\d{1,3})\])");
    for (std::smatch found; std::regex_search(text, found, node);) {
        const std::string counted = "node " + std::to_string(std::stoul(found[1]) + 1);
        text.replace(static_cast<std::size_t>(found.position()),
                     static_cast<std::size_t>(found.length()), counted);
    }
    return text;
}

/// The option for a field of the configuration: "--cert-file" for `tls.certificate_file`.
std::string option_of(std::string field)
{
    field.erase(0, field.find('.') + 1);
    std::replace(field.begin(), field.end(), '_', '-');
    constexpr std::pair<std::string_view, std::string_view> shorter[] = {
        {"drift-factor", "drift"},
        {"nodes", "node"},
        {"certificate-file", "cert-file"},
        {"insecure-skip-verification", "insecure"}};
    const auto* const found = std::ranges::find(
        shorter, std::string_view(field), &std::pair<std::string_view, std::string_view>::first);
    return "--" + (found == std::end(shorter) ? field : std::string(found->second));
}

constexpr std::string_view field_mark = "config::";

/// The fault in the configuration, in terms of the command line.
std::string in_options(const boost::system::system_error& e)
{
    std::string text = e.what();
    if (e.code() != errc::invalid_config || !text.starts_with(field_mark)) {
        return text;
    }
    text.erase(std::min(text.rfind(": " + e.code().message()), text.size()));
    const std::string counted = with_counted_nodes(text.substr(field_mark.size()));
    return counted.starts_with("node ") ? counted : with_options(std::move(text));
}

/// The option that a text is about. It is the first option that the text names, for example
/// `--ttl`, or else the text's first word. CLI11 begins with a flag's bare name, and the library
/// with `node 2: ...`.
std::string option_in(const std::string& why)
{
    constexpr std::string_view dashes = "--";
    const auto named = why.find(dashes);
    const auto begin = named == std::string::npos ? 0 : named + dashes.size();
    return why.substr(begin, why.find_first_not_of("abcdefghijklmnopqrstuvwxyz-", begin) - begin);
}

/// Why the file can't be read.
std::string fault_of_file(const std::string& name)
{
    std::error_code unknown;
    if (std::filesystem::is_directory(name, unknown)) {
        return "is a folder, not a file of options";
    }
    errno = 0;
    const std::ifstream file(name);
    return errno == 0 ? "cannot be read" : std::generic_category().message(errno);
}

/// The text before the first colon, which names the subject of an error.
std::string before_colon(const std::string& why)
{
    return why.substr(0, std::min(why.find(':'), why.size()));
}

}  // namespace

std::string with_options(std::string text)
{
    for (auto at = text.find(field_mark); at != text.npos; at = text.find(field_mark, at)) {
        const auto begin = at + field_mark.size();
        const auto end =
            std::min(text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_.", begin), text.size());
        text.replace(at, end - at, option_of(text.substr(begin, end - begin)));
    }
    return text;
}

complaints::complaints(CLI::App& app, const config_file& file,
                       const std::vector<std::string>& given)
    : app_(app),
      file_(file),
      given_(given)
{}

std::string complaints::about(const CLI::ParseError& e) const
{
    const std::string why = e.what();
    if (dynamic_cast<const CLI::ConfigError*>(&e) != nullptr) {
        return file_name() + ": " + of_file(why);
    }
    if (dynamic_cast<const CLI::FileError*>(&e) != nullptr) {
        return file_name() + ": " + fault_of_file(file_name());
    }
    if (const auto line = line_of_refused(option_in(why))) {
        return at(*line, why);
    }
    if (const std::string place = of_used(why); place != why) {
        return place;
    }
    if (const std::string name = command(); !name.empty()) {
        return name + ": " + why + "; see redlock " + name + " --help";
    }
    if (e.get_exit_code() != static_cast<int>(CLI::ExitCodes::RequiredError)) {
        return why + "; see redlock --help";
    }
    const auto rest = app_.remaining();
    return (rest.empty() ? "there is no command" : "there is no command '" + rest[0] + '\'') +
           "; see redlock --help";
}

std::string complaints::about(const std::invalid_argument& e) const
{
    return of_used(e.what());
}

std::string complaints::about(const boost::system::system_error& e) const
{
    return of_used(in_options(e));
}

/// The name of the command in the arguments. Empty if there is none.
std::string complaints::command() const
{
    const auto called = app_.get_subcommands();
    return called.empty() ? "" : called.front()->get_name();
}

/// Whether an argument takes precedence over this item of the file.
bool complaints::is_overridden(const CLI::ConfigItem& item) const
{
    return is_used(item) && is_given(given_, "--" + item.name);
}

/// Whether the item applies to all commands or to this command.
bool complaints::is_used(const CLI::ConfigItem& item) const
{
    return item.parents.empty() || (item.parents.size() == 1 && item.parents[0] == command());
}

/// Whether CLI11 refuses the item. Parses it again, because CLI11 doesn't report which command the
/// refused option belongs to.
bool complaints::is_refused(const CLI::ConfigItem& item) const
{
    try {
        CLI::App* of = &app_;
        for (const auto& parent : item.parents) {
            of = of->get_subcommand(parent);
        }
        CLI::Option* const option = of->get_option("--" + item.name);
        if (option->get_expected_min() == 0) {
            (void)option->get_flag_value(item.name, file_.to_flag(item));
        } else {
            option->clear();
            option->add_result(item.inputs);
            option->run_callback();
        }
        return false;
    } catch (const CLI::ParseError&) {
        return true;
    } catch (const CLI::OptionNotFound&) {
        return false;
    }
}

std::optional<std::size_t> complaints::line_of_refused(const std::string& option) const
{
    for (const auto& [item, line] : file_.entries()) {
        if (item.name == option && !is_overridden(item) && is_refused(item)) {
            return line;
        }
    }
    return std::nullopt;
}

std::optional<std::size_t> complaints::line_of_used(const std::string& option) const
{
    for (const auto& [item, line] : file_.entries()) {
        if (item.name == option && is_used(item) && !is_overridden(item)) {
            return line;
        }
    }
    return std::nullopt;
}

std::string complaints::file_name() const
{
    return app_.get_option("--config")->as<std::string>();
}

std::string complaints::at(std::size_t line, const std::string& why) const
{
    return file_name() + ": line " + std::to_string(line) + ": " + why;
}

/// Adds the file's line to the fault if the option comes from the file. The text may also begin
/// with the command's name, which isn't an option.
std::string complaints::of_used(const std::string& why) const
{
    auto line = line_of_used(option_in(why));
    if (!line) {
        const auto found =
            std::ranges::find(file_.entries(), before_colon(why),
                              [](const config_entry& e) { return e.item.fullname(); });
        line = found == file_.entries().end() ? line : std::optional(found->line);
    }
    return line ? at(*line, why) : why;
}

/// The fault in the file itself. CLI11 puts an unknown option after the first of these texts, and
/// an unknown section before the second.
std::string complaints::of_file(const std::string& why) const
{
    constexpr std::string_view stranger = "INI was not able to parse ";
    constexpr std::string_view section = ".++";
    const bool is_stranger = why.starts_with(stranger);
    std::string name = is_stranger ? why.substr(stranger.size()) : before_colon(why);
    const bool is_section = name.ends_with(section);
    name.erase(name.size() - (is_section ? section.size() : 0));
    const auto line = file_.line_of(name);
    const std::string place = line ? "line " + std::to_string(*line) + ": " : "";
    if (!is_stranger) {
        const bool is_no_wait = name.ends_with("no-wait");
        return place +
               (is_no_wait ? "no-wait is only for the command line: write wait = \"0s\"" : why);
    }
    if (is_section) {
        return place + "there is no command " + name;
    }
    if (name == "password" || name.ends_with(".password")) {
        return place +
               "there is no option password: write it to a file, and name that with "
               "password-file";
    }
    const bool is_of_all = name.find('.') == std::string::npos;
    return place + "there is no option " + name + (is_of_all ? " that all commands have" : "");
}

}  // namespace redlock::cli
